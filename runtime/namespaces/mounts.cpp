// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/mounts.hpp"

#include "runtime/namespaces/resolve.hpp"
#include "runtime/namespaces/system_calls.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

namespace cybele::namespaces {
namespace {

constexpr unsigned long kReadOnly = MS_RDONLY;

struct NamedFlag {
    std::string_view name;
    unsigned long flag;
};
constexpr NamedFlag kNamedFlags[] = {
    {"ro", MS_RDONLY}, {"nosuid", MS_NOSUID}, {"nodev", MS_NODEV}, {"noexec", MS_NOEXEC}};

/// What each new file system is mounted with; `host` is bound instead where the kernel refuses it
/// (a proc or sysfs of a namespace that belongs to somebody else, or one that is masked).
struct FileSystem {
    Mount::Kind kind;
    const char* type;
    unsigned long flags;
    const char* options;
    const char* other_options; ///< tried when the first are refused
    const char* host;
};
constexpr FileSystem kFileSystems[] = {
    {Mount::Kind::kTmpfs, "tmpfs", MS_NOSUID | MS_NODEV, "", nullptr, nullptr},
    {Mount::Kind::kProc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "", nullptr, "/proc"},
    {Mount::Kind::kSysfs,
     "sysfs",
     MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
     "",
     nullptr,
     "/sys"},
    // Group 5 is "tty"; it cannot be named where the user namespace does not map it.
    {Mount::Kind::kDevpts,
     "devpts",
     MS_NOSUID | MS_NOEXEC,
     "newinstance,ptmxmode=0666,mode=0620,gid=5",
     "newinstance,ptmxmode=0666,mode=0620",
     nullptr},
    {Mount::Kind::kMqueue, "mqueue", MS_NOSUID | MS_NODEV, "", nullptr, nullptr},
};

bool is_directory(int fd) {
    struct stat status = {};
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

std::string describe(const Mount& mount) {
    const std::string target = printable(mount.target.string());
    return mount.source.empty() ? "over '" + target + "'"
                                : "'" + printable(mount.source.string()) + "' to '" + target + "'";
}

} // namespace

Result<unsigned long> flags_of_options(const std::string& options) {
    unsigned long flags = 0;
    for (const std::string_view word : text::split_terminated(options, ',')) {
        const auto* found = std::ranges::find(kNamedFlags, word, &NamedFlag::name);
        if (found == std::end(kNamedFlags)) {
            return fail(ErrorCode::kInput,
                        problem("bind-option-unknown",
                                "'" + printable(word) + "' is not an option of a bind"),
                        "known are ro, nosuid, nodev and noexec");
        }
        flags |= found->flag;
    }
    return flags;
}

RootBuilder::RootBuilder(UniqueFd root) : root_(std::move(root)) {
    own_mounts_.push_back(mount_id(root_.get()));
}

Result<RootBuilder> RootBuilder::start(const Sandbox& sandbox) {
    const std::string shown = printable(sandbox.root.string());
    UniqueFd opened;
    int directory = sandbox.root_fd;
    if (directory < 0) {
        opened.reset(open(sandbox.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!opened.valid()) {
            return fail(system_error("cannot open the root file system '" + shown + "'", errno));
        }
        directory = opened.get();
    }
    const BindPoint point{directory, directory};
    CYBELE_TRY(UniqueFd root, bind_mount(point, "the root file system"));
    return RootBuilder(std::move(root));
}

Result<UniqueFd> RootBuilder::target_of(const Mount& mount, TargetKind kind) const {
    if (auto fd = open_in_root(root_.get(), mount.target)) {
        return std::move(*fd);
    }
    Making making;
    making.is_directory = kind == TargetKind::kDirectory;
    making.may_make_in = [this, &mount](int parent, bool passed_link) {
        const std::uint64_t id = mount_id(parent);
        if (!mount.make_target && id == own_mounts_.front()) {
            return false; // the root itself stays as it is
        }
        const auto has = [&](const std::vector<std::uint64_t>& ids) { return contains(ids, id); };
        // Links are the image's: none may choose where something is made on the host.
        return has(own_mounts_) || (mount.is_named && !passed_link && has(host_mounts_));
    };
    auto made = make_in_root(root_.get(), mount.target, making);
    if (!made && mount.is_optional) {
        return UniqueFd();
    }
    return made;
}

void RootBuilder::note_host(const Mount& mount, int bound) {
    struct stat status = {};
    if (mount.may_hold_targets && fstat(bound, &status) == 0 && S_ISDIR(status.st_mode)) {
        host_folders_.emplace_back(status.st_dev, status.st_ino);
        if (!mount.is_read_only) {
            host_mounts_.push_back(mount_id(bound));
        }
    }
}

bool RootBuilder::is_host_folder(int fd) const {
    struct stat status = {};
    const auto is_it = [&](const auto& one) {
        return one.first == status.st_dev && one.second == status.st_ino;
    };
    return fstat(fd, &status) == 0 && std::ranges::any_of(host_folders_, is_it);
}

namespace {

Error unusable_source(const Mount& mount, int number) {
    const std::string message = "cannot bind '" + printable(mount.source.string()) + "'";
    if (number != ENOENT) {
        return system_error(message, number);
    }
    return {ErrorCode::kInput,
            problem("bind-source-missing", message).about({}, mount.source.native()),
            "there is no such file or directory on this host",
            "check the source of the bind"};
}

} // namespace

Result<void> RootBuilder::add_bind(const Mount& mount) {
    UniqueFd opened;
    int source = mount.source_fd;
    if (source < 0) {
        opened.reset(open(mount.source.c_str(), O_PATH | O_CLOEXEC));
        source = opened.get();
    }
    if (source < 0) {
        return mount.is_optional ? Result<void>() : fail(unusable_source(mount, errno));
    }
    CYBELE_TRY(const unsigned long flags, flags_of_options(mount.options));
    const bool directory = is_directory(source);
    auto found = target_of(mount, directory ? TargetKind::kDirectory : TargetKind::kFile);
    if (!found) {
        std::vector<Fault> faults = found.error().faults();
        faults.front().subject = mount.source.native();
        return fail(Error(std::move(faults)));
    }
    const UniqueFd target = std::move(*found);
    if (!target.valid()) {
        return {};
    }
    if (mount.skip_if_same && is_same_file(source, target.get())) {
        note_host(mount, target.get()); // it may be a mount of its own below another one
        return {};
    }
    if (mount.may_hold_targets && !mount.is_named && is_host_folder(target.get())) {
        return {}; // a link of the image leads to a folder of the host, which stays
    }
    if (directory != is_directory(target.get())) {
        if (mount.is_optional) {
            return {};
        }
        return fail(ErrorCode::kInput,
                    problem("bind-kinds-differ", "cannot bind " + describe(mount))
                        .about(mount.target.native(), mount.source.native()),
                    directory ? "the source is a directory, the target is a file"
                              : "the source is a file, the target is a directory",
                    "name the complete path of the target");
    }
    const BindPoint point{
        source, target.get(), mount.is_recursive, flags | (mount.is_read_only ? kReadOnly : 0UL)};
    auto bound = bind_mount(point, describe(mount));
    if (!bound && !mount.is_optional) {
        return fail(std::move(bound).error());
    }
    if (bound) {
        note_host(mount, bound->get());
    }
    return {};
}

Result<void> RootBuilder::add_file_system(const Mount& mount) {
    const auto* system = std::ranges::find(kFileSystems, mount.kind, &FileSystem::kind);
    CYBELE_TRY(const UniqueFd target, target_of(mount, TargetKind::kDirectory));
    if (!target.valid()) {
        return {};
    }
    const unsigned long flags = system->flags | (mount.is_read_only ? kReadOnly : 0UL);
    const std::string options = mount.options.empty() ? system->options : mount.options;
    auto mounted = mount_over(target.get(), system->type, flags, options);
    if (!mounted && system->other_options != nullptr) {
        mounted = mount_over(target.get(), system->type, flags, system->other_options);
    }
    if (!mounted && system->host != nullptr) {
        Mount host = mount;
        host.kind = Mount::Kind::kBind;
        host.source = system->host;
        host.options = "";
        return add_bind(host);
    }
    if (!mounted) {
        return mount.is_optional ? Result<void>() : mounted;
    }
    if (mount.kind == Mount::Kind::kTmpfs) {
        if (const auto fd = open_in_root(root_.get(), mount.target)) {
            own_mounts_.push_back(mount_id(fd->get()));
        }
    }
    return {};
}

Result<void> RootBuilder::add_same(const Mount& mount) {
    CYBELE_TRY(const UniqueFd target, target_of(mount, TargetKind::kDirectory));
    if (!target.valid()) {
        return {};
    }
    CYBELE_TRY(const unsigned long flags, flags_of_options(mount.options));
    const BindPoint point{target.get(),
                          target.get(),
                          mount.is_recursive,
                          flags | (mount.is_read_only ? kReadOnly : 0UL)};
    CYBELE_CHECK(bind_mount(point, describe(mount)));
    return {};
}

Result<void> RootBuilder::add(const Mount& mount) {
    switch (mount.kind) {
    case Mount::Kind::kBind:
        return add_bind(mount);
    case Mount::Kind::kSame:
        return add_same(mount);
    default:
        return add_file_system(mount);
    }
}

} // namespace cybele::namespaces
