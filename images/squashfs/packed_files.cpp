// SPDX-License-Identifier: Apache-2.0
#include "images/squashfs/packed_files.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <sqfs/block.h>
#include <unistd.h>

namespace cybele::images {
namespace {

/// How zstd begins what holds 128 KiB: its magic number, one segment, four bytes of length
/// (RFC 8878, 3.1.1). Only such blocks are taken, without being decompressed.
constexpr std::array<unsigned char, 9> kWholeBlock = {
    0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0x00, 0x00, 0x02, 0x00};

FilePointer find_name(const std::vector<FilePointer>& children, std::string_view name) {
    const auto found = std::lower_bound(
        children.begin(), children.end(), name, [](const FilePointer& one, std::string_view text) {
            return one->name() < text;
        });
    return found != children.end() && (*found)->name() == name ? *found : nullptr;
}

bool is_or_is_below(std::string_view path, std::string_view directory) {
    return directory.empty() || (path.starts_with(directory) && (path.size() == directory.size() ||
                                                                 path[directory.size()] == '/'));
}

bool read_exactly(int fd, std::uint64_t offset, void* into, std::size_t size) {
    return ::pread(fd, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

} // namespace

PackedFiles::PackedFiles(std::vector<TreeLayer> layers, PackFormat format, ReadyBlocks& ready)
    : format_(std::move(format)), ready_(ready),
      fragments_(*format_.decompressor, format_.super->block_size) {
    for (TreeLayer& layer : layers) {
        layers_.push_back({std::move(layer)});
        layers_.back().is_alike = open_format(layers_.back());
    }
    is_off_ =
        std::ranges::none_of(layers_, [](const Layer& layer) { return layer.is_alike; }) || !open();
}

/// Whether the layer's blocks can be taken; then its table of shared blocks is there too.
bool PackedFiles::open_format(Layer& layer) const {
    if (layer.place.fd < 0 || format_.super->compression_id != SQFS_COMP_ZSTD) {
        return false;
    }
    SquashfsFile file(layer.place.fd, 0, layer.place.size);
    sqfs_super_t super{};
    std::string options(format_.options.size(), '\0');
    layer.fragments.reset(sqfs_frag_table_create(0));
    return layer.fragments && sqfs_super_read(&super, &file.base) == 0 &&
           super.fragment_entry_count <= layer.place.size && // each takes a byte at least
           super.compression_id == format_.super->compression_id &&
           super.block_size == format_.super->block_size &&
           (super.flags & SQFS_FLAG_COMPRESSOR_OPTIONS) ==
               (format_.super->flags & SQFS_FLAG_COMPRESSOR_OPTIONS) &&
           read_exactly(layer.place.fd, sizeof super, options.data(), options.size()) &&
           options == format_.options &&
           sqfs_frag_table_read(layer.fragments.get(), &file.base, &super, format_.decompressor) ==
               0;
}

bool PackedFiles::open() {
    std::vector<FilePointer> roots;
    for (const Layer& layer : layers_) {
        auto root = layer.place.fd >= 0 ? open_squashfs(layer.place.fd, 0, layer.place.size)
                                        : open_directory(layer.place.folder.native());
        if (!root) {
            return false;
        }
        roots.push_back(std::move(*root));
    }
    return add_level("", std::move(roots));
}

bool PackedFiles::add_level(std::string path, std::vector<FilePointer> directories) {
    Level level{std::move(path), std::move(directories), {}};
    for (const FilePointer& directory : level.directories) {
        auto children = directory ? directory->children() : Children();
        if (!children) {
            return false;
        }
        level.children.push_back(std::move(*children));
    }
    levels_.push_back(std::move(level));
    return true;
}

/// Goes to a directory of the tree. False where a layer cannot be read.
bool PackedFiles::enter(std::string_view directory) {
    while (!is_or_is_below(directory, levels_.back().path)) {
        levels_.pop_back();
    }
    if (levels_.back().path == directory && !levels_.back().has_files) {
        Level again = std::move(levels_.back());
        levels_.pop_back();
        return add_level(std::move(again.path), std::move(again.directories));
    }
    while (levels_.back().path != directory) {
        Level& above = levels_.back();
        const std::size_t from = above.path.empty() ? 0 : above.path.size() + 1;
        const std::size_t end = std::min(directory.find('/', from), directory.size());
        std::vector<FilePointer> directories;
        for (Children& children : above.children) {
            std::erase_if(children,
                          [](const FilePointer& one) { return !one->status().is_directory(); });
            directories.push_back(find_name(children, directory.substr(from, end - from)));
        }
        above.has_files = false;
        if (!add_level(std::string(directory.substr(0, end)), std::move(directories))) {
            return false;
        }
    }
    return true;
}

std::optional<KnownFile>
PackedFiles::find(std::string_view path, std::uint64_t size, std::uint32_t mtime) {
    const std::size_t slash = path.rfind('/');
    const std::size_t end = slash == std::string_view::npos ? 0 : slash;
    is_off_ = is_off_ || !enter(path.substr(0, end));
    if (is_off_) {
        return std::nullopt;
    }
    const std::string_view name = path.substr(end == 0 ? 0 : end + 1);
    const Level& here = levels_.back();
    for (std::size_t i = layers_.size(); i-- > 0;) {
        const FilePointer node = find_name(here.children[i], name);
        if (!node) {
            continue;
        }
        const FileStatus& status = node->status();
        // Size and time agree; one that does not tells of a layer that is not what it seems.
        return layers_[i].is_alike && status.is_regular() && status.size == size &&
                       status.mtime == mtime
                   ? judge(layers_[i], node)
                   : std::nullopt;
    }
    return std::nullopt;
}

/// A file whose blocks lie where the inode says, without attributes: these are read from the file.
std::optional<KnownFile> PackedFiles::judge(Layer& layer, const FilePointer& node) {
    const auto attributes = node->attributes();
    const auto blocks = blocks_of(*node);
    if (!attributes || !attributes->empty() || !blocks) {
        return std::nullopt;
    }
    const std::uint64_t block_size = format_.super->block_size;
    const std::uint64_t whole = node->status().size / block_size;
    const std::size_t rest = node->status().size % block_size;
    if (blocks->sizes.size() < whole || blocks->sizes.size() > whole + (rest > 0 ? 1 : 0)) {
        return std::nullopt;
    }
    KnownFile known{{}, std::string(rest, '\0')};
    std::uint64_t at = blocks->start;
    for (const std::uint32_t size : blocks->sizes.first(whole)) {
        const ReadyBlock block{layer.place.fd, size, at};
        if (size != 0 && !judge_block(layer, block)) {
            return std::nullopt;
        }
        at += block.bytes();
        known.blocks.push_back(block);
    }
    if (rest > 0 && blocks->fragment == kNoFragment) { // zeros, which are not stored
        const auto got = read_squashfs(*node, whole * block_size, known.tail);
        return got && *got == rest ? std::optional(std::move(known)) : std::nullopt;
    }
    return rest == 0 || read_tail(layer, *blocks, known.tail) ? std::optional(std::move(known))
                                                              : std::nullopt;
}

bool PackedFiles::judge_block(Layer& layer, const ReadyBlock& block) {
    const std::uint32_t room = format_.super->block_size;
    if (block.bytes() > room || block.offset > layer.place.size ||
        block.bytes() > layer.place.size - block.offset) {
        return false;
    }
    if (block.bytes() != block.size) {
        return block.bytes() == room;
    }
    std::array<unsigned char, kWholeBlock.size()> begin{};
    if (block.size < begin.size() ||
        !read_exactly(block.fd, block.offset, begin.data(), begin.size()) || begin != kWholeBlock) {
        return false;
    }
    if (!std::exchange(layer.is_tested, true)) {
        std::vector<sqfs_u8> stored(block.size);
        std::vector<sqfs_u8> bytes(room);
        layer.is_alike = read_exactly(block.fd, block.offset, stored.data(), stored.size()) &&
                         format_.decompressor->do_block(
                             format_.decompressor, stored.data(), block.size, bytes.data(), room) ==
                             static_cast<sqfs_s32>(room) &&
                         compresses_alike(stored, bytes);
    }
    return layer.is_alike;
}

/// Whether the layer was packed by this very compressor: another version of it may be as right, but
/// gives other bytes than packing the tree anew.
bool PackedFiles::compresses_alike(std::span<const sqfs_u8> stored,
                                   std::span<const sqfs_u8> bytes) {
    std::vector<sqfs_u8> again(bytes.size());
    const auto room = static_cast<sqfs_u32>(bytes.size());
    const sqfs_s32 size =
        format_.compressor->do_block(format_.compressor, bytes.data(), room, again.data(), room);
    return size == static_cast<sqfs_s32>(stored.size()) &&
           std::equal(stored.begin(), stored.end(), again.begin());
}

bool PackedFiles::read_tail(Layer& layer, const SquashfsBlocks& blocks, std::string& tail) {
    if (layer.fragment != blocks.fragment && !hold_fragment(layer, blocks.fragment)) {
        return false;
    }
    const std::vector<sqfs_u8>& bytes = layer.held->bytes;
    if (blocks.fragment_offset > bytes.size() ||
        tail.size() > bytes.size() - blocks.fragment_offset) {
        return false;
    }
    std::memcpy(tail.data(), bytes.data() + blocks.fragment_offset, tail.size());
    return true;
}

/// The blocks of tails from `first` on that the layer has, at most kAhead behind it.
std::vector<ReadyBlock> PackedFiles::fragments_from(const Layer& layer, std::uint32_t first) {
    constexpr std::uint32_t kAhead = 3;
    std::vector<ReadyBlock> blocks;
    sqfs_fragment_t entry{};
    for (std::uint32_t i = first;
         i <= first + kAhead && sqfs_frag_table_lookup(layer.fragments.get(), i, &entry) == 0;
         ++i) {
        blocks.push_back({layer.place.fd, entry.size, entry.start_offset});
    }
    return blocks;
}

/// Decompresses a block of tails. Files that share one follow each other in the tree.
bool PackedFiles::hold_fragment(Layer& layer, std::uint32_t fragment) {
    const auto blocks = fragments_from(layer, fragment);
    auto held =
        blocks.empty() ? nullptr : fragments_.read(blocks.front(), std::span(blocks).subspan(1));
    if (!held) {
        return false;
    }
    if (blocks.front().bytes() == blocks.front().size) { // compressed
        // A small one would say little.
        if (held->bytes.size() >= format_.super->block_size / 2 &&
            !std::exchange(layer.is_tested, true)) {
            layer.is_alike = compresses_alike(held->stored, held->bytes);
        }
        if (layer.is_tested && layer.is_alike) {
            ready_.offer(held, blocks.front());
        }
    }
    layer.fragment = fragment;
    layer.held = std::move(held);
    return true;
}

} // namespace cybele::images
