// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_hash.hpp"

#include <array>

namespace cybele::http {

Hash::Hash() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
        context_.reset(); // finish() then gives nothing, which no digest is equal to
    }
}

void Hash::update(std::string_view bytes) {
    if (context_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) {
        context_.reset();
    }
}

std::string Hash::finish() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    constexpr unsigned kLow = 0xf;
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (!context_ || EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1) {
        return {};
    }
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
        const unsigned byte = digest.at(i);
        text += kDigits[byte >> 4U];
        text += kDigits[byte & kLow];
    }
    return text;
}

} // namespace cybele::http
