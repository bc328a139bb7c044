// SPDX-License-Identifier: Apache-2.0
#include "support/pieces.hpp"

#include "support/file.hpp"

#include <algorithm>
#include <vector>

namespace cybele {

Result<void> read_pieces(const OpenFileRange& range,
                         const std::filesystem::path& path,
                         const std::function<void(std::span<const std::byte>)>& take) {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(kPiece, range.size)));
    for (std::uint64_t done = 0; done < range.size;) {
        const auto count = static_cast<std::size_t>(std::min(kPiece, range.size - done));
        const std::span<std::byte> piece(buffer.data(), count);
        CYBELE_CHECK(read_at(range.fd, range.offset + done, piece, path));
        take(piece);
        done += count;
    }
    return {};
}

} // namespace cybele
