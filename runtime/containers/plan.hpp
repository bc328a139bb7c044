// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/runtime.hpp"
#include "runtime/containers/stage.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::runtime {

/// Where the home directory comes from and where it is in the container.
struct Home {
    std::filesystem::path source;
    std::filesystem::path target;
    bool is_missing = false; ///< by the name of Apptainer: an empty one in memory stands for it
};
/// The caller's directory; by the name of Apptainer, like there, by the links that PWD goes by.
/// Empty where it is gone.
[[nodiscard]] std::filesystem::path caller_directory(const Environment& environment,
                                                     bool follows_apptainer);

/// Where the program starts, the first one that is there: in the directory of the caller, else in
/// the home directory or in /. By the name of Apptainer, contained programs start in the home.
[[nodiscard]] std::vector<std::filesystem::path> start_directories(
    const Request& request, const std::filesystem::path& home, const std::filesystem::path& caller);

[[nodiscard]] Result<Home> home_of(const Request& request, const Environment& environment);

/// The mounts of a container, in Apptainer's order: /dev, localtime, hosts, /proc, /sys, /tmp,
/// /var/tmp, home (there before /tmp, which then hides a home below it), working directory, the
/// user's binds: -B, --mount, APPTAINER_BIND and its like, of which the first one counts for a
/// target; one below another comes behind it. `directory` is the caller's. In folders that the user
/// may write to, the targets of later mounts are made.
struct MountPlan {
    std::vector<namespaces::Mount> mounts;
    std::vector<std::string> warnings; ///< binds that do not count
};
[[nodiscard]] Result<MountPlan> plan_mounts(const Request& request,
                                            const Environment& environment,
                                            const Home& home,
                                            const std::filesystem::path& directory);

/// Whether `path` is in `folder`, or in a folder below it.
[[nodiscard]] bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder);

/// The mount points that the root file system must have: all that do not lie on an earlier mount.
/// The sources have been opened.
[[nodiscard]] std::vector<NeededTarget>
needed_targets(const std::vector<namespaces::Mount>& mounts);

} // namespace cybele::runtime
