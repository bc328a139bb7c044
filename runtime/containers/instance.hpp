// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/runtime.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

/// Named containers that go on in the background: `instance start|run|list|stop`, `instance://`.
namespace cybele::runtime {

/// A container with a name. Its process 1 holds it (runtime/namespaces/instance_process.hpp).
struct Instance {
    std::string name;
    pid_t pid = 0;    ///< its process 1, as the host sees it
    pid_t keeper = 0; ///< the parent of that, which ends with it
    std::string
        start; ///< start time of `pid`, so that a later process of that number is no instance
    std::string image;
    std::string home;      ///< of --home, as it is inside; empty: the user's own
    bool fakeroot = false; ///< what it was started with, which those that join have, too
    bool no_privs = false;
    std::string add_caps;
    std::string drop_caps;
    std::string log_out;
    std::string log_err;
};

/// Where this user's instances of this host are recorded, and their output goes:
/// ~/.apptainer/instances, or below $APPTAINER_CONFIGDIR.
struct InstanceFolders {
    std::filesystem::path records;
    std::filesystem::path logs;
};
[[nodiscard]] InstanceFolders instance_folders(const Environment& environment);

/// Those that live, by name; `pattern` as of fnmatch(3), empty: all. Records of ended ones are
/// removed.
[[nodiscard]] std::vector<Instance> list_instances(const Environment& environment,
                                                   const std::string& pattern);

/// Whether the image of a start is an instance: "instance://NAME".
[[nodiscard]] bool is_instance(std::string_view image);

/// Starts the container of the request with that name; it stays when this process ends. kInput: a
/// name that is taken or not valid.
[[nodiscard]] Result<Instance>
start_instance(const Request& request, const Environment& environment, const std::string& name);

/// Starts the request's program in the instance that its image names; gives its exit code.
[[nodiscard]] Result<int> start_in_instance(const Request& request, const Environment& environment);

/// Sends `signal` and waits up to `seconds`, then kills what is left. True: it was killed.
/// kEnvironment: it lives all the same, and its record stays.
[[nodiscard]] Result<bool>
stop_instance(const Environment& environment, const Instance& instance, int signal, double seconds);

} // namespace cybele::runtime
