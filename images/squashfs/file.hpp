// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <sqfs/inode.h>
#include <sqfs/io.h>
#include <sqfs/predef.h>

namespace cybele::images {

class RangeCopier;

/// Owns an object of libsquashfs.
struct SquashfsDestroy {
    void operator()(void* object) const {
        sqfs_destroy(object);
    }
};
template <class T>
using SquashfsHandle = std::unique_ptr<T, SquashfsDestroy>;

struct FreeInode {
    void operator()(sqfs_inode_generic_t* inode) const {
        sqfs_free(inode);
    }
};
using InodePointer = std::unique_ptr<sqfs_inode_generic_t, FreeInode>;

/// A range of a file, from an offset to its end, as libsquashfs sees a file. It keeps the size
/// itself: the library truncates back when it finds a duplicate, and what lies behind is written
/// over. Begins with the library's struct, which its functions are given a pointer to.
struct SquashfsFile {
    sqfs_file_t base{};
    int fd = -1;
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    int saved_errno = 0;           ///< of the first failed system call
    bool is_source_lost = false;   ///< the failed call read what is copied
    RangeCopier* copier = nullptr; ///< writes what copy_next says; its owner is another
    /// Bytes that stand for others: where these are written, those are copied instead.
    struct Stand {
        const void* bytes = nullptr;
        int fd = -1;
        std::uint64_t offset = 0;
    };
    Stand copy_next;

    /// `size`: the bytes that are there already, 0 for writing.
    SquashfsFile(int descriptor, std::uint64_t offset, std::uint64_t bytes);
    SquashfsFile(const SquashfsFile&) = delete;
    SquashfsFile& operator=(const SquashfsFile&) = delete;

    /// Waits until all that is copied is there. False: see saved_errno.
    [[nodiscard]] bool finish_copies();
    /// Zeros up to a multiple of `block`, and nothing behind. False: see saved_errno.
    [[nodiscard]] bool pad_and_cut(std::uint64_t block);
};

} // namespace cybele::images
