// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::images {

/// What a name in a file tree stands for.
struct FileStatus {
    std::uint32_t mode = 0; ///< with the type's bits, as stat(2) gives it
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::uint64_t size = 0;  ///< bytes of a regular file or of a link's target, else 0
    std::int64_t mtime = 0;  ///< Unix seconds
    std::uint32_t major = 0; ///< of a device
    std::uint32_t minor = 0; ///< of a device
    std::uint64_t inode = 0; ///< the same for all names of one file
    std::uint32_t links = 1; ///< names that the file has
    std::string target;      ///< of a symbolic link

    [[nodiscard]] bool is_directory() const;
    [[nodiscard]] bool is_regular() const;
    [[nodiscard]] bool is_link() const;
};

class FileNode;
using FilePointer = std::shared_ptr<const FileNode>;

/// One name of a file tree that is read in place: of a squashfs (images/squashfs/nodes.hpp) or of a
/// directory. What a node needs lives as long as the node. A damaged image is kInput from any call.
class FileNode {
public:
    using Sink = std::function<Result<void>(std::string_view bytes)>;

    FileNode(const FileNode&) = delete;
    FileNode& operator=(const FileNode&) = delete;
    virtual ~FileNode() = default;

    [[nodiscard]] const std::string& name() const {
        return name_;
    }
    [[nodiscard]] const FileStatus& status() const {
        return status_;
    }
    /// Of a directory: what is in it, ordered by the bytes of the names; else nothing.
    [[nodiscard]] virtual Result<std::vector<FilePointer>> children() const = 0;
    /// Of a directory: one of its names; null when it is not there.
    [[nodiscard]] virtual Result<FilePointer> child(std::string_view name) const = 0;
    /// The bytes of a regular file, piece by piece.
    [[nodiscard]] virtual Result<void> read(const Sink& sink) const = 0;
    /// Extended attributes, of a directory tree only those that a build keeps.
    [[nodiscard]] virtual Result<std::map<std::string, std::string>> attributes() const = 0;

protected:
    FileNode(std::string name, FileStatus status)
        : name_(std::move(name)), status_(std::move(status)) {}

private:
    std::string name_;
    FileStatus status_;
};

/// The root of a directory tree. Mount points in it are empty directories. kInput when there is no
/// directory.
[[nodiscard]] Result<FilePointer> open_directory(const std::string& path);

/// Follows a path from the root, links too, all inside the tree as a container sees it; null when
/// nothing is there. `path` with or without a leading slash.
[[nodiscard]] Result<FilePointer> find_file(const FilePointer& root, std::string_view path);

inline constexpr std::size_t kSmallFile = std::size_t{16} << 20U;

/// The bytes of a regular file; nothing when there is none. More than `limit` is kInput.
[[nodiscard]] Result<std::optional<std::string>>
read_file_at(const FilePointer& root, std::string_view path, std::size_t limit = kSmallFile);
[[nodiscard]] Result<std::string> read_node(const FileNode& node, std::size_t limit = kSmallFile);

/// Called for each name; whether to go into it, when it is a directory.
using FileVisitor = std::function<Result<bool>(const std::string& path, const FilePointer& node)>;

/// Every name below the root, a directory before what is in it, ordered by the bytes of the names;
/// paths begin with a slash. Links are not followed. Refuses (kInput) what would never end: a
/// directory that is found twice, or nested deeper than 512.
[[nodiscard]] Result<void> walk_files(const FilePointer& root, const FileVisitor& visitor);

} // namespace cybele::images
