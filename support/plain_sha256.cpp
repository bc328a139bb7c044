// SPDX-License-Identifier: Apache-2.0
#include "support/digest.hpp"

#include <cstdlib>

#include <sodium/crypto_hash_sha256.h>

namespace cybele {

Digest plain_sha256(std::string_view bytes) {
    Digest digest{};
    const auto* const first = reinterpret_cast<const unsigned char*>(bytes.data());
    if (crypto_hash_sha256(digest.data(), first, bytes.size()) != 0) {
        std::abort(); // it never fails; a digest that was not made must not be taken for one
    }
    return digest;
}

} // namespace cybele
