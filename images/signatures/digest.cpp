// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/digest.hpp"

#include "images/keys/openssl.hpp"
#include "images/sif/format.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

namespace cybele::images {

namespace {

struct DigestAlgorithm {
    std::string_view name;
    const EVP_MD* (*hash)();
};

constexpr DigestAlgorithm kDigestAlgorithms[] = {
    {"sha224", EVP_sha224},
    {"sha256", EVP_sha256},
    {"sha384", EVP_sha384},
    {"sha512", EVP_sha512},
    {"sha512_224", EVP_sha512_224},
    {"sha512_256", EVP_sha512_256},
};

const DigestAlgorithm* find(std::string_view name) {
    return find_row(kDigestAlgorithms, name, &DigestAlgorithm::name);
}

/// Hashes piece by piece. Nothing of it fails but without memory; that is told, never passed over.
class Hash {
public:
    explicit Hash(std::string_view algorithm)
        : algorithm_(find(algorithm)), context_(EVP_MD_CTX_new()) {
        is_good_ = algorithm_ != nullptr && context_ != nullptr &&
                   EVP_DigestInit_ex(context_.get(), algorithm_->hash(), nullptr) == 1;
    }
    void update(std::string_view bytes) {
        is_good_ = is_good_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
    }
    Result<std::string> finish() {
        std::array<std::uint8_t, EVP_MAX_MD_SIZE> bytes{};
        unsigned int length = 0;
        if (!is_good_ || EVP_DigestFinal_ex(context_.get(), bytes.data(), &length) != 1) {
            return openssl::refused("cannot make a digest");
        }
        return fmt::format(
            "{}:{}", algorithm_->name, hex(std::span<const std::uint8_t>(bytes).first(length)));
    }

private:
    const DigestAlgorithm* algorithm_;
    openssl::Owned<EVP_MD_CTX> context_;
    bool is_good_ = false;
};

} // namespace

std::string_view algorithm_of(std::string_view digest) {
    const DigestAlgorithm* const found = find(digest.substr(0, digest.find(':')));
    return found == nullptr ? std::string_view() : found->name;
}

Result<std::string> digest_of(std::string_view algorithm, std::string_view bytes) {
    Hash hash(algorithm);
    hash.update(bytes);
    return hash.finish();
}

std::string covered_bytes(const Header& header) {
    std::string bytes;
    append_padded(bytes, header.launch_script, kLaunchScriptSize);
    bytes += kSifMagic;
    bytes += kSifVersion;
    for (const std::uint8_t byte : header.id) {
        bytes += static_cast<char>(byte);
    }
    return bytes;
}

std::string covered_bytes(const Descriptor& descriptor, std::uint32_t relative_id) {
    std::string bytes;
    append_little_endian(bytes, static_cast<std::uint32_t>(descriptor.type));
    bytes += '\1';
    append_little_endian(bytes, relative_id);
    append_little_endian(bytes, descriptor.link);
    append_little_endian(bytes, descriptor.size);
    append_little_endian(bytes, static_cast<std::uint64_t>(descriptor.created));
    append_little_endian(bytes, static_cast<std::uint64_t>(descriptor.uid));
    append_little_endian(bytes, static_cast<std::uint64_t>(descriptor.gid));
    append_padded(bytes, descriptor.name, kNameSize);
    for (const std::uint8_t byte : descriptor.extra) {
        bytes += static_cast<char>(byte);
    }
    return bytes;
}

void ObjectDigests::expect(const Descriptor& descriptor, std::string_view algorithm) {
    known_.try_emplace({descriptor.id, std::string(algorithm)});
    expected_[descriptor.id] = descriptor.size;
}

Result<std::string> ObjectDigests::of(const Descriptor& descriptor, std::string_view algorithm) {
    expect(descriptor, algorithm);
    const std::string& digest = known_.at({descriptor.id, std::string(algorithm)});
    if (digest.empty()) {
        CYBELE_CHECK(read(descriptor));
    }
    return digest;
}

Result<void> ObjectDigests::read(const Descriptor& descriptor) {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 16U; // larger ones leave the caches
    std::vector<std::pair<std::string*, Hash>> hashes;
    for (auto& [key, digest] : known_) {
        if (key.first == descriptor.id && digest.empty()) {
            hashes.emplace_back(&digest, Hash(key.second));
        }
    }
    std::uint64_t total = 0;
    for (const auto& [id, size] : expected_) {
        total += size;
    }
    std::vector<char> buffer(static_cast<std::size_t>(std::min(kPiece, descriptor.size)));
    for (std::uint64_t done = 0; done < descriptor.size;) {
        const std::uint64_t count = std::min(kPiece, descriptor.size - done);
        const std::span<char> piece(buffer.data(), static_cast<std::size_t>(count));
        CYBELE_CHECK(read_at(
            image_.fd(), descriptor.offset + done, std::as_writable_bytes(piece), image_.path()));
        for (auto& [digest, hash] : hashes) {
            hash.update({piece.data(), piece.size()});
        }
        done += count;
        bytes_read_ += count;
        if (progress_) {
            progress_(bytes_read_, total);
        }
    }
    for (auto& [digest, hash] : hashes) {
        CYBELE_TRY(*digest, hash.finish());
    }
    return {};
}

} // namespace cybele::images
