// SPDX-License-Identifier: Apache-2.0
#include "runtime/namespaces/resolve.hpp"

#include "runtime/namespaces/system_calls.hpp"
#include "support/quote.hpp"

#include <cerrno>
#include <deque>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::namespaces {
namespace {

constexpr int kMostLinks = 40; // as the kernel

/// Walks a path with one descriptor for each directory from the root down, so that ".." and links
/// cannot leave the root whatever happens to the names meanwhile.
class Walk {
public:
    Walk(int root, const std::filesystem::path& path) : root_(root) {
        push_front(path);
    }

    /// Goes on until the end or until a component cannot be opened (errno).
    bool run() {
        while (!rest_.empty()) {
            if (!step()) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] int here() const {
        return held_.empty() ? root_ : held_.back().fd.get();
    }
    [[nodiscard]] const std::deque<std::string>& rest() const {
        return rest_;
    }
    [[nodiscard]] bool passed_link() const {
        return links_ > 0;
    }
    [[nodiscard]] std::filesystem::path passed() const {
        std::filesystem::path path = "/";
        for (const Held& held : held_) {
            path /= held.name;
        }
        return path;
    }

private:
    struct Held {
        std::string name;
        UniqueFd fd;
    };

    void push_front(const std::filesystem::path& path) {
        std::deque<std::string> parts;
        for (const auto& part : path) {
            if (!part.empty() && part != "/" && part != ".") {
                parts.push_back(part.string());
            }
        }
        rest_.insert(rest_.begin(), parts.begin(), parts.end());
    }

    bool step() {
        const std::string name = rest_.front();
        if (name == "..") {
            rest_.pop_front();
            if (!held_.empty()) {
                held_.pop_back();
            }
            return true;
        }
        UniqueFd next(openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat status = {};
        if (!next.valid() || fstat(next.get(), &status) != 0) {
            return false;
        }
        rest_.pop_front();
        if (S_ISLNK(status.st_mode)) {
            return follow(next.get());
        }
        if (!rest_.empty() && !S_ISDIR(status.st_mode)) {
            errno = ENOTDIR;
            return false;
        }
        held_.push_back({name, std::move(next)});
        return true;
    }

    bool follow(int link) {
        char target[4096];
        const ssize_t size = readlinkat(link, "", target, sizeof target);
        if (size <= 0) {
            return false;
        }
        if (++links_ > kMostLinks) {
            errno = ELOOP;
            return false;
        }
        const std::filesystem::path path(std::string(target, static_cast<std::size_t>(size)));
        if (path.is_absolute()) {
            held_.clear();
        }
        push_front(path);
        return true;
    }

    int root_;
    int links_ = 0;
    std::vector<Held> held_;
    std::deque<std::string> rest_;
};

UniqueFd duplicate(int fd) {
    return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

} // namespace

std::optional<UniqueFd> open_in_root(int root, const std::filesystem::path& path) {
    UniqueFd fd(open_in_root_by_kernel(root, path.string()));
    if (fd.valid()) {
        return fd;
    }
    if (!is_unknown_call(errno)) {
        return std::nullopt;
    }
    Walk walk(root, path);
    if (!walk.run()) {
        return std::nullopt;
    }
    return duplicate(walk.here());
}

Result<UniqueFd> make_in_root(int root, const std::filesystem::path& path, const Making& making) {
    const std::string shown = printable(path.string());
    Walk walk(root, path);
    while (!walk.run()) {
        if (errno != ENOENT) {
            return fail(
                system_error("cannot reach '" + shown + "' in the root file system", errno));
        }
        if (making.may_make_in && !making.may_make_in(walk.here(), walk.passed_link())) {
            return fail(
                ErrorCode::kInput,
                problem("container-path-missing", "there is no '" + shown + "' in the container"),
                "it would be in a directory of the host that is bound read-only, is the "
                "system's, or is reached by a link",
                "make it on the host, or choose another target");
        }
        const std::string name = walk.rest().front();
        const bool is_directory = making.is_directory || walk.rest().size() > 1;
        int made = 0;
        if (is_directory) {
            made = mkdirat(walk.here(), name.c_str(), 0755);
        } else {
            const int flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY;
            const UniqueFd file(openat(walk.here(), name.c_str(), flags, 0644));
            made = file.valid() ? 0 : -1;
        }
        if (made != 0 && errno != EEXIST) {
            return fail(system_error("cannot make '" + shown + "' in the root file system", errno));
        }
    }
    return duplicate(walk.here());
}

Resolved resolve_in_root(int root, const std::filesystem::path& path) {
    Walk walk(root, path);
    (void)walk.run();
    Resolved resolved;
    resolved.existing = walk.passed();
    for (const std::string& part : walk.rest()) {
        resolved.missing /= part;
    }
    return resolved;
}

} // namespace cybele::namespaces
