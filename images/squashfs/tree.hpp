// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace cybele::images {

inline constexpr std::uint32_t kNoIndex = 0xFFFFFFFF;

/// One name of a file tree. Small, since an image has a hundred thousand of them; texts lie in
/// Tree::texts.
struct TreeNode {
    std::uint32_t name = 0;   ///< place in texts
    std::uint32_t target = 0; ///< of a symbolic link: place in texts
    std::uint32_t first_child = 0;
    std::uint32_t child_count = 0;
    std::uint32_t same_as = 0; ///< the node itself, or the first name of the same inode
    std::uint32_t links = 1;   ///< names of the inode inside the tree; counted on the first
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::uint32_t mtime = 0; ///< Unix seconds
    std::uint32_t device = 0;
    std::uint32_t xattrs = kNoIndex;  ///< as on_xattrs said
    std::uint32_t content = kNoIndex; ///< as on_file said
    std::uint16_t mode = 0;           ///< with the type's bits
};

/// A file tree, the root first; the children of a directory lie side by side, sorted by their
/// bytes.
struct Tree {
    std::vector<TreeNode> nodes;
    std::string texts; ///< each ends with NUL

    [[nodiscard]] const char* text(std::uint32_t place) const {
        return texts.c_str() + place;
    }
};

using Xattrs = std::map<std::string, std::string>;

/// What is done with the content while the files are open; the results are kept in the node.
struct TreeVisitor {
    /// A regular file that need not be opened, where it gives something; `path` is below the root,
    /// without a leading slash. It has no kept attributes then.
    std::function<Result<std::optional<std::uint32_t>>(
        std::string_view path, std::uint64_t size, std::uint32_t mtime)>
        on_known_file;
    /// A regular file, open for reading; `path` is for messages.
    std::function<Result<std::uint32_t>(int fd, std::uint64_t size, const std::string& path)>
        on_file;
    /// The kept attributes of a file or directory; never empty.
    std::function<Result<std::uint32_t>(const Xattrs& xattrs)> on_xattrs;
    bool skip_devices = false; ///< but for whiteouts
    bool keep_opaque = false;  ///< as PackOptions
};

/// Reads a tree without following links and without leaving its file system: a mount point in it is
/// an empty directory (or file). Kept attributes: security.capability and user.*, not those of
/// overlays. The order depends
/// on names only. Directories nested deeper than 500 are refused.
[[nodiscard]] Result<Tree> read_tree(const std::filesystem::path& root, const TreeVisitor& visitor);

} // namespace cybele::images
