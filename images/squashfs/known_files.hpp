// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/container.hpp"
#include "images/contents/file_node.hpp"
#include "images/squashfs/ready_blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sqfs/compressor.h>
#include <sqfs/super.h>

namespace cybele::images {

/// A file of a layer, whose blocks are as this writer would write them.
struct KnownFile {
    std::vector<ReadyBlock> blocks; ///< the whole ones; size 0: zeros
    std::string tail;               ///< the bytes behind them
};

/// How the new image is packed: a layer's blocks can be taken where it was packed so too.
struct PackFormat {
    const sqfs_super_t* super = nullptr;
    std::string options; ///< the compressor's, as they lie behind the super block
    sqfs_compressor_t* compressor = nullptr;
    sqfs_compressor_t* decompressor = nullptr;
};

/// Which layer gives the content of a file that an overlay shows. It is the topmost one that has
/// the name: what an overlay shows comes from the first layer that has it, and a deleted or opaque
/// directory above would hide the name itself. Layers are walked beside the tree, a directory at a
/// time, so that little is kept. What cannot be read of a layer makes all files unknown.
class KnownFiles {
public:
    KnownFiles(std::vector<TreeLayer> layers, PackFormat format);

    /// `path` below the root, without a leading slash. Nothing where it is not certain, or the
    /// layer was packed otherwise; then the file is to be read.
    [[nodiscard]] std::optional<KnownFile>
    find(std::string_view path, std::uint64_t size, std::uint32_t mtime);

private:
    using Children = std::vector<FilePointer>; ///< ordered by name
    /// A directory of the tree and what it is in each layer.
    struct Level {
        std::string path;
        std::vector<FilePointer> directories; ///< by layer; null where it has none there
        std::vector<Children> children;       ///< by layer
        bool has_files = true;                ///< false: only the directories are left
    };
    struct Layer {
        TreeLayer place;
        bool is_alike = false;  ///< packed in the same format
        bool is_tested = false; ///< and by the same compressor
    };

    [[nodiscard]] bool open();
    [[nodiscard]] bool enter(std::string_view directory);
    [[nodiscard]] bool add_level(std::string path, std::vector<FilePointer> directories);
    [[nodiscard]] bool is_same_format(const TreeLayer& layer) const;
    [[nodiscard]] std::optional<KnownFile> judge(Layer& layer, const FilePointer& node);
    [[nodiscard]] bool judge_block(Layer& layer, const ReadyBlock& block);
    [[nodiscard]] bool compresses_alike(const ReadyBlock& block);

    std::vector<Layer> layers_;
    PackFormat format_;
    std::vector<Level> levels_; ///< from the root down
    bool is_off_ = false;
};

} // namespace cybele::images
