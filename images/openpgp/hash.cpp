// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/material.hpp"
#include "images/openpgp/numbers.hpp"
#include "support/find.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace {

struct HashRow {
    HashAlgorithm hash;
    std::string_view name;
    const EVP_MD* (*get)();
    bool is_strong;
};
constexpr HashRow kHashRows[] = {
    {HashAlgorithm::kSha256, "SHA256", EVP_sha256, true},
    {HashAlgorithm::kSha384, "SHA384", EVP_sha384, true},
    {HashAlgorithm::kSha512, "SHA512", EVP_sha512, true},
    {HashAlgorithm::kSha224, "SHA224", EVP_sha224, true},
    // In self-signatures of old keys and for passphrases alone.
    {HashAlgorithm::kSha1, "SHA1", EVP_sha1, false},
    {HashAlgorithm::kMd5, "MD5", nullptr, false},
    {HashAlgorithm::kRipemd160, "RIPEMD160", nullptr, false},
};

const HashRow* find(HashAlgorithm hash) {
    return find_row(kHashRows, hash, &HashRow::hash);
}

} // namespace

std::string hash_name(HashAlgorithm hash) {
    const HashRow* const row = find(hash);
    return row != nullptr ? std::string(row->name)
                          : fmt::format("number {}", static_cast<unsigned>(hash));
}

const evp_md_st* hash_of(HashAlgorithm hash) {
    const HashRow* const row = find(hash);
    return row != nullptr && row->get != nullptr ? row->get() : nullptr;
}

bool is_strong(HashAlgorithm hash) {
    const HashRow* const row = find(hash);
    return row != nullptr && row->is_strong;
}

std::string digest_of(HashAlgorithm hash, std::string_view bytes) {
    const EVP_MD* const type = hash_of(hash);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (type == nullptr ||
        EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, type, nullptr) != 1) {
        return {};
    }
    return {digest.begin(), digest.begin() + size};
}

} // namespace cybele::images::openpgp
