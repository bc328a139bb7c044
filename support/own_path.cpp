// SPDX-License-Identifier: Apache-2.0
#include "support/own_path.hpp"

#include "support/own_links.hpp"
#include "support/quote.hpp"
#include "support/root_walk.hpp"

#include <cerrno>
#include <climits>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace cybele {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLinks = 40;
constexpr unsigned kPermissions = 07777;
constexpr uid_t kOverflow = 65534;

/// In a user namespace that does not map root, root's folders show the overflow id.
bool is_root_hidden() {
    const auto map = read_file("/proc/self/uid_map", PATH_MAX);
    return map && map->find("4294967295") == std::string::npos;
}

/// Distributions give each user a group of the same number, which has no other member.
bool is_private_group(int fd, const struct stat& status) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    return status.st_gid == status.st_uid &&
           ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) <= 0;
}

class OwnWalk {
public:
    OwnWalk(fs::path path, const OwnPathRules& rules, bool judges_links_only = false)
        : path_(std::move(path)), rules_(rules), judges_links_only_(judges_links_only) {}

    Result<UniqueFd> go() {
        std::error_code error;
        push(fs::absolute(path_, error));
        CYBELE_CHECK(enter_root());
        while (!rest_.empty()) {
            const std::string name = rest_.front();
            rest_.pop_front();
            CYBELE_CHECK(step(name));
        }
        if (!S_ISDIR(status_.st_mode) && rules_.is_folder) {
            return failed(ENOTDIR);
        }
        return std::move(at_);
    }

private:
    /// Puts the components of a path before those that are left.
    void push(const fs::path& path) {
        auto at = rest_.begin();
        for (const fs::path& part : path.relative_path()) {
            if (!part.empty() && part != ".") {
                at = std::next(rest_.insert(at, part.native()));
            }
        }
    }

    Result<void> enter_root() {
        at_ = UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
        shown_ = "/";
        return check();
    }

    Result<void> step(const std::string& name) {
        UniqueFd next(::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (!next.valid()) {
            return failed(errno);
        }
        struct stat status {};
        if (::fstat(next.get(), &status) != 0) {
            return failed(errno);
        }
        if (S_ISLNK(status.st_mode)) {
            return follow(next, status, name);
        }
        shown_ = name == ".." ? shown_.parent_path() : shown_ / name;
        if (!S_ISDIR(status.st_mode) && (!rest_.empty() || rules_.is_folder)) {
            return failed(ENOTDIR);
        }
        if (rest_.empty() && !rules_.is_folder) {
            if (!S_ISREG(status.st_mode)) {
                return foreign("it is not a regular file", "use a file of your own");
            }
            next = UniqueFd(
                ::openat(at_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
            if (!next.valid()) {
                return failed(errno);
            }
        }
        at_ = std::move(next);
        return check();
    }

    Result<void> follow(const UniqueFd& link, const struct stat& status, const std::string& name) {
        if (++links_ > kMostLinks) {
            return failed(ELOOP);
        }
        if (!is_ours(status)) {
            return stranger(status, shown_ / name);
        }
        const auto target = link_target(link.get());
        if (!target) {
            return failed(errno);
        }
        const fs::path to(*target);
        push(to);
        return to.is_absolute() ? enter_root() : Result<void>();
    }

    [[nodiscard]] bool is_last() const {
        return rest_.empty();
    }

    [[nodiscard]] bool is_ours(const struct stat& status) const {
        return status.st_uid == ::geteuid() || status.st_uid == 0 ||
               (is_last() && rules_.has_any_owner) ||
               (!is_last() && status.st_uid == kOverflow && is_root_hidden());
    }

    [[nodiscard]] bool is_writable_by_others(const struct stat& status) const {
        const bool is_sticky = (status.st_mode & S_ISVTX) != 0 && S_ISDIR(status.st_mode);
        if (is_sticky && (!is_last() || rules_.may_be_sticky)) {
            return false; // what is in it belongs to the user or to root, which is checked next
        }
        if ((status.st_mode & S_IWOTH) != 0) {
            return true;
        }
        const bool is_group_allowed =
            is_last() ? rules_.group_may_write : rules_.group_above && status.st_uid == 0;
        return (status.st_mode & S_IWGRP) != 0 && !is_group_allowed &&
               !is_private_group(at_.get(), status);
    }

    /// Of the component that at_ is.
    Result<void> check() {
        if (!at_.valid() || ::fstat(at_.get(), &status_) != 0) {
            return failed(errno);
        }
        if (judges_links_only_) {
            return {};
        }
        if (!is_ours(status_)) {
            return stranger(status_, shown_);
        }
        if (!is_writable_by_others(status_)) {
            return {};
        }
        const std::string shown = printable(shown_.native());
        const bool is_own = status_.st_uid == ::geteuid();
        return foreign(fmt::format("other users can write {} (owner {}, mode {:04o})",
                                   shown,
                                   status_.st_uid,
                                   status_.st_mode & kPermissions),
                       is_own ? "remove that permission: chmod go-w " + shell_quote(shown_.native())
                              : "use one in a folder of your own",
                       is_own ? "path-writable-by-others" : "path-not-trusted");
    }

    [[nodiscard]] tl::unexpected<Error> stranger(const struct stat& status,
                                                 const fs::path& path) const {
        return foreign(fmt::format("{} belongs to user {} (mode {:04o})",
                                   printable(path.native()),
                                   status.st_uid,
                                   status.st_mode & kPermissions),
                       "use one of your own");
    }

    [[nodiscard]] tl::unexpected<Error>
    foreign(std::string because, std::string help, std::string_view id = "path-not-trusted") const {
        return fail(ErrorCode::kEnvironment,
                    problem(id, printable(path_.native()) + " is not trusted"),
                    std::move(because),
                    std::move(help));
    }

    [[nodiscard]] tl::unexpected<Error> failed(int number) const {
        if (number == ELOOP) {
            return fail(ErrorCode::kInput,
                        problem("link-loop", "cannot open " + printable(path_.native())),
                        "its links lead back to themselves",
                        "correct the link");
        }
        if (number == ENOENT || number == ENOTDIR) {
            return fail(ErrorCode::kInput,
                        problem("file-missing",
                                "no such " + std::string(rules_.is_folder ? "folder: " : "file: ") +
                                    printable(path_.native())),
                        {},
                        "check the name and the folder that it is relative to");
        }
        return fail(system_error("cannot open " + printable(path_.native()), number));
    }

    fs::path path_;
    OwnPathRules rules_;
    bool judges_links_only_;
    std::deque<std::string> rest_;
    UniqueFd at_;
    fs::path shown_;
    struct stat status_ {};
    int links_ = 0;
};

} // namespace

Result<UniqueFd> open_own(const fs::path& path, const OwnPathRules& rules) {
    return OwnWalk(path, rules).go();
}

Result<UniqueFd> open_file_past_own_links(const fs::path& path) {
    return OwnWalk(path, {}, true).go();
}

Result<UniqueFd> open_folder_past_own_links(const fs::path& path) {
    OwnPathRules rules;
    rules.is_folder = true;
    return OwnWalk(path, rules, true).go();
}

Result<std::string> read_own_file(const fs::path& path, std::size_t limit) {
    CYBELE_TRY(const UniqueFd fd, open_own(path));
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), path));
    if (size > limit) {
        return fail(ErrorCode::kInput,
                    problem("file-too-big", printable(path.native()) + " is too big"),
                    "more than " + std::to_string(limit) + " bytes are not read",
                    "check that it is the file that you mean");
    }
    std::string text(size, '\0');
    CYBELE_CHECK(read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)), path));
    return text;
}

} // namespace cybele
