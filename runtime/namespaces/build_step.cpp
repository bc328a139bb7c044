// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/build_step.hpp"

#include "runtime/namespaces/id_maps.hpp"
#include "runtime/namespaces/privileges.hpp"
#include "runtime/namespaces/step_filter.hpp"
#include "support/quote.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

namespace fs = std::filesystem;

/// What package managers need where there is no user namespace: owners, modes and ids of files and
/// processes in the tree.
constexpr std::array kStepCapabilities = {CAP_CHOWN,
                                          CAP_DAC_OVERRIDE,
                                          CAP_FOWNER,
                                          CAP_FSETID,
                                          CAP_KILL,
                                          CAP_SETGID,
                                          CAP_SETUID,
                                          CAP_SETPCAP,
                                          CAP_SETFCAP,
                                          CAP_SYS_CHROOT};

/// Folders and files of /proc that are the machine's, not a process's: those below which, or to
/// which, root may write.
bool is_setting(const fs::directory_entry& entry) {
    const std::string name = entry.path().filename();
    struct stat status = {};
    if (name.find_first_not_of("0123456789") == std::string::npos ||
        lstat(entry.path().c_str(), &status) != 0 || S_ISLNK(status.st_mode)) {
        return false;
    }
    return S_ISDIR(status.st_mode) || (status.st_mode & 0222U) != 0;
}

Mount read_only(Mount::Kind kind, const fs::path& path) {
    Mount mount;
    mount.kind = kind;
    mount.source = path;
    mount.target = path;
    mount.is_read_only = true;
    return mount;
}

void add_proc(std::vector<Mount>& mounts) {
    Mount proc;
    proc.kind = Mount::Kind::kProc;
    proc.target = "/proc";
    mounts.push_back(proc);
    std::error_code error;
    for (auto it = fs::directory_iterator("/proc", error); !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (is_setting(*it)) {
            mounts.push_back(read_only(Mount::Kind::kSame, it->path()));
            mounts.back().make_target = false;
            mounts.back().is_optional = true;
        }
    }
}

/// The groups that bound the memory and processors of this process can be read.
void add_sys(std::vector<Mount>& mounts) {
    mounts.push_back(read_only(Mount::Kind::kSysfs, "/sys"));
    mounts.push_back(read_only(Mount::Kind::kBind, "/sys/fs/cgroup"));
    mounts.back().make_target = false;
    mounts.back().is_optional = true;
}

/// The interpreter that the kernel starts for a script; empty for other files.
std::string interpreter_of(int file) {
    std::array<char, 256> start = {};
    const ssize_t size = pread(file, start.data(), start.size(), 0);
    std::string_view line(start.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    if (!line.starts_with("#!")) {
        return {};
    }
    line = line.substr(2, line.find('\n') - 2);
    const std::size_t first = line.find_first_not_of(" \t");
    line = first == std::string_view::npos ? std::string_view() : line.substr(first);
    return std::string(line.substr(0, line.find_first_of(" \t")));
}

/// Whether the kernel would start this program itself, whose file is the host's: the image's shell
/// may be a script with the line "#!/proc/self/exe". It could change the file's mode then.
bool leads_to_own_program(std::string path) {
    constexpr int kMostInterpreters = 8; // the kernel: 5
    struct stat own = {};
    if (stat("/proc/self/exe", &own) != 0) {
        return false;
    }
    for (int i = 0; i < kMostInterpreters && !path.empty(); ++i) {
        const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        struct stat status = {};
        if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
            return false;
        }
        if (status.st_dev == own.st_dev && status.st_ino == own.st_ino) {
            return true;
        }
        path = interpreter_of(file.get());
    }
    return false;
}

/// The input is the sandbox's own /dev/null: the mode of the host's could be changed through it.
/// Without a session of the caller's there is no terminal to take words from or to put them into.
void leave_session() {
    const UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (nothing.valid()) {
        (void)dup2(nothing.get(), STDIN_FILENO);
    } else {
        (void)close(STDIN_FILENO);
    }
    (void)setsid();
}

/// Keeps abstract sockets and signals of other processes out of reach, where the kernel can.
void leave_sockets() {
    constexpr long kCreateRuleset = 444;
    constexpr long kRestrictSelf = 446;
    struct {
        std::uint64_t files = 0;
        std::uint64_t network = 0;
        std::uint64_t scoped = 3; // abstract sockets, signals
    } rules;
    const UniqueFd ruleset(static_cast<int>(syscall(kCreateRuleset, &rules, sizeof rules, 0)));
    if (ruleset.valid()) {
        (void)syscall(kRestrictSelf, ruleset.get(), 0);
    }
}

Result<void> enclose(const std::string& program, Terminal terminal, int proc) {
    if (leads_to_own_program(program)) {
        return fail(ErrorCode::kInput,
                    problem("interpreter-is-self",
                            "cannot start '" + printable(program) + "' in the image"),
                    "its interpreter is /proc/self/exe, the program that builds",
                    "use a base whose shell is a program");
    }
    if (terminal != Terminal::kShared) {
        leave_session();
    }
    (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
    CYBELE_TRY(const bool has_own, enter_same_ids(proc));
    if (!has_own && unshare(CLONE_NEWIPC | CLONE_NEWUTS) != 0) {
        return fail(system_error("cannot separate a build step from the host", errno));
    }
    leave_sockets();
    CYBELE_CHECK(filter_build_step());
    return has_own ? Result<void>() : keep_capabilities(kStepCapabilities);
}

} // namespace

void enclose_build_step(Sandbox& sandbox, Terminal terminal) {
    std::vector<Mount> mounts;
    add_small_devices(mounts, terminal);
    add_proc(mounts);
    add_sys(mounts);
    sandbox.mounts.insert(sandbox.mounts.begin(), mounts.begin(), mounts.end());
    sandbox.before_exec = [](Sandbox&) -> Result<void> {
        link_small_devices();
        return {};
    };
    sandbox.when_entered = [program = sandbox.argv.front(), terminal](int proc) {
        return enclose(program, terminal, proc);
    };
}

} // namespace cybele::namespaces
