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

/// The image, and what is written to its files.
struct ImageOptions {
    std::filesystem::path file;        ///< SIF, squashfs or directory
    std::optional<ImageDemand> demand; ///< --verify-key, --policy; unset: not verified
    std::vector<std::string> overlays; ///< --overlay PATH[:ro]
    bool writable = false;             ///< changes go to the image, a directory
    bool writable_tmpfs = false;       ///< … to memory
    bool unsquash = false;             ///< the image is unpacked, not mounted
    bool underlay = false;             ///< mount points come by no overlay
};

/// What is started, and where.
struct ProgramOptions {
    Action action = Action::kExec;
    std::vector<std::string> arguments;
    std::string directory; ///< --cwd
    std::string shell;     ///< --shell
    std::string app;       ///< --app: an SCIF application of the image
};

/// Files of the host inside.
struct FileOptions {
    std::vector<std::string> binds;     ///< SRC[:DST[:ro|rw]], several with commas, as -B
    std::vector<std::string> mounts;    ///< --mount type=bind,src=…,dst=…[,ro]
    std::string home;                   ///< --home SRC[:DST]
    bool no_home = false;               ///< --no-home
    std::vector<std::string> no_mount;  ///< --no-mount: names of mounts, or their targets
    std::string workdir;                ///< --workdir
    std::vector<std::string> scratch;   ///< --scratch: directories of their own, with commas
    std::vector<std::string> libraries; ///< --containlibs: files for /.singularity.d/libs
};

/// The environment inside.
struct VariableOptions {
    std::map<std::string, std::string> environment; ///< --env
    std::vector<std::filesystem::path> environment_files;
    bool cleanenv = false;
    std::vector<std::string> no_env; ///< --no-env: variables that stay outside
    bool no_eval = false;            ///< --no-eval: a value is a value
};

/// What the container does not share with the host.
struct IsolationOptions {
    bool contain = false;    ///< a /dev, /tmp and home of its own
    bool containall = false; ///< with pid and cleanenv
    bool userns = false;     ///< a user namespace for root, too
    bool pid = false;
    bool no_init = false; ///< --no-init: the program is process 1 of its own process ids
    bool ipc = false;
    bool uts = false;
    std::string hostname;   ///< --hostname, which makes a UTS namespace
    bool net = false;       ///< a network namespace
    std::string network;    ///< --network: "none" is the one that is made
    std::string netns_path; ///< --netns-path: a network namespace to join
    std::string dns;        ///< --dns: name servers, with commas
};

/// Who the program is inside, and what it may do.
struct UserOptions {
    bool fakeroot = false;             ///< the caller is root inside
    bool ignore_subuid = false;        ///< --fakeroot maps the caller only
    bool no_umask = false;             ///< 0022 inside
    bool no_privs = false;             ///< root gives up its capabilities
    std::string add_caps;              ///< --add-caps: kept despite --no-privs, or given to a user
    std::string drop_caps;             ///< --drop-caps: given up by root
    std::vector<std::string> security; ///< --security: uid:N, gid:N, seccomp:FILE
};

struct DeviceOptions {
    bool nv = false;                      ///< the host's NVIDIA driver
    bool rocm = false;                    ///< the host's ROCm
    std::vector<std::string> fuse_mounts; ///< --fusemount: TYPE:PROGRAM ARGUMENTS TARGET
    /// By the Container Device Interface (device_interface.hpp).
    std::vector<DeviceBind> binds;
    std::map<std::string, std::string> environment; ///< weaker than --env
};

/// Of the host's apptainer.conf (site_settings.hpp).
struct HostOptions {
    std::optional<std::vector<std::string>>
        bind_paths;                 ///< SRC[:DST]; unset: the host has no such file
    bool has_small_devices = false; ///< /dev as with --contain
    bool has_image_passwd = false;  ///< passwd, group and resolv.conf are the image's own
    bool has_image_group = false;
    bool has_image_resolv_conf = false;
    bool forbids_binds = false; ///< those of the user
    std::string memory_size;    ///< of each directory in memory; empty: not set
};

/// What a start follows and prints, for all verbs.
struct GlobalOptions {
    /// Not our own rules: values are evaluated, no locale is replaced, the home's Python packages
    /// are visible, a program that is not found ends with 255.
    bool follows_apptainer = false;
    bool is_verbose = false;
    bool is_quiet = false;    ///< errors only
    bool prints_info = false; ///< Apptainer's INFO lines
};

/// Of a container that is an instance, or is joined as one.
struct InstancePart {
    std::string name; ///< empty: neither
    /// Called outside when its program runs, with its process 1. Such a container has process ids
    /// of its own and lives on when the program has ended well.
    std::function<void(pid_t first)> when_started;
};

/// What `exec|run|shell IMAGE` was asked for; the fields bear the names of Apptainer's options.
struct Request {
    ImageOptions image;
    ProgramOptions program;
    FileOptions files;
    VariableOptions variables;
    IsolationOptions isolation;
    UserOptions user;
    DeviceOptions devices;
    HostOptions site;
    LimitRequest limits; ///< --memory, --cpus and such (limits.hpp)
    Join join = Join::kAuto;
    InstancePart instance;
    GlobalOptions global;
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
