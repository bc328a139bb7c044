// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cybele {

/// A file descriptor that is closed when its owner goes. Closing keeps errno.
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) {
            reset(std::exchange(other.fd_, -1));
        }
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() {
        reset();
    }

    [[nodiscard]] int get() const {
        return fd_;
    }
    [[nodiscard]] bool valid() const {
        return fd_ >= 0;
    }
    [[nodiscard]] int release() {
        return std::exchange(fd_, -1);
    }
    void reset(int fd = -1);

private:
    int fd_ = -1;
};

/// Opens for reading with O_CLOEXEC. A missing file is kInput ("no such file"), anything else as
/// system_error() says.
[[nodiscard]] Result<UniqueFd> open_for_reading(const std::filesystem::path& path);

/// The whole file. More than `limit` bytes: kInput. "-" is standard input.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::size_t limit = std::size_t{64} << 20U);

/// Exactly `size` bytes from `offset`; a shorter file is kInput.
[[nodiscard]] Result<void>
read_at(int fd, std::uint64_t offset, std::span<std::byte> into, const std::filesystem::path& path);

[[nodiscard]] Result<std::uint64_t> file_size(int fd, const std::filesystem::path& path);

/// Writes all bytes to a descriptor, whatever write() takes at a time.
[[nodiscard]] Result<void>
write_all(int fd, std::string_view bytes, const std::filesystem::path& path);

/// Brings the entries of the folder that holds `path` to the disk. Some network file systems refuse
/// this; they are left alone.
void sync_folder_of(const std::filesystem::path& path);

/// Puts a file in place whole or not at all, as PendingFile does. "-" is standard output.
[[nodiscard]] Result<void>
write_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

/// A file that appears under its final name only when commit() is called; what write_file() uses,
/// for content that is written piece by piece. Until then it has no name at all (O_TMPFILE), so
/// that nothing is left of it even by SIGKILL; file systems without such files (NFS, some FUSE)
/// get a private name in the same folder, which the destructor removes.
class PendingFile {
public:
    [[nodiscard]] static Result<PendingFile> create(const std::filesystem::path& path,
                                                    unsigned mode = 0644);
    PendingFile(PendingFile&&) noexcept;
    PendingFile& operator=(PendingFile&&) = delete;
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;
    ~PendingFile();

    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    /// Opens it once more, for reading.
    [[nodiscard]] Result<UniqueFd> reopen() const;
    /// Syncs it and gives it its name, in the place of what had it; syncs the folder.
    [[nodiscard]] Result<void> commit();
    /// The same, but false, and nothing done, where the name is taken.
    [[nodiscard]] Result<bool> commit_new();

private:
    PendingFile() = default;
    Result<void> name_beside();
    Result<void> sync() const;
    /// Where it can be found while it is open.
    [[nodiscard]] std::filesystem::path place() const;
    UniqueFd fd_;
    std::filesystem::path path_;
    std::filesystem::path temporary_;
};

/// A private directory (0700) with a random name; removed with all its content by the destructor.
class TempDirectory {
public:
    /// Below `parent`, which is made when missing; the name begins with `prefix`.
    [[nodiscard]] static Result<TempDirectory> make(const std::filesystem::path& parent,
                                                    std::string_view prefix);
    TempDirectory(TempDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TempDirectory& operator=(TempDirectory&&) = delete;
    TempDirectory(const TempDirectory&) = delete;
    TempDirectory& operator=(const TempDirectory&) = delete;
    ~TempDirectory();

    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }
    /// Gives up ownership: the directory stays.
    std::filesystem::path release() {
        return std::exchange(path_, {});
    }

private:
    TempDirectory() = default;
    std::filesystem::path path_;
};

/// mkdir -p; existing directories are fine and keep their mode.
[[nodiscard]] Result<void> make_directories(const std::filesystem::path& path,
                                            unsigned mode = 0755);

/// Removes a tree without following links and without leaving its file system. A missing path is
/// fine. Directories without write permission are made writable first.
[[nodiscard]] Result<void> remove_tree(const std::filesystem::path& path);

/// Bytes free to an ordinary user where `path` (or its nearest existing parent) lies.
[[nodiscard]] std::optional<std::uint64_t> free_space(const std::filesystem::path& path);

} // namespace cybele
