// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cybele::namespaces {

/// How the ids of this process map into a user namespace of ours.
enum class IdMap {
    kNone,     ///< host root: no user namespace is needed
    kIdentity, ///< uid → uid, gid → gid, one each: what `exec` needs
    kSubordinate, ///< 0 → uid, 1…65535 → the range of /etc/subuid, by newuidmap: what `build` needs
    kOwnRoot, ///< 0 → uid, 0 → gid, one each: for mounts that belong to the user, before final_ids
};

/// What this host lets this user do, found by trying; each missing thing with its remedy.
struct Abilities {
    bool is_root = false;
    bool user_namespaces = false;
    std::string user_namespaces_because;
    bool subordinate_ids = false; ///< a range of 65536 or more, and newuidmap/newgidmap
    std::string subordinate_ids_because;
    bool fuse = false; ///< /dev/fuse can be opened
    std::string fuse_because;
    bool loop = false; ///< loop devices (root)
    std::string loop_because;
};
[[nodiscard]] Abilities probe_abilities();

/// Puts the calling (single-threaded) process into a new user namespace (unless kNone) and a new
/// mount namespace whose mounts do not spread back. kEnvironment with the reason and remedy where
/// the host forbids it. After kSubordinate this process is uid 0 in it.
[[nodiscard]] Result<void> enter_namespaces(IdMap map);

/// Forks, lets the child enter_namespaces(map) and run `body`; waits, passing on signals; gives the
/// child's exit code. The child is killed if this process dies.
[[nodiscard]] Result<int> run_in_namespaces(IdMap map, const std::function<int()>& body);

struct Mount {
    /// kSame: what lies at the target already, once more, with the flags given here.
    enum class Kind { kBind, kSame, kTmpfs, kProc, kSysfs, kDevpts, kMqueue };
    Kind kind = Kind::kBind;
    std::filesystem::path source; ///< of kBind
    int source_fd = -1;           ///< of kBind: opened already with O_PATH, instead of `source`
    std::filesystem::path
        target; ///< absolute, inside the new root; resolved there, links never leave it
    bool is_recursive = true;
    bool is_read_only = false;
    bool is_optional = false; ///< a missing source or target is skipped
    bool make_target = true;  ///< also in the root itself, where that can be written
    /// kBind of a folder that can be written to: missing targets of later mounts are made in it,
    /// where the way there passes no link.
    bool may_hold_targets = false;
    /// A missing target may be made in such a folder. Without it, a target that a link of the image
    /// leads onto such a folder itself is left as it is, too.
    bool is_named = false;
    bool is_host_file = false; ///< one of those that every container shows (apptainer.conf)
    bool skip_if_same = false; ///< nothing is done where the target is the source already
    /// kBind of what lies at this place in the image file `source`; empty: of `source` itself.
    std::string image_source;
    std::uint32_t image_id = 0; ///< of the partition, where that is a SIF; 0: its data partition
    std::string options; ///< tmpfs: "mode=1777,size=64m"; bind: "nosuid,nodev,noexec" or fewer
};

/// A process in a root file system of its own: mounts, pivot_root, then exec.
struct Sandbox {
    std::filesystem::path root; ///< a directory, or a mount point
    int root_fd = -1;           ///< opened already with O_PATH, instead of `root`
    bool is_root_read_only = false;
    std::vector<Mount> mounts;
    std::filesystem::path directory = "/";                ///< where the program starts
    std::vector<std::filesystem::path> other_directories; ///< tried in order if that is missing
    bool new_pid_namespace = false;                       ///< with its own /proc
    bool is_first_process = false;                        ///< there the program is process 1 itself
    std::string first_process;                            ///< its name, else; empty: this program's
    bool drop_privileges = false;                         ///< no_new_privs and no capabilities
    std::vector<int> given_capabilities;                  ///< which drop_privileges leaves
    bool forbids_new_privileges = false;                  ///< no_new_privs alone
    std::optional<std::vector<int>> kept_capabilities; ///< root's: the others go; unset: all stay
    bool passes_capabilities = false;                  ///< the kept ones are ambient, too
    std::vector<std::string> argv; ///< argv[0] looked up in the sandbox by PATH of `environment`
    bool names_by_path = false;    ///< the program gets its full path as argv[0]
    EnvironmentMap environment;
    std::optional<mode_t> umask;
    unsigned time_limit = 0; ///< seconds, of run_sandboxed(); 0: none

    struct Ids {
        uid_t uid = 0;
        gid_t gid = 0;
    };
    /// After the mounts: one more user namespace, in which this process (now 0:0) has these ids.
    std::optional<Ids> final_ids;
    /// Called in the new root after all mounts, before privileges go and argv is started: what
    /// depends on the mounted image is decided here, and may change argv and environment.
    std::function<Result<void>(Sandbox&)> before_exec;
    /// Where argv cannot be started: puts another program in its place, whose own words tell why.
    /// With it, argv is given PWD, as by a shell.
    std::function<void(Sandbox&)> otherwise;
    /// Called last, when all namespaces are entered and no privilege is gone yet; with a descriptor
    /// (O_PATH) of the /proc that was there before the mounts.
    std::function<Result<void>(int proc)> when_entered;
    /// Called by the process that becomes the program, right before that.
    std::function<Result<void>()> before_program;
    /// With new_pid_namespace: called when the program runs, outside, with process 1 as seen here.
    std::function<void(pid_t first)> when_started;
};

/// What run_sandboxed() gives where the time limit ended the program.
inline constexpr int kTimeIsUp = -2;

/// Descriptors that the output of a program goes to; -1: this process's own.
struct OutputFds {
    int output = -1;
    int errors = -1;
};

/// Runs it in a child with a mount namespace of its own (the caller has the right to mount: root,
/// or inside enter_namespaces()); gives the shell's code of the program. Everything that was
/// mounted or started is gone when it returns, and dies with this process.
[[nodiscard]] Result<int> run_sandboxed(const Sandbox& sandbox, OutputFds to = {});

/// Why exec_in_sandbox() came back, with the code that a shell gives: 127 where the program is not
/// there, 126 where it cannot be started, 255 where the sandbox could not be made.
struct ExecFailure {
    Error error;
    int code = 255;
};
/// The same as run_sandboxed() in place of this process (which has entered its namespaces): returns
/// only on failure. Descriptors without O_CLOEXEC stay open.
[[nodiscard]] ExecFailure exec_in_sandbox(const Sandbox& sandbox);

} // namespace cybele::namespaces
