// SPDX-License-Identifier: Apache-2.0
#include "support/digest.hpp"

#include "support/file.hpp"
#include "support/pieces.hpp"

#include <cstdlib>

#include <openssl/evp.h>

namespace cybele {

namespace {

/// SHA-256 fails only without memory; a digest that was not made must never be taken for one.
void require_digest_step(int result) {
    if (result != 1) {
        std::abort();
    }
}

} // namespace

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    State() {
        require_digest_step(context == nullptr ? 0
                                               : EVP_DigestInit_ex(context, EVP_sha256(), nullptr));
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
        EVP_MD_CTX_free(context);
    }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
    require_digest_step(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
}

void Sha256::update(std::span<const std::byte> bytes) {
    require_digest_step(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
}

Digest Sha256::finish() {
    Digest digest{};
    unsigned int length = 0;
    require_digest_step(EVP_DigestFinal_ex(state_->context, digest.data(), &length));
    return digest;
}

Digest sha256(std::string_view bytes) {
    // libcrypto's first digest costs five million instructions of setting up, more than rendering a
    // Recipe does; for short texts libsodium's plain code is done long before.
    constexpr std::size_t kShort = std::size_t{64} << 10U;
    if (bytes.size() <= kShort) {
        return plain_sha256(bytes);
    }
    Sha256 hash;
    hash.update(bytes);
    return hash.finish();
}

Result<Digest>
sha256_range(int fd, std::uint64_t offset, std::uint64_t size, const std::filesystem::path& path) {
    Sha256 hash;
    CYBELE_CHECK(read_pieces({fd, offset, size}, path, [&](auto piece) { hash.update(piece); }));
    return hash.finish();
}

Result<Digest> sha256_file(const std::filesystem::path& path) {
    CYBELE_TRY(const UniqueFd fd, open_for_reading(path));
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), path));
    return sha256_range(fd.get(), 0, size, path);
}

} // namespace cybele
