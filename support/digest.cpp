// SPDX-License-Identifier: Apache-2.0
#include "support/digest.hpp"

#include "support/file.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <openssl/evp.h>
#include <sodium/crypto_hash_sha256.h>
#include <sys/random.h>

namespace cybele {

namespace {

/// SHA-256 fails only without memory; a digest that was not made must never be taken for one.
void must(int result) {
    if (result != 1) {
        std::abort();
    }
}

} // namespace

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    State() {
        must(context == nullptr ? 0 : EVP_DigestInit_ex(context, EVP_sha256(), nullptr));
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
    must(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
}

void Sha256::update(std::span<const std::byte> bytes) {
    must(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
}

Digest Sha256::finish() {
    Digest digest{};
    unsigned int length = 0;
    must(EVP_DigestFinal_ex(state_->context, digest.data(), &length));
    return digest;
}

Digest sha256(std::string_view bytes) {
    // libcrypto's first digest costs five million instructions of setting up, more than rendering a
    // Recipe does; for short texts libsodium's plain code is done long before.
    constexpr std::size_t kShort = std::size_t{64} << 10U;
    if (bytes.size() <= kShort) {
        Digest digest{};
        must(1 + crypto_hash_sha256(digest.data(),
                                    reinterpret_cast<const unsigned char*>(bytes.data()),
                                    bytes.size()));
        return digest;
    }
    Sha256 hash;
    hash.update(bytes);
    return hash.finish();
}

Result<Digest>
sha256_range(int fd, std::uint64_t offset, std::uint64_t size, const std::filesystem::path& path) {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(kPiece, size)));
    Sha256 hash;
    while (size > 0) {
        const auto count = static_cast<std::size_t>(std::min(kPiece, size));
        const std::span<std::byte> piece(buffer.data(), count);
        CYBELE_CHECK(read_at(fd, offset, piece, path));
        hash.update(std::span<const std::byte>(piece));
        offset += count;
        size -= count;
    }
    return hash.finish();
}

Result<Digest> sha256_file(const std::filesystem::path& path) {
    CYBELE_TRY(const UniqueFd fd, open_for_reading(path));
    CYBELE_TRY(const std::uint64_t size, file_size(fd.get(), path));
    return sha256_range(fd.get(), 0, size, path);
}

std::string hex(std::span<const std::uint8_t> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const std::uint8_t byte : bytes) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// 0…63, or -1.
int base64_value(char c) {
    if (c == '-') {
        return 62;
    }
    if (c == '_') {
        return 63;
    }
    const std::size_t at = kBase64.find(c);
    return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

} // namespace

std::string base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            group = group << 8U | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            text += j <= count ? kBase64[group >> (18U - 6U * j) & 63U] : '=';
        }
    }
    return text;
}

Result<std::string> base64_decode(std::string_view text) {
    while (!text.empty() && text.back() == '=') {
        text.remove_suffix(1);
    }
    std::string bytes;
    std::uint32_t bits = 0;
    unsigned int held = 0;
    for (const char c : text) {
        const int value = base64_value(c);
        if (value < 0) {
            return fail(ErrorCode::kInput, "not base64", "a character is outside its alphabet");
        }
        bits = bits << 6U | static_cast<std::uint32_t>(value);
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes += static_cast<char>(bits >> held & 255U);
        }
    }
    if (held >= 6) {
        return fail(ErrorCode::kInput, "not base64", "the text is cut off");
    }
    return bytes;
}

std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t done = 0;
    while (done < count) {
        const ssize_t got = ::getrandom(bytes.data() + done, count - done, 0);
        if (got > 0) {
            done += static_cast<std::size_t>(got);
        }
    }
    return bytes;
}

std::string random_uuid() {
    std::string bytes = random_bytes(16);
    bytes[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0fU) | 0x40U);
    bytes[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3fU) | 0x80U);
    std::array<std::uint8_t, 16> raw{};
    std::copy(bytes.begin(), bytes.end(), raw.begin());
    std::string text = hex(raw);
    for (const std::size_t at : {20U, 16U, 12U, 8U}) {
        text.insert(at, "-");
    }
    return text;
}

} // namespace cybele
