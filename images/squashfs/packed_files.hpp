// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file_node.hpp"
#include "images/squashfs/fragment_reader.hpp"
#include "images/squashfs/nodes.hpp"
#include "images/squashfs/ready_blocks.hpp"
#include "images/squashfs/squashfs.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sqfs/compressor.h>
#include <sqfs/frag_table.h>
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
class PackedFiles {
public:
    /// Offers to `ready` the blocks of tails as it comes by.
    PackedFiles(std::vector<TreeLayer> layers, PackFormat format, ReadyBlocks& ready);

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
        SquashfsHandle<sqfs_frag_table_t> fragments{};
        std::uint32_t fragment = kNoFragment; ///< the one that is held:
        FragmentPointer held{};
    };

    [[nodiscard]] bool open();
    [[nodiscard]] bool enter(std::string_view directory);
    [[nodiscard]] bool add_level(std::string path, std::vector<FilePointer> directories);
    [[nodiscard]] bool open_format(Layer& layer) const;
    [[nodiscard]] std::optional<KnownFile> judge(Layer& layer, const FilePointer& node);
    [[nodiscard]] bool judge_block(Layer& layer, const ReadyBlock& block);
    [[nodiscard]] bool read_tail(Layer& layer, const SquashfsBlocks& blocks, std::string& tail);
    [[nodiscard]] static std::vector<ReadyBlock> fragments_from(const Layer& layer,
                                                                std::uint32_t first);
    [[nodiscard]] bool hold_fragment(Layer& layer, std::uint32_t fragment);
    [[nodiscard]] bool compresses_alike(std::span<const sqfs_u8> stored,
                                        std::span<const sqfs_u8> bytes);

    std::vector<Layer> layers_;
    PackFormat format_;
    ReadyBlocks& ready_;
    FragmentReader fragments_;
    std::vector<Level> levels_; ///< from the root down
    bool is_off_ = false;
};

} // namespace cybele::images
