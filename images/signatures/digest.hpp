// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

/// Digests of what a SIF signature covers, in Apptainer's words: "sha256:<hex>".
namespace cybele::images {

inline constexpr std::string_view kWrittenAlgorithm = "sha256";

/// The word before the colon, if a reader knows it (sha224, sha256, sha384, sha512, sha512_224,
/// sha512_256); else empty.
[[nodiscard]] std::string_view algorithm_of(std::string_view digest);

/// Of bytes in memory; kInternal for an algorithm that is not known.
[[nodiscard]] Result<std::string> digest_of(std::string_view algorithm, std::string_view bytes);

/// The 61 bytes of the header that a signature covers: launch script, magic, version and id.
[[nodiscard]] std::string covered_bytes(const Header& header);
/// The 557 bytes of a descriptor that a signature covers; neither its group nor its place in the
/// file are among them. `relative_id` counts from the smallest id of the group.
[[nodiscard]] std::string covered_bytes(const Descriptor& descriptor, std::uint32_t relative_id);

/// Digests of objects' bytes, each read from the file once, however many signatures ask, and in
/// pieces: memory does not grow with the image.
class ObjectDigests {
public:
    /// Told of bytes that were hashed, and of all that are expected.
    using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

    explicit ObjectDigests(const Image& image, Progress progress = {})
        : image_(image), progress_(std::move(progress)) {}

    /// Says what of() will be asked for, so that one reading serves several algorithms.
    void expect(const Descriptor& descriptor, std::string_view algorithm);
    [[nodiscard]] Result<std::string> of(const Descriptor& descriptor, std::string_view algorithm);

    /// Bytes read so far.
    [[nodiscard]] std::uint64_t bytes_read() const {
        return bytes_read_;
    }

private:
    [[nodiscard]] Result<void> read(const Descriptor& descriptor);

    const Image& image_;
    Progress progress_;
    /// By object and algorithm; empty: expected, but not made yet.
    std::map<std::pair<std::uint32_t, std::string>, std::string> known_;
    std::map<std::uint32_t, std::uint64_t> expected_; ///< sizes by object
    std::uint64_t bytes_read_ = 0;
};

} // namespace cybele::images
