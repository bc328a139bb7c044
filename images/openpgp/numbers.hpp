// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/openpgp/material.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

/// OpenSSL's objects with owners.
namespace cybele::images::openpgp {

struct FreeOpenssl {
    void operator()(BIGNUM* number) const {
        BN_clear_free(number);
    }
    void operator()(BN_CTX* context) const {
        BN_CTX_free(context);
    }
    void operator()(ECDSA_SIG* signature) const {
        ECDSA_SIG_free(signature);
    }
    void operator()(EVP_MD_CTX* context) const {
        EVP_MD_CTX_free(context);
    }
    void operator()(EVP_CIPHER_CTX* context) const {
        EVP_CIPHER_CTX_free(context);
    }
    void operator()(EVP_PKEY_CTX* context) const {
        EVP_PKEY_CTX_free(context);
    }
    void operator()(OSSL_PARAM_BLD* builder) const {
        OSSL_PARAM_BLD_free(builder);
    }
    void operator()(OSSL_PARAM* parameters) const {
        OSSL_PARAM_free(parameters); // wipes what came from secure numbers
    }
};
template <class T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

[[nodiscard]] inline const unsigned char* data_of(std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}
[[nodiscard]] inline unsigned char* data_of(std::string& bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

/// A number whose memory is wiped.
[[nodiscard]] Owned<BIGNUM> number_of(std::string_view bytes);

/// Collects the parameters of a key; the first failure is kept until build().
class KeyParameters {
public:
    KeyParameters();
    void number(const char* name, std::string_view bytes);
    void number(const char* name, Owned<BIGNUM> value);
    void text(const char* name, const char* value);
    /// `bytes` must live until build().
    void octets(const char* name, std::string_view bytes);
    /// nullptr: OpenSSL takes no such key. `selection` as EVP_PKEY_fromdata has it.
    [[nodiscard]] KeyHandle build(const char* type, int selection);

private:
    Owned<OSSL_PARAM_BLD> builder_;
    std::vector<Owned<BIGNUM>> numbers_;
    bool is_whole_ = true;
};

} // namespace cybele::images::openpgp
