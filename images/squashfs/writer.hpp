// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file.hpp"
#include "images/squashfs/packed_files.hpp"
#include "images/squashfs/range_copier.hpp"
#include "images/squashfs/ready_blocks.hpp"
#include "images/squashfs/squashfs.hpp"
#include "images/squashfs/tree.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sqfs/block_processor.h>
#include <sqfs/block_writer.h>
#include <sqfs/compressor.h>
#include <sqfs/dir_writer.h>
#include <sqfs/frag_table.h>
#include <sqfs/id_table.h>
#include <sqfs/inode.h>
#include <sqfs/meta_writer.h>
#include <sqfs/super.h>
#include <sqfs/xattr_writer.h>

namespace cybele::images {

/// The objects of libsquashfs that make one image; each step is called once, in this order. The
/// bytes of files stream through; inodes are kept until the end.
class SquashfsWriter {
public:
    SquashfsWriter(int fd, std::uint64_t offset, const PackOptions& options);
    ~SquashfsWriter();
    SquashfsWriter(const SquashfsWriter&) = delete;
    SquashfsWriter& operator=(const SquashfsWriter&) = delete;

    [[nodiscard]] Result<void> start();
    /// Compresses the content of every file while the tree is read.
    [[nodiscard]] Result<void> add_tree(const std::filesystem::path& root);
    /// Inodes, directories and tables; gives the size.
    [[nodiscard]] Result<std::uint64_t> finish();

private:
    struct Place {
        std::uint32_t number = 0;
        std::uint64_t reference = 0; ///< where the inode lies; meaningful once it is written
        bool is_written = false;
    };

    /// A file whose blocks came ready: the library knows of its end only.
    struct Known {
        std::uint32_t content = 0;
        std::uint64_t start = 0; ///< of its blocks; the writer tells it when they are written
        std::vector<std::uint32_t> sizes;
    };

    [[nodiscard]] Result<void> check(int code, std::string_view what) const;
    [[nodiscard]] Result<void> create_compressors();
    [[nodiscard]] Result<void> create_processor();
    [[nodiscard]] Result<void> use_layers();
    [[nodiscard]] Result<std::optional<std::uint32_t>>
    add_known_file(std::string_view path, std::uint64_t size, std::uint32_t mtime);
    [[nodiscard]] Result<void> begin_file();
    [[nodiscard]] Result<void> append(std::span<const char> bytes);
    [[nodiscard]] Result<std::uint32_t> end_file();
    [[nodiscard]] Result<std::uint32_t>
    add_file(int fd, std::uint64_t size, const std::string& path);
    [[nodiscard]] Result<std::uint32_t> add_xattrs(const Xattrs& xattrs);
    [[nodiscard]] Result<void> submit(const KnownFile& known, std::uint64_t& start);
    [[nodiscard]] Result<void> complete_known_files();
    void number_children(std::uint32_t directory, std::uint32_t& next);
    [[nodiscard]] Result<void> write_directory(std::uint32_t index, std::uint32_t parent_number);
    [[nodiscard]] Result<void> write_entries(const TreeNode& directory);
    [[nodiscard]] Result<void> write_leaf(std::uint32_t index);
    [[nodiscard]] Result<void> write_content_inode(std::uint32_t index);
    [[nodiscard]] Result<void> write_link_inode(std::uint32_t index);
    [[nodiscard]] Result<void> write_inode(std::uint32_t index, sqfs_inode_generic_t& inode);
    [[nodiscard]] Result<void> write_tables();

    PackOptions options_;
    SquashfsFile file_;
    Tree tree_;
    std::vector<Place> places_;                  ///< by node
    std::deque<sqfs_inode_generic_t*> contents_; ///< stable addresses: the library keeps them
    std::vector<char> buffer_;
    std::uint64_t bytes_read_ = 0;
    std::unique_ptr<ReadyBlocks> ready_;  ///< outlives what it wraps
    std::unique_ptr<PackedFiles> packed_; ///< where the tree is shown by layers
    std::vector<char> zeros_;             ///< a block of them
    std::deque<Known> known_;             ///< stable addresses, as contents_
    std::unique_ptr<RangeCopier> copier_; ///< of what is packed already

    sqfs_super_t super_{};
    SquashfsHandle<sqfs_compressor_t> compressor_;
    SquashfsHandle<sqfs_compressor_t> decompressor_;     ///< to compare duplicates
    SquashfsHandle<sqfs_compressor_t> block_compressor_; ///< of files; else compressor_
    SquashfsHandle<sqfs_id_table_t> ids_;
    SquashfsHandle<sqfs_xattr_writer_t> xattrs_;
    SquashfsHandle<sqfs_frag_table_t> fragments_;
    SquashfsHandle<sqfs_block_writer_t> blocks_;
    SquashfsHandle<sqfs_block_processor_t> processor_;
    SquashfsHandle<sqfs_meta_writer_t> inode_writer_;
    SquashfsHandle<sqfs_meta_writer_t> directory_blocks_;
    SquashfsHandle<sqfs_dir_writer_t> directories_;
};

} // namespace cybele::images
