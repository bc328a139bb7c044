// SPDX-License-Identifier: Apache-2.0
// The second half of packing: inodes, directories and tables, written when all content is in place.
#include "images/squashfs/writer.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <sqfs/error.h>
#include <sys/stat.h>

namespace cybele::images {
namespace {

constexpr std::string_view kWriteInodes = "write the inodes";

// The numbers of ext types are those of the basic ones plus 7.
std::uint16_t basic_type(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFBLK:
        return SQFS_INODE_BDEV;
    case S_IFCHR:
        return SQFS_INODE_CDEV;
    case S_IFIFO:
        return SQFS_INODE_FIFO;
    case S_IFSOCK:
        return SQFS_INODE_SOCKET;
    default:
        return SQFS_INODE_SLINK;
    }
}

} // namespace

// The children of a directory get numbers side by side, which keeps the directory table small;
// those of inner directories come first, the root last.
void SquashfsWriter::number_children(std::uint32_t directory, std::uint32_t& next) {
    const auto first = tree_.nodes[directory].first_child;
    const auto end = first + tree_.nodes[directory].child_count;
    for (auto child = first; child < end; ++child) {
        number_children(child, next);
    }
    for (auto child = first; child < end; ++child) {
        if (tree_.nodes[child].same_as == child) {
            places_[child].number = next++;
        }
    }
}

Result<void> SquashfsWriter::write_inode(std::uint32_t index, sqfs_inode_generic_t& inode) {
    const auto& node = tree_.nodes[index];
    auto& place = places_[index];
    const auto latest = options_.clamp_times ? std::max<std::int64_t>(*options_.clamp_times, 0)
                                             : std::int64_t{kNoIndex};
    inode.base.mode = node.mode & 07777U;
    inode.base.mod_time = static_cast<std::uint32_t>(std::min<std::int64_t>(node.mtime, latest));
    inode.base.inode_number = place.number;
    CYBELE_CHECK(check(sqfs_id_table_id_to_index(
                           ids_.get(), options_.all_root ? 0 : node.uid, &inode.base.uid_idx),
                       "write the owners"));
    CYBELE_CHECK(check(sqfs_id_table_id_to_index(
                           ids_.get(), options_.all_root ? 0 : node.gid, &inode.base.gid_idx),
                       "write the owners"));
    sqfs_u64 block = 0;
    sqfs_u32 offset = 0;
    sqfs_meta_writer_get_position(inode_writer_.get(), &block, &offset);
    place.reference = (block << 16U) | offset;
    place.is_written = true;
    return check(sqfs_meta_writer_write_inode(inode_writer_.get(), &inode), kWriteInodes);
}

Result<void> SquashfsWriter::write_content_inode(std::uint32_t index) {
    const auto& node = tree_.nodes[index];
    auto& inode = *contents_[node.content];
    if (node.links > 1 || node.xattrs != kNoIndex) {
        CYBELE_CHECK(check(sqfs_inode_make_extended(&inode), kWriteInodes));
        inode.data.file_ext.nlink = node.links;
        inode.data.file_ext.xattr_idx = node.xattrs;
    }
    return write_inode(index, inode);
}

Result<void> SquashfsWriter::write_link_inode(std::uint32_t index) {
    const auto& node = tree_.nodes[index];
    const auto* target = tree_.text(node.target);
    const auto size = std::strlen(target);
    const InodePointer inode(static_cast<sqfs_inode_generic_t*>(
        std::calloc(1, sizeof(sqfs_inode_generic_t) + size + 1)));
    CYBELE_CHECK(check(inode ? 0 : SQFS_ERROR_ALLOC, kWriteInodes));
    inode->base.type = SQFS_INODE_SLINK;
    inode->data.slink.nlink = node.links;
    inode->data.slink.target_size = static_cast<sqfs_u32>(size);
    std::memcpy(inode->extra, target, size + 1);
    return write_inode(index, *inode);
}

Result<void> SquashfsWriter::write_leaf(std::uint32_t index) {
    const auto& node = tree_.nodes[index];
    if (S_ISREG(node.mode)) {
        return write_content_inode(index);
    }
    if (S_ISLNK(node.mode)) {
        return write_link_inode(index);
    }
    sqfs_inode_generic_t inode{};
    inode.base.type = basic_type(node.mode);
    if (S_ISBLK(node.mode) || S_ISCHR(node.mode)) {
        inode.data.dev.nlink = node.links;
        inode.data.dev.devno = node.device;
    } else {
        inode.data.ipc.nlink = node.links;
    }
    return write_inode(index, inode);
}

Result<void> SquashfsWriter::write_entries(const TreeNode& directory) {
    CYBELE_CHECK(check(sqfs_dir_writer_begin(directories_.get(), 0), "write the directories"));
    for (std::uint32_t at = 0; at < directory.child_count; ++at) {
        const auto& child = tree_.nodes[directory.first_child + at];
        const auto& place = places_[child.same_as];
        CYBELE_CHECK(check(sqfs_dir_writer_add_entry(directories_.get(),
                                                     tree_.text(child.name),
                                                     place.number,
                                                     place.reference,
                                                     child.mode),
                           "write the directories"));
    }
    return check(sqfs_dir_writer_end(directories_.get()), "write the directories");
}

Result<void> SquashfsWriter::write_directory(std::uint32_t index, std::uint32_t parent_number) {
    const auto& node = tree_.nodes[index];
    std::uint32_t inner_directories = 0;
    const auto end = node.first_child + node.child_count;
    for (auto child = node.first_child; child < end; ++child) {
        if (S_ISDIR(tree_.nodes[child].mode)) {
            CYBELE_CHECK(write_directory(child, places_[index].number));
            ++inner_directories;
        }
    }
    for (auto child = node.first_child; child < end; ++child) {
        const auto inode =
            tree_.nodes[child].same_as; // its first name may lie in a later directory
        if (!S_ISDIR(tree_.nodes[child].mode) && !places_[inode].is_written) {
            CYBELE_CHECK(write_leaf(inode));
        }
    }
    CYBELE_CHECK(write_entries(node));
    const InodePointer inode(
        sqfs_dir_writer_create_inode(directories_.get(), 0, node.xattrs, parent_number));
    CYBELE_CHECK(check(inode ? 0 : SQFS_ERROR_ALLOC, kWriteInodes));
    const auto links = inner_directories + 2;
    if (inode->base.type == SQFS_INODE_DIR) {
        inode->data.dir.nlink = links;
    } else {
        inode->data.dir_ext.nlink = links;
    }
    return write_inode(index, *inode);
}

Result<void> SquashfsWriter::write_tables() {
    places_.resize(tree_.nodes.size());
    std::uint32_t next = 1;
    number_children(0, next);
    places_[0].number = next;
    super_.inode_count = next;
    super_.inode_table_start = file_.size;
    CYBELE_CHECK(write_directory(0, next + 1)); // the root's parent: a number that nobody has
    CYBELE_CHECK(check(sqfs_meta_writer_flush(inode_writer_.get()), kWriteInodes));
    super_.root_inode_ref = places_[0].reference;
    super_.directory_table_start = file_.size;
    CYBELE_CHECK(check(sqfs_meta_writer_flush(directory_blocks_.get()), "write the directories"));
    CYBELE_CHECK(
        check(sqfs_meta_write_write_to_file(directory_blocks_.get()), "write the directories"));
    CYBELE_CHECK(
        check(sqfs_frag_table_write(fragments_.get(), &file_.base, &super_, compressor_.get()),
              "write the fragment table"));
    CYBELE_CHECK(check(sqfs_id_table_write(ids_.get(), &file_.base, &super_, compressor_.get()),
                       "write the owners"));
    return check(sqfs_xattr_writer_flush(xattrs_.get(), &file_.base, &super_, compressor_.get()),
                 "write the extended attributes");
}

} // namespace cybele::images
