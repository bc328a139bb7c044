// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/evp.h>

namespace cybele::http {

/// SHA-256 of what goes by.
class Hash {
public:
    Hash();
    void update(std::string_view bytes);
    /// Lower-case hexadecimal; the object is not used again after it.
    [[nodiscard]] std::string finish();

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

} // namespace cybele::http
