// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/digest.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace cybele {

/// BLAKE2b with 32 bytes (RFC 7693; libsodium), for names in caches of our own, which no other
/// program reads. It needs nothing of libcrypto, so that what starts containers can do without its
/// tables, and is about as fast as SHA-256 is with a processor's help.
[[nodiscard]] Digest blake2(std::string_view bytes);
/// Of `size` bytes at `offset`, read in pieces of 1 MiB.
[[nodiscard]] Result<Digest>
blake2_range(int fd, std::uint64_t offset, std::uint64_t size, const std::filesystem::path& path);

} // namespace cybele
