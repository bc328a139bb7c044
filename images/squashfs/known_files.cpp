// SPDX-License-Identifier: Apache-2.0
// Files whose blocks lie compressed in a layer: they are copied, and only their ends are packed.
#include "images/squashfs/writer.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sqfs/block.h>
#include <sqfs/error.h>
#include <sqfs/inode.h>

namespace cybele::images {

/// Before anything but the super block and the compressor's options is written.
Result<void> SquashfsWriter::use_layers() {
    PackFormat format{&super_, "", compressor_.get(), decompressor_.get()};
    format.options.resize(file_.size - sizeof super_);
    CYBELE_CHECK(
        check(file_.base.read_at(
                  &file_.base, sizeof super_, format.options.data(), format.options.size()),
              "read the compression's options"));
    ready_ = std::make_unique<ReadyBlocks>();
    packed_ = std::make_unique<PackedFiles>(options_.layers, std::move(format), *ready_);
    zeros_.resize(super_.block_size);
    copier_ = std::make_unique<RangeCopier>(file_.fd);
    file_.copier = copier_.get();
    block_compressor_ = ready_->wrap(*compressor_);
    blocks_ = ready_->wrap(std::move(blocks_), file_);
    return check(block_compressor_ && blocks_ ? 0 : SQFS_ERROR_ALLOC, "set up the compression");
}

/// A file whose blocks lie ready in a layer; nothing where none is sure to have it.
Result<std::optional<std::uint32_t>>
SquashfsWriter::add_known_file(std::string_view path, std::uint64_t size, std::uint32_t mtime) {
    const auto known = packed_->find(path, size, mtime);
    if (!known) {
        return std::optional<std::uint32_t>();
    }
    if (!known->blocks.empty()) {
        known_.emplace_back();
        CYBELE_CHECK(submit(*known, known_.back().start));
        for (const ReadyBlock& block : known->blocks) {
            known_.back().sizes.push_back(block.size);
        }
    }
    CYBELE_CHECK(begin_file());
    CYBELE_CHECK(append(known->tail));
    CYBELE_TRY(const std::uint32_t content, end_file());
    if (!known->blocks.empty()) {
        known_.back().content = content;
    }
    return std::optional(content);
}

/// Its whole blocks, and behind them an empty last one, as the library has it.
Result<void> SquashfsWriter::submit(const KnownFile& known, std::uint64_t& start) {
    constexpr std::uint32_t kAsItIs = SQFS_BLK_DONT_COMPRESS | SQFS_BLK_DONT_HASH;
    std::uint32_t flags = SQFS_BLK_FIRST_BLOCK;
    for (const ReadyBlock& block : known.blocks) {
        const auto bytes = block.size == 0 ? std::span<const char>(zeros_) : ready_->token(block);
        CYBELE_CHECK(
            check(sqfs_block_processor_submit_block(
                      processor_.get(), &start, flags | kAsItIs, bytes.data(), bytes.size()),
                  "write the files"));
        flags = 0;
        bytes_read_ += super_.block_size;
    }
    return check(sqfs_block_processor_submit_block(
                     processor_.get(), &start, SQFS_BLK_LAST_BLOCK | kAsItIs, zeros_.data(), 0),
                 "write the files");
}

/// Puts the blocks into the inodes that the library made of the ends alone.
Result<void> SquashfsWriter::complete_known_files() {
    constexpr std::string_view kWhat = "write the inodes";
    for (const Known& known : known_) {
        auto*& inode = contents_[known.content];
        // An end of zeros is a block without bytes, not a part of a shared one.
        std::vector<std::uint32_t> sizes = known.sizes;
        sizes.resize(sizes.size() + inode->payload_bytes_used / sizeof(std::uint32_t));
        const std::size_t bytes = sizes.size() * sizeof(std::uint32_t);
        auto* more = static_cast<sqfs_inode_generic_t*>(
            std::realloc(inode, sizeof(sqfs_inode_generic_t) + bytes));
        CYBELE_CHECK(check(more != nullptr ? 0 : SQFS_ERROR_ALLOC, kWhat));
        inode = more;
        std::memcpy(inode->extra, sizes.data(), bytes);
        inode->payload_bytes_available = static_cast<std::uint32_t>(bytes);
        inode->payload_bytes_used = static_cast<std::uint32_t>(bytes);
        const auto holes = static_cast<std::uint64_t>(
            std::count(known.sizes.begin(), known.sizes.end(), std::uint32_t{0}));
        if (holes > 0) {
            CYBELE_CHECK(check(sqfs_inode_make_extended(inode), kWhat));
            inode->data.file_ext.sparse += holes * super_.block_size;
        }
        sqfs_u64 size = 0;
        CYBELE_CHECK(check(sqfs_inode_get_file_size(inode, &size), kWhat));
        size += known.sizes.size() * std::uint64_t{super_.block_size};
        CYBELE_CHECK(check(sqfs_inode_set_file_size(inode, size), kWhat));
        CYBELE_CHECK(check(sqfs_inode_set_file_block_start(inode, known.start), kWhat));
    }
    return {};
}

} // namespace cybele::images
