// SPDX-License-Identifier: Apache-2.0
#include "support/root_walk.hpp"

#include <array>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cybele {

namespace {

constexpr int kMostRootLinks = 40; // as the kernel

} // namespace

std::optional<std::string> link_target(int directory, const char* name) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(directory, name, target.data(), target.size());
    return size < 0 ? std::nullopt
                    : std::optional<std::string>(
                          std::in_place, target.data(), static_cast<std::size_t>(size));
}

int open_in_root_by_kernel(int root, const std::string& path, int flags) {
    open_how how = {};
    how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    long fd = -1;
    do { // EAGAIN: something was renamed meanwhile
        fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    return static_cast<int>(fd);
}

bool RootWalk::run() {
    while (!rest_.empty()) {
        if (!step()) {
            return false;
        }
    }
    return true;
}

UniqueFd RootWalk::open_end(int flags) const {
    const int above = held_.size() < 2 ? root_ : held_[held_.size() - 2].fd.get();
    const char* const name = held_.empty() ? "." : held_.back().name.c_str();
    return UniqueFd(::openat(above, name, flags | O_NOFOLLOW | O_CLOEXEC));
}

std::filesystem::path RootWalk::passed() const {
    std::filesystem::path path = "/";
    for (const Held& held : held_) {
        path /= held.name;
    }
    return path;
}

void RootWalk::push_front(const std::filesystem::path& path) {
    std::deque<std::string> parts;
    for (const auto& part : path) {
        if (!part.empty() && part != "/" && part != ".") {
            parts.push_back(part.string());
        }
    }
    rest_.insert(rest_.begin(), parts.begin(), parts.end());
}

bool RootWalk::step() {
    const std::string name = rest_.front();
    if (name == "..") {
        rest_.pop_front();
        if (!held_.empty()) {
            held_.pop_back();
        }
        return true;
    }
    UniqueFd next(::openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!next.valid() || ::fstat(next.get(), &status) != 0) {
        return false;
    }
    rest_.pop_front();
    const bool is_link = S_ISLNK(status.st_mode);
    if (!is_link && !rest_.empty() && !S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    if (judge_ && !judge_(next.get(), status, name)) {
        return false;
    }
    if (is_link) {
        return follow(next.get());
    }
    held_.push_back({name, std::move(next)});
    return true;
}

bool RootWalk::follow(int link) {
    const auto target = link_target(link);
    if (!target) {
        return false;
    }
    if (++links_ > kMostRootLinks) {
        errno = ELOOP;
        return false;
    }
    const std::filesystem::path path(*target);
    if (path.is_absolute()) {
        held_.clear();
    }
    push_front(path);
    return true;
}

} // namespace cybele
