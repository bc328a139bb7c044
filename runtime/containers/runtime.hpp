// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/image_demand.hpp"
#include "runtime/containers/limits.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cybele::runtime {

enum class Action { kExec, kRun, kShell, kTest, kStart };

/// Whether a start shares the container of the other ranks on its node.
enum class Join {
    kAuto,   ///< where it is a rank of a parallel program
    kAlways, ///< with all starts of the same launch, else of the same parent process
    kNever
};

/// A file or device node of the host that a device needs inside.
struct DeviceBind {
    std::filesystem::path source;
    std::filesystem::path target;
    bool is_read_only = false;
    bool is_node = false;
};

/// What the program may do, and which programs serve it.
struct Permissions {
    bool no_privs = false;                ///< root gives up its capabilities
    std::string add_caps;                 ///< --add-caps: kept by root despite --no-privs
    std::string drop_caps;                ///< --drop-caps: given up by root
    std::vector<std::string> security;    ///< --security: uid:N, gid:N, seccomp:FILE
    std::vector<std::string> fuse_mounts; ///< --fusemount: TYPE:PROGRAM ARGUMENTS TARGET
};

/// What `exec|run|shell IMAGE` was asked for; the fields bear the names of Apptainer's options.
/// Of a container that is an instance, or is joined as one.
struct InstancePart {
    std::string name; ///< empty: neither
    /// Called outside when its program runs, with its process 1. Such a container has process ids
    /// of its own and lives on when the program has ended well.
    std::function<void(pid_t first)> when_started;
};

struct Request : Permissions {
    Action action = Action::kExec;
    std::filesystem::path image; ///< SIF, squashfs or directory
    std::vector<std::string> arguments;
    std::vector<std::string> binds;  ///< SRC[:DST[:ro|rw]], several with commas, as -B
    std::vector<std::string> mounts; ///< --mount type=bind,src=…,dst=…[,ro]
    std::map<std::string, std::string> environment; ///< --env
    std::vector<std::filesystem::path> environment_files;
    std::string directory; ///< --cwd
    std::string home;      ///< --home SRC[:DST]
    bool cleanenv = false;
    bool contain = false;
    bool containall = false;
    bool no_home = false;
    bool pid = false;
    bool writable_tmpfs = false;
    std::vector<std::string> overlays; ///< --overlay PATH[:ro]
    bool nv = false;                   ///< the host's NVIDIA driver
    bool rocm = false;                 ///< the host's ROCm
    std::string shell;                 ///< --shell
    std::string app;                   ///< --app: an SCIF application of the image
    bool userns = false;               ///< a user namespace for root, too
    bool ipc = false;
    bool uts = false;
    std::string hostname;               ///< --hostname, which makes a UTS namespace
    bool net = false;                   ///< a network namespace
    std::string network;                ///< --network: "none" is the one that is made
    std::string netns_path;             ///< --netns-path: a network namespace to join
    std::string dns;                    ///< --dns: name servers, with commas
    std::string workdir;                ///< --workdir
    std::vector<std::string> scratch;   ///< --scratch: directories of their own, with commas
    std::vector<std::string> no_mount;  ///< --no-mount: names of mounts, or their targets
    std::vector<std::string> no_env;    ///< --no-env: variables that stay outside
    std::vector<std::string> libraries; ///< --containlibs: files for /.singularity.d/libs
    bool no_init = false;       ///< --no-init: the program is process 1 of its own process ids
    bool no_umask = false;      ///< 0022 inside
    bool fakeroot = false;      ///< the caller is root inside
    bool ignore_subuid = false; ///< --fakeroot maps the caller only
    bool writable = false;      ///< changes go to the image, a directory
    bool unsquash = false;      ///< the image is unpacked, not mounted
    bool underlay = false;      ///< mount points come by no overlay
    /// As the reference, not as we do by ourselves: values are evaluated, no locale is replaced,
    /// the home's Python packages are seen, a program that is not found ends with 255.
    bool is_compatible = false;
    bool no_eval = false; ///< --no-eval: a value is a value
    /// Of the host's apptainer.conf (site_settings.hpp): unset: there is none.
    std::optional<std::vector<std::string>> bind_paths; ///< SRC[:DST]
    bool has_small_devices = false;                     ///< /dev as with --contain
    bool has_image_passwd = false; ///< passwd, group and resolv.conf are the image's own
    bool has_image_group = false;
    bool has_image_resolv_conf = false;
    bool forbids_binds = false; ///< those of the user
    /// Devices by the Container Device Interface (device_interface.hpp).
    std::vector<DeviceBind> device_binds;
    std::map<std::string, std::string> device_environment; ///< weaker than --env
    LimitRequest limits; ///< --memory, --cpus and such (limits.hpp)
    Join join = Join::kAuto;
    std::optional<ImageDemand> demand; ///< --verify-key, --policy; unset: not verified
    bool is_verbose = false;
    bool is_quiet = false; ///< errors only
    InstancePart instance;
};

/// Starts the container in place of this process: returns only when refused (the cli makes that
/// exit 255) or with the exit code when a process had to stay (unpacked image, --pid).
[[nodiscard]] Result<int> start(const Request& request, const Environment& environment);

/// The same in the container of an instance, by its process 1; gives the program's exit code.
[[nodiscard]] Result<int>
start_in(pid_t first, const Request& request, const Environment& environment);

/// The way the image would be mounted on this host and why, for `doctor` and -v.
struct MountChoice {
    std::string way; ///< "kernel squashfs", "FUSE", "unpacked", or "" when none works
    std::string because;
};
[[nodiscard]] MountChoice choose_mount();

} // namespace cybele::runtime
