// SPDX-License-Identifier: Apache-2.0
#include "images/keys/cosign.hpp"

#include "support/encoding.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sodium.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

/// What sigstore writes and reads; others could ask for more memory than there is.
constexpr std::uint64_t kCosts[] = {32768, 65536, 131072};
constexpr std::uint32_t kBlock = 8;
constexpr std::uint32_t kParallel = 1;

struct Sealed {
    std::uint64_t cost = 0;
    std::string salt;
    std::string nonce;
    std::string ciphertext;
};

tl::unexpected<Error> refused_cosign_key(const fs::path& path, std::string because) {
    return fail(
        ErrorCode::kInput,
        problem("cosign-key-unreadable",
                fmt::format("{} cannot be read as a key of cosign", printable(path.native()))),
        std::move(because),
        "copy the file again, or make a key pair: cybelectl key new");
}

/// The member at `name` of an object; a null value where there is none.
const Json& member(const Json& object, const char* name) {
    static const Json null;
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found == object.end() ? null : *found;
}

std::string text_in(const Json& value) {
    const auto* const text = value.get_ptr<const std::string*>();
    return text == nullptr ? std::string() : *text;
}

/// A member whose value is base64; empty where it is not.
std::string bytes_at(const Json& object, const char* name) {
    const auto bytes = base64_decode(text_in(member(object, name)));
    return bytes ? *bytes : std::string();
}

std::uint64_t number_at(const Json& object, const char* name) {
    const Json& value = member(object, name);
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

Result<Sealed> parse(const PemBlock& block, const fs::path& path) {
    std::string body;
    const std::string_view text = block.text.view();
    const std::size_t begin = text.find('\n');
    const std::size_t end = text.rfind("-----END");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
        return refused_cosign_key(path, "its PEM block is empty");
    }
    for (const char c : text.substr(begin, end - begin)) {
        if (c != '\n' && c != '\r' && c != ' ' && c != '\t') {
            body += c;
        }
    }
    const auto decoded = base64_decode(body);
    const Json json = parse_json<Json>(decoded ? *decoded : "");
    if (!json.is_object()) {
        return refused_cosign_key(path, "its PEM block holds no JSON");
    }
    const Json& kdf = member(json, "kdf");
    const Json& cipher = member(json, "cipher");
    if (text_in(member(kdf, "name")) != "scrypt" ||
        text_in(member(cipher, "name")) != "nacl/secretbox") {
        return refused_cosign_key(path, "it is not encrypted by scrypt and nacl/secretbox");
    }
    const Json& parameters = member(kdf, "params");
    Sealed sealed;
    sealed.cost = number_at(parameters, "N");
    if (!contains(kCosts, sealed.cost) || number_at(parameters, "r") != kBlock ||
        number_at(parameters, "p") != kParallel) {
        return refused_cosign_key(path,
                                  "its scrypt parameters are none of those that cosign writes");
    }
    sealed.salt = bytes_at(kdf, "salt");
    sealed.nonce = bytes_at(cipher, "nonce");
    sealed.ciphertext = bytes_at(json, "ciphertext");
    if (sealed.salt.empty() || sealed.nonce.size() != crypto_secretbox_NONCEBYTES ||
        sealed.ciphertext.size() <= crypto_secretbox_MACBYTES) {
        return refused_cosign_key(
            path, "its salt, nonce or ciphertext is missing or has the wrong length");
    }
    return sealed;
}

const unsigned char* raw(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

} // namespace

tl::unexpected<Error> wrong_passphrase(const fs::path& path) {
    return fail(ErrorCode::kInput,
                problem("passphrase-wrong",
                        fmt::format("the passphrase does not open {}", printable(path.native()))),
                "it is wrong, or the file is damaged",
                "give the passphrase that the key was encrypted with");
}

Result<Secret>
decrypt_cosign(const PemBlock& block, const Secret& passphrase, const fs::path& path) {
    CYBELE_TRY(const Sealed sealed, parse(block, path));
    Secret key;
    key.resize(crypto_secretbox_KEYBYTES);
    if (sodium_init() < 0 || crypto_pwhash_scryptsalsa208sha256_ll(raw(passphrase.view()),
                                                                   passphrase.size(),
                                                                   raw(sealed.salt),
                                                                   sealed.salt.size(),
                                                                   sealed.cost,
                                                                   kBlock,
                                                                   kParallel,
                                                                   key.bytes(),
                                                                   key.size()) != 0) {
        return fail(
            ErrorCode::kEnvironment,
            problem("key-memory", fmt::format("cannot decrypt {}", printable(path.native()))),
            fmt::format("scrypt needs {} MiB of memory for it", sealed.cost >> 10U),
            "call it where more memory is free");
    }
    Secret plain;
    plain.resize(sealed.ciphertext.size() - crypto_secretbox_MACBYTES);
    if (crypto_secretbox_open_easy(plain.bytes(),
                                   raw(sealed.ciphertext),
                                   sealed.ciphertext.size(),
                                   raw(sealed.nonce),
                                   key.bytes()) != 0) {
        return wrong_passphrase(path);
    }
    return plain;
}

} // namespace cybele::images
