// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

/// Digests of what a SIF signature covers, in the reference's words: "sha256:<hex>".
namespace cybele::images {

inline constexpr std::string_view kWrittenAlgorithm = "sha256";

/// The word before the colon, if a reader knows it (sha224, sha256, sha384, sha512, sha512_224,
/// sha512_256); else empty.
[[nodiscard]] std::string_view algorithm_of(std::string_view digest);

/// Of bytes in memory, by a known algorithm.
[[nodiscard]] std::string digest_of(std::string_view algorithm, std::string_view bytes);

/// The 61 bytes of the header that a signature covers: launch script, magic, version and id.
[[nodiscard]] std::string covered_bytes(const Header& header);
/// The 557 bytes of a descriptor that a signature covers; neither its group nor its place in the
/// file are among them. `relative_id` counts from the smallest id of the group.
[[nodiscard]] std::string covered_bytes(const Descriptor& descriptor, std::uint32_t relative_id);

/// Digests of objects' bytes, each read from the file once, however many signatures ask.
class ObjectDigests {
public:
    explicit ObjectDigests(const Image& image) : image_(image) {}

    [[nodiscard]] Result<std::string> of(const Descriptor& descriptor, std::string_view algorithm);

    /// Bytes read so far.
    [[nodiscard]] std::uint64_t bytes_read() const {
        return bytes_read_;
    }

private:
    const Image& image_;
    std::map<std::pair<std::uint32_t, std::string>, std::string> known_;
    std::uint64_t bytes_read_ = 0;
};

} // namespace cybele::images
