// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs_file.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sqfs/compressor.h>
#include <sqfs/data_reader.h>
#include <sqfs/dir_reader.h>
#include <sqfs/inode.h>
#include <sqfs/super.h>

namespace cybele::images {

struct FreeInode {
    void operator()(sqfs_inode_generic_t* inode) const {
        sqfs_free(inode);
    }
};
using InodePointer = std::unique_ptr<sqfs_inode_generic_t, FreeInode>;

/// Reads single files of a squashfs, without mounting it. Links are not followed. Paths are
/// relative to the root.
class SquashfsReader {
public:
    /// kInput for what is no squashfs, is damaged, or is compressed in a way that this program
    /// lacks.
    [[nodiscard]] static Result<std::unique_ptr<SquashfsReader>>
    open(int fd, std::uint64_t offset, std::uint64_t size);

    /// The regular file's bytes; nothing when there is none. Bigger than 16 MiB is kInput.
    [[nodiscard]] Result<std::optional<std::string>> read(std::string_view path) const;
    /// Names in a directory, sorted; none when there is no directory.
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const;

private:
    SquashfsReader(int fd, std::uint64_t offset, std::uint64_t size) : file_(fd, offset, size) {}
    [[nodiscard]] Result<void> start();
    [[nodiscard]] Result<InodePointer> find(std::string_view path) const; ///< null: not there

    SquashfsFile file_;
    sqfs_super_t super_{};
    SquashfsHandle<sqfs_compressor_t> compressor_;
    SquashfsHandle<sqfs_dir_reader_t> directories_;
    SquashfsHandle<sqfs_data_reader_t> data_;
};

} // namespace cybele::images
