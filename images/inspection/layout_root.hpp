// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace cybele::images {

/// A root file system that is being built, seen as its container will see it: every path is
/// resolved inside it, so that a link in a base image (`/etc -> /`, `/.singularity.d -> ../../etc`)
/// never leads out. Paths are relative to the root. What is made belongs to root where this process
/// is root, and has exactly the mode that is asked for, whatever the umask.
class RootDirectory {
public:
    /// kInput when `root` is no directory.
    [[nodiscard]] static Result<RootDirectory> open(const std::filesystem::path& root);

    /// Opens a path inside the root, links followed inside it; -1 and errno when it fails. Flags as
    /// for open(2); O_CLOEXEC is added. Never creates.
    [[nodiscard]] UniqueFd open_inside(std::string_view path, int flags) const;

    /// Is there something at the end of the links?
    [[nodiscard]] bool exists(std::string_view path) const;
    /// The regular file's bytes; nothing when there is no file. A bigger file than 16 MiB, a
    /// directory or a device is kInput.
    [[nodiscard]] Result<std::optional<std::string>> read(std::string_view path) const;
    /// Names in a directory, sorted; none when there is no directory.
    [[nodiscard]] std::vector<std::string> list(std::string_view path) const;

    /// mkdir -p; what exists keeps its mode. A link that leads nowhere is replaced.
    [[nodiscard]] Result<void> make_directory(std::string_view path, mode_t mode) const;
    /// Puts a new file in the place of whatever file or link has this name.
    [[nodiscard]] Result<void>
    write(std::string_view path, std::string_view bytes, mode_t mode) const;
    /// The same, unless there is a file already, which only gets the mode (`mode` 0: not even
    /// that).
    [[nodiscard]] Result<void>
    write_if_missing(std::string_view path, std::string_view bytes, mode_t mode) const;
    /// A symbolic link, unless something has this name already.
    [[nodiscard]] Result<void> link_if_missing(std::string_view path, const char* target) const;
    /// Unlinks a file or link; a missing one is fine.
    [[nodiscard]] Result<void> remove(std::string_view path) const;

    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }
    /// For tests: resolve in this process, as on kernels older than 5.6, which lack openat2().
    void resolve_without_openat2() {
        has_openat2_ = false;
    }

private:
    struct Parent {
        UniqueFd directory;
        std::string name;
    };
    RootDirectory() = default;
    [[nodiscard]] Result<Parent> parent_of(std::string_view path) const;
    [[nodiscard]] Error failed(std::string_view what, std::string_view path, int saved_errno) const;

    UniqueFd fd_;
    std::filesystem::path path_;
    bool has_openat2_ = true;
};

} // namespace cybele::images
