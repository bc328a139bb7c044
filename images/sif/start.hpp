// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cybele::images {

/// What a file says of itself in its first bytes; nothing of it is judged yet.
struct ImageStart {
    enum class Kind {
        kOther,
        kSif,     ///< the magic word behind the launch script
        kSquashfs ///< from `offset` on, without a container
    };
    Kind kind = Kind::kOther;
    std::uint64_t offset = 0; ///< behind the line by which Singularity 2 starts an image, or 0

    [[nodiscard]] bool is_squashfs() const {
        return kind == Kind::kSquashfs;
    }
};

/// So many bytes decide: Apptainer 1.4.5 looks for the squashfs behind a first line in these
/// (pkg/image, its buffer).
inline constexpr std::size_t kStartSize = 2048;

[[nodiscard]] ImageStart image_start(std::string_view first);
/// The same of an open file; kOther where it cannot be read: whoever goes on says why.
[[nodiscard]] ImageStart image_start(int fd);

} // namespace cybele::images
