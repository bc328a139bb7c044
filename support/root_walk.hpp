// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace cybele {

/// The text of a symbolic link; `name` empty: of the one that an O_PATH descriptor stands for.
/// Unset, with errno: it is not there, or not a link.
[[nodiscard]] std::optional<std::string> link_target(int directory, const char* name = "");

/// Opens a path as a process whose root is `root` would see it, by openat2(): absolute links and
/// ".." stay inside. -1 and errno; ENOSYS before Linux 5.6, EPERM in some sandboxes.
[[nodiscard]] int open_in_root_by_kernel(int root, const std::string& path, int flags);

/// The same component by component, with a descriptor for each directory from the root down, so
/// that ".." and links cannot leave the root whatever happens to the names meanwhile.
class RootWalk {
public:
    /// Sees each component that was opened (O_PATH), links too, before the walk goes on from it.
    /// False ends the walk.
    using Judge = std::function<bool(int fd, const struct stat& status, const std::string& name)>;

    RootWalk(int root, const std::filesystem::path& path, Judge judge = {})
        : root_(root), judge_(std::move(judge)) {
        push_front(path);
    }

    /// Goes on until the end, or until a component cannot be opened: false, with errno. May be
    /// called again when that one was made.
    bool run();

    /// Where the walk is: the end, or the directory that lacks the first of rest(). Of O_PATH.
    [[nodiscard]] int here() const {
        return held_.empty() ? root_ : held_.back().fd.get();
    }
    /// Opens the end again with other flags.
    [[nodiscard]] UniqueFd open_end(int flags) const;
    [[nodiscard]] const std::deque<std::string>& rest() const {
        return rest_;
    }
    [[nodiscard]] bool passed_link() const {
        return links_ > 0;
    }
    /// The path without links up to here, from "/".
    [[nodiscard]] std::filesystem::path passed() const;

private:
    struct Held {
        std::string name;
        UniqueFd fd;
    };

    void push_front(const std::filesystem::path& path);
    bool step();
    bool follow(int link);

    int root_;
    Judge judge_;
    int links_ = 0;
    std::vector<Held> held_;
    std::deque<std::string> rest_;
};

} // namespace cybele
