// SPDX-License-Identifier: Apache-2.0
#include "support/blake2.hpp"

#include "support/pieces.hpp"

#include <cstddef>
#include <cstdlib>
#include <span>

#include <sodium/core.h>
#include <sodium/crypto_generichash.h>

namespace cybele {
namespace {

/// It fails for wrong lengths only; a digest that was not made must never be taken for one.
void require_hash_step(int result) {
    if (result < 0) {
        std::abort();
    }
}

class Blake2 {
public:
    Blake2() {
        require_hash_step(sodium_init()); // which finds the fastest code for this processor
        require_hash_step(crypto_generichash_init(&state_, nullptr, 0, std::tuple_size_v<Digest>));
    }
    void update(const void* bytes, std::size_t size) {
        require_hash_step(
            crypto_generichash_update(&state_, static_cast<const unsigned char*>(bytes), size));
    }
    [[nodiscard]] Digest finish() {
        Digest digest{};
        require_hash_step(crypto_generichash_final(&state_, digest.data(), digest.size()));
        return digest;
    }

private:
    crypto_generichash_state state_ = {};
};

} // namespace

Digest blake2(std::string_view bytes) {
    Blake2 hash;
    hash.update(bytes.data(), bytes.size());
    return hash.finish();
}

Result<Digest>
blake2_range(int fd, std::uint64_t offset, std::uint64_t size, const std::filesystem::path& path) {
    Blake2 hash;
    CYBELE_CHECK(read_pieces({fd, offset, size}, path, [&](std::span<const std::byte> piece) {
        hash.update(piece.data(), piece.size());
    }));
    return hash.finish();
}

} // namespace cybele
