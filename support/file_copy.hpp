// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cybele::images {

/// Bytes of one open file and their place in another.
struct FileCopy {
    int from = -1;
    std::uint64_t offset = 0; ///< in `from`
    int to = -1;
    std::uint64_t place = 0; ///< in `to`
    std::uint64_t bytes = 0;
};

/// How a copy ended.
struct CopyEnd {
    int code = 0;           ///< errno; 0: all is there
    bool is_source = false; ///< whether reading failed, not writing

    [[nodiscard]] bool ok() const {
        return code == 0;
    }
};

/// Copies by the kernel where it does so by itself, else by hand. A source that is too short is
/// EIO.
[[nodiscard]] CopyEnd copy_bytes(const FileCopy& copy);

} // namespace cybele::images
