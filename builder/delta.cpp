// SPDX-License-Identifier: Apache-2.0
#include "builder/delta.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

struct DeltaNode {
    struct stat status {};
    bool is_there = false;
    [[nodiscard]] mode_t type() const {
        return status.st_mode & S_IFMT;
    }
    [[nodiscard]] bool is_directory() const {
        return is_there && S_ISDIR(status.st_mode);
    }
};

DeltaNode node_at(const fs::path& path) {
    DeltaNode node;
    node.is_there = ::lstat(path.c_str(), &node.status) == 0;
    return node;
}

bool is_opaque(const fs::path& directory) {
    std::array<char, 4> value{};
    return ::lgetxattr(directory.c_str(), "trusted.overlay.opaque", value.data(), 4) > 0 ||
           ::lgetxattr(directory.c_str(), "user.overlay.opaque", value.data(), 4) > 0;
}

Error failed(const char* what, const fs::path& path) {
    return system_error(std::string("cannot ") + what + " " + printable(path.native()), errno);
}

class DeltaMaker {
public:
    DeltaMaker(const DeltaTrees& trees, fs::path target)
        : trees_(trees), target_(std::move(target)) {}

    [[nodiscard]] Result<std::size_t> make();

private:
    void collect(const fs::path& layer, const fs::path& below);
    void collect_all(const fs::path& below);
    [[nodiscard]] Result<void> compare(const fs::path& path);
    [[nodiscard]] Result<void> put(const fs::path& path, const DeltaNode& node);
    [[nodiscard]] Result<void> put_file(const fs::path& path, const DeltaNode& node);
    [[nodiscard]] Result<void> make_parents(const fs::path& path);
    [[nodiscard]] Result<void> take_status(const fs::path& path, const DeltaNode& node) const;
    [[nodiscard]] bool
    is_same(const fs::path& path, const DeltaNode& before, const DeltaNode& after) const;

    const DeltaTrees& trees_;
    fs::path target_;
    std::set<fs::path> touched_; ///< relative; a folder before its entries
    std::size_t count_ = 0;
};

/// Every name below a folder of both whole trees.
void DeltaMaker::collect_all(const fs::path& below) {
    touched_.insert(below);
    std::error_code error;
    for (const fs::path& tree : {trees_.before, trees_.after}) {
        if (!node_at(tree / below).is_directory()) {
            continue;
        }
        for (auto it = fs::directory_iterator(tree / below, error);
             !error && it != fs::directory_iterator();
             it.increment(error)) {
            const fs::path name = below / it->path().filename();
            if (touched_.count(name) == 0) {
                collect_all(name);
            }
        }
    }
}

void DeltaMaker::collect(const fs::path& layer, const fs::path& below) {
    if (!below.empty()) {
        touched_.insert(below);
    }
    if (is_opaque(layer / below)) {
        collect_all(below);
        return;
    }
    std::error_code error;
    for (auto it = fs::directory_iterator(layer / below, error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        const fs::path name = below / it->path().filename();
        const DeltaNode node = node_at(it->path());
        if (node.is_directory()) {
            collect(layer, name);
        } else if (node.is_there && S_ISCHR(node.status.st_mode)) {
            collect_all(name); // a whiteout of a folder hides all below it
        } else {
            touched_.insert(name);
            // A file here may lie where the other tree has a folder.
            if (node_at(trees_.before / name).is_directory() ||
                node_at(trees_.after / name).is_directory()) {
                collect_all(name);
            }
        }
    }
}

bool same_bytes(const fs::path& one, const fs::path& other) {
    const UniqueFd a(::open(one.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const UniqueFd b(::open(other.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    std::string left(std::size_t{64} << 10U, '\0');
    std::string right(left.size(), '\0');
    for (off_t at = 0;;) {
        const ssize_t m = ::pread(a.get(), left.data(), left.size(), at);
        const ssize_t n = ::pread(b.get(), right.data(), right.size(), at);
        if (m < 0 || m != n || !std::equal(left.begin(), left.begin() + m, right.begin())) {
            return false;
        }
        if (m == 0) {
            return true;
        }
        at += m;
    }
}

std::string link_target(const fs::path& path) {
    std::error_code error;
    return fs::read_symlink(path, error).native();
}

constexpr const char* kCapability = "security.capability";

/// Of the file itself; empty: none. Setting it changes neither the file's time nor its bytes.
std::string capability_of(const fs::path& path) {
    std::array<char, 128> value{};
    const ssize_t size = ::lgetxattr(path.c_str(), kCapability, value.data(), value.size());
    return size > 0 ? std::string(value.data(), static_cast<std::size_t>(size)) : std::string();
}

bool DeltaMaker::is_same(const fs::path& path,
                         const DeltaNode& before,
                         const DeltaNode& after) const {
    const struct stat& a = before.status;
    const struct stat& b = after.status;
    if (a.st_mode != b.st_mode || a.st_uid != b.st_uid || a.st_gid != b.st_gid ||
        (!after.is_directory() && a.st_mtim.tv_sec != b.st_mtim.tv_sec)) {
        return false;
    }
    if (S_ISLNK(b.st_mode)) {
        return link_target(trees_.before / path) == link_target(trees_.after / path);
    }
    return !S_ISREG(b.st_mode) ||
           (a.st_size == b.st_size &&
            capability_of(trees_.before / path) == capability_of(trees_.after / path) &&
            same_bytes(trees_.before / path, trees_.after / path));
}

Result<void> DeltaMaker::take_status(const fs::path& path, const DeltaNode& node) const {
    const fs::path file = target_ / path;
    if (::lchown(file.c_str(), node.status.st_uid, node.status.st_gid) != 0 ||
        (!S_ISLNK(node.status.st_mode) &&
         ::chmod(file.c_str(), node.status.st_mode & ALLPERMS) != 0)) {
        return fail(failed("give its owner to", file));
    }
    const std::array<timespec, 2> times{node.status.st_mtim, node.status.st_mtim};
    (void)::utimensat(AT_FDCWD, file.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
    return {};
}

Result<void> DeltaMaker::put_file(const fs::path& path, const DeltaNode& node) {
    const UniqueFd from(::open((trees_.after / path).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const UniqueFd to(::open(
        (target_ / path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!from.valid() || !to.valid()) {
        return fail(failed("copy", trees_.after / path));
    }
    std::string buffer(std::size_t{256} << 10U, '\0');
    for (;;) {
        const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
        if (count < 0) {
            return fail(failed("copy", trees_.after / path));
        }
        if (count == 0) {
            break;
        }
        CYBELE_CHECK(write_all(to.get(),
                               std::string_view(buffer.data(), static_cast<std::size_t>(count)),
                               target_ / path));
    }
    CYBELE_CHECK(take_status(path, node));
    // After the owner, which clears it.
    if (const std::string value = capability_of(trees_.after / path); !value.empty()) {
        (void)::fsetxattr(to.get(), kCapability, value.data(), value.size(), 0);
    }
    return {};
}

Result<void> DeltaMaker::make_parents(const fs::path& path) {
    fs::path below;
    for (const fs::path& part : path.parent_path()) {
        below /= part;
        if (node_at(target_ / below).is_there) {
            continue;
        }
        if (::mkdir((target_ / below).c_str(), 0700) != 0) {
            return fail(failed("make", target_ / below));
        }
        CYBELE_CHECK(take_status(below, node_at(trees_.after / below)));
    }
    return {};
}

Result<void> DeltaMaker::put(const fs::path& path, const DeltaNode& node) {
    const fs::path file = target_ / path;
    if (S_ISREG(node.status.st_mode)) {
        return put_file(path, node);
    }
    int made = -1;
    if (S_ISDIR(node.status.st_mode)) {
        made = ::mkdir(file.c_str(), 0700);
        made = made != 0 && errno == EEXIST ? 0 : made;
    } else if (S_ISLNK(node.status.st_mode)) {
        made = ::symlink(link_target(trees_.after / path).c_str(), file.c_str());
    } else if (S_ISFIFO(node.status.st_mode)) {
        made = ::mkfifo(file.c_str(), 0600);
    } else {
        return {}; // a socket or a device: neither is packed
    }
    return made == 0 ? take_status(path, node) : Result<void>(fail(failed("make", file)));
}

Result<void> DeltaMaker::compare(const fs::path& path) {
    const DeltaNode before = node_at(trees_.before / path);
    const DeltaNode after = node_at(trees_.after / path);
    if (!before.is_there && !after.is_there) {
        return {};
    }
    const bool is_gone = !after.is_there;
    if (!is_gone && before.is_there && before.type() == after.type() &&
        is_same(path, before, after)) {
        return {};
    }
    // Below a folder that is gone, or was no folder, nothing can be seen.
    if (is_gone && !node_at(trees_.after / path.parent_path()).is_directory()) {
        return {};
    }
    CYBELE_CHECK(make_parents(path));
    ++count_;
    if (!is_gone) {
        return put(path, after);
    }
    if (!node_at(trees_.before / path.parent_path()).is_directory()) {
        return {};
    }
    return ::mknod((target_ / path).c_str(), S_IFCHR, makedev(0, 0)) == 0
               ? Result<void>()
               : fail(failed("mark the deletion of", path));
}

Result<std::size_t> DeltaMaker::make() {
    for (const fs::path& layer : trees_.layers) {
        collect(layer, {});
    }
    for (const fs::path& path : trees_.compared) {
        collect_all(path);
    }
    for (const fs::path& path : touched_) {
        CYBELE_CHECK(compare(path));
    }
    CYBELE_CHECK(take_status("", node_at(trees_.after)));
    return count_;
}

} // namespace

Result<std::size_t> make_delta(const DeltaTrees& trees, const fs::path& target) {
    return DeltaMaker(trees, target).make();
}

} // namespace cybele::builder
