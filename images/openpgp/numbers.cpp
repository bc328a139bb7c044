// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/numbers.hpp"

#include <openssl/err.h>

namespace cybele::images::openpgp {

Owned<BIGNUM> number_of(std::string_view bytes) {
    Owned<BIGNUM> number(BN_secure_new());
    if (number != nullptr &&
        BN_bin2bn(data_of(bytes), static_cast<int>(bytes.size()), number.get()) == nullptr) {
        number.reset();
    }
    return number;
}

KeyParameters::KeyParameters() : builder_(OSSL_PARAM_BLD_new()) {
    is_whole_ = builder_ != nullptr;
}

void KeyParameters::number(const char* name, std::string_view bytes) {
    number(name, number_of(bytes));
}

void KeyParameters::number(const char* name, Owned<BIGNUM> value) {
    is_whole_ = is_whole_ && value != nullptr &&
                OSSL_PARAM_BLD_push_BN(builder_.get(), name, value.get()) == 1;
    numbers_.push_back(std::move(value));
}

void KeyParameters::text(const char* name, const char* value) {
    is_whole_ = is_whole_ && OSSL_PARAM_BLD_push_utf8_string(builder_.get(), name, value, 0) == 1;
}

void KeyParameters::octets(const char* name, std::string_view bytes) {
    is_whole_ = is_whole_ && OSSL_PARAM_BLD_push_octet_string(
                                 builder_.get(), name, bytes.data(), bytes.size()) == 1;
}

KeyHandle KeyParameters::build(const char* type, int selection) {
    EVP_PKEY* key = nullptr;
    if (is_whole_) {
        const Owned<OSSL_PARAM> parameters(OSSL_PARAM_BLD_to_param(builder_.get()));
        const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
        if (parameters == nullptr || context == nullptr ||
            EVP_PKEY_fromdata_init(context.get()) != 1 ||
            EVP_PKEY_fromdata(context.get(), &key, selection, parameters.get()) != 1) {
            key = nullptr;
        }
    }
    ERR_clear_error();
    return {key, EVP_PKEY_free};
}

} // namespace cybele::images::openpgp
