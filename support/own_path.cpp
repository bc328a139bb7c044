// SPDX-License-Identifier: Apache-2.0
#include "support/own_path.hpp"

#include "support/own_links.hpp"
#include "support/quote.hpp"
#include "support/root_walk.hpp"

#include <cerrno>
#include <climits>
#include <cstdint>
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

enum class Judged { kAll, kLinks };

class OwnWalk {
public:
    OwnWalk(fs::path path, const OwnPathRules& rules, Judged judged = Judged::kAll)
        : path_(std::move(path)), rules_(rules), judged_(judged) {}

    Result<UniqueFd> go() {
        const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
        std::error_code error;
        Result<void> judged;
        RootWalk walk(root.get(),
                      fs::absolute(path_, error),
                      [&](int fd, const struct stat& status, const std::string& name) {
                          judged = judge({fd, status, walk.passed() / name, walk.rest().empty()});
                          return judged.has_value();
                      });
        CYBELE_CHECK(judge_open(root, "/", walk.rest().empty()));
        if (!walk.run()) {
            const int number = errno;
            CYBELE_CHECK(judged);
            return failed(number);
        }
        UniqueFd end =
            walk.open_end(rules_.is_folder ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK);
        CYBELE_CHECK(judge_open(end, walk.passed(), true));
        return end;
    }

private:
    struct Component {
        int fd;
        const struct stat& status;
        fs::path shown;
        bool is_last;
    };

    [[nodiscard]] Result<void>
    judge_open(const UniqueFd& fd, const fs::path& shown, bool is_last) const {
        struct stat status {};
        if (!fd.valid() || ::fstat(fd.get(), &status) != 0) {
            return failed(errno);
        }
        return judge({fd.get(), status, shown, is_last});
    }

    [[nodiscard]] bool is_ours(const Component& one) const {
        const uid_t owner = one.status.st_uid;
        return owner == ::geteuid() || owner == 0 || (one.is_last && rules_.has_any_owner) ||
               (!one.is_last && owner == kOverflow && is_root_hidden());
    }

    [[nodiscard]] bool is_writable_by_others(const Component& one) const {
        const mode_t mode = one.status.st_mode;
        const bool is_sticky = (mode & S_ISVTX) != 0 && S_ISDIR(mode);
        if (is_sticky && (!one.is_last || rules_.may_be_sticky)) {
            return false; // what is in it belongs to the user or to root, which is checked next
        }
        if ((mode & S_IWOTH) != 0) {
            return true;
        }
        const bool is_group_allowed =
            one.is_last ? rules_.group_may_write : rules_.group_above && one.status.st_uid == 0;
        return (mode & S_IWGRP) != 0 && !is_group_allowed && !is_private_group(one.fd, one.status);
    }

    [[nodiscard]] Result<void> judge(const Component& one) const {
        const mode_t mode = one.status.st_mode;
        const bool is_link = S_ISLNK(mode);
        if (!is_link && one.is_last && rules_.is_folder && !S_ISDIR(mode)) {
            return failed(ENOTDIR);
        }
        if (!is_link && one.is_last && !rules_.is_folder && !S_ISREG(mode)) {
            return foreign("it is not a regular file", "use a file of your own");
        }
        if (judged_ == Judged::kLinks && !is_link) {
            return {};
        }
        const std::string shown = printable(one.shown.native());
        if (!is_ours(one)) {
            return foreign(fmt::format("{} belongs to user {} (mode {:04o})",
                                       shown,
                                       one.status.st_uid,
                                       mode & kPermissions),
                           "use one of your own");
        }
        if (is_link || !is_writable_by_others(one)) {
            return {};
        }
        const bool is_own = one.status.st_uid == ::geteuid();
        return foreign(fmt::format("other users can write {} (owner {}, mode {:04o})",
                                   shown,
                                   one.status.st_uid,
                                   mode & kPermissions),
                       is_own
                           ? "remove that permission: chmod go-w " + shell_quote(one.shown.native())
                           : "use one in a folder of your own",
                       is_own ? "path-writable-by-others" : "path-not-trusted");
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
                                    printable(path_.native()))
                            .about(path_.native()),
                        {},
                        "check the name and the folder that it is relative to");
        }
        return fail(system_error("cannot open " + printable(path_.native()), number));
    }

    fs::path path_;
    OwnPathRules rules_;
    Judged judged_;
};

} // namespace

Result<UniqueFd> open_own(const fs::path& path, const OwnPathRules& rules) {
    return OwnWalk(path, rules).go();
}

Result<UniqueFd> open_file_past_own_links(const fs::path& path) {
    return OwnWalk(path, {}, Judged::kLinks).go();
}

Result<UniqueFd> open_folder_past_own_links(const fs::path& path) {
    OwnPathRules rules;
    rules.is_folder = true;
    return OwnWalk(path, rules, Judged::kLinks).go();
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
