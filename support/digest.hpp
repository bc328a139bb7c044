// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cybele {

using Digest = std::array<std::uint8_t, 32>;

/// SHA-256 piece by piece (libcrypto, SHA-NI where the processor has it).
class Sha256 {
public:
    Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    ~Sha256();
    void update(std::string_view bytes);
    void update(std::span<const std::byte> bytes);
    /// The digest; the object is not used again after it.
    [[nodiscard]] Digest finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

[[nodiscard]] Digest sha256(std::string_view bytes);
/// The same by libsodium's plain code, at a seventh of the speed: where the tables of libcrypto are
/// not to be linked in (cli/start/README.md).
[[nodiscard]] Digest plain_sha256(std::string_view bytes);
/// Of `size` bytes at `offset`, read in pieces of 1 MiB.
[[nodiscard]] Result<Digest>
sha256_range(int fd, std::uint64_t offset, std::uint64_t size, const std::filesystem::path& path);
[[nodiscard]] Result<Digest> sha256_file(const std::filesystem::path& path);

} // namespace cybele
