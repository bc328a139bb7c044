// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/locked.hpp"

#include "images/openpgp/numbers.hpp"
#include "images/openpgp/packet.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

namespace cybele::images::openpgp {

namespace {

constexpr std::uint8_t kClear = 0;
constexpr std::uint8_t kSha1Check = 254;
constexpr std::uint8_t kSumCheck = 255;
constexpr std::size_t kSha1Size = 20;
constexpr std::size_t kBlock = 16;
constexpr std::size_t kSalt = 8;
/// 33 554 432 bytes are hashed: a tenth of a second.
constexpr std::uint8_t kWrittenCount = 0xf0;

struct Cipher {
    std::uint8_t number;
    std::string_view name;
    const EVP_CIPHER* (*get)(); ///< nullptr: not taken
    std::size_t key_size;
};
constexpr Cipher kCiphers[] = {
    {7, "AES-128", EVP_aes_128_cfb128, 16},
    {8, "AES-192", EVP_aes_192_cfb128, 24},
    {9, "AES-256", EVP_aes_256_cfb128, 32},
    {1, "IDEA", nullptr, 0},
    {2, "triple DES", nullptr, 0},
    {3, "CAST5", nullptr, 0},
    {4, "Blowfish", nullptr, 0},
    {10, "Twofish", nullptr, 0},
    {11, "Camellia-128", nullptr, 0},
    {12, "Camellia-192", nullptr, 0},
    {13, "Camellia-256", nullptr, 0},
};
constexpr const Cipher& kWrittenCipher = kCiphers[2];

/// How the key comes from a passphrase.
struct Derivation {
    std::uint8_t kind = 0;
    HashAlgorithm hash{};
    std::string_view salt;
    std::size_t count = 0; ///< bytes hashed; 0: once
};
constexpr std::uint8_t kSimple = 0;
constexpr std::uint8_t kSalted = 1;
constexpr std::uint8_t kIterated = 3;
constexpr std::uint8_t kArgon2 = 4;
constexpr std::uint8_t kGnu = 101;

tl::unexpected<Error> not_taken(const std::string& because) {
    return fail(ErrorCode::kInput,
                problem("openpgp-private-key-closed", "an OpenPGP private key cannot be opened"),
                because,
                "set a passphrase with GnuPG (gpg --change-passphrase), which uses AES, and export "
                "the key again");
}

std::size_t count_of(std::uint8_t coded) {
    return (16U + (coded & 15U)) << ((coded >> 4U) + 6U);
}

Result<Derivation> read_derivation(Cursor& cursor) {
    Derivation derivation;
    derivation.kind = cursor.u8();
    if (derivation.kind == kArgon2) {
        return not_taken("its passphrase is hashed with Argon2, which is not supported");
    }
    if (derivation.kind == kGnu) {
        return fail(ErrorCode::kInput,
                    problem("openpgp-private-key-elsewhere", "an OpenPGP private key is not here"),
                    "the file says that it is on a card or stored offline",
                    "use the file that has it, or sign with a subkey");
    }
    if (derivation.kind != kSimple && derivation.kind != kSalted && derivation.kind != kIterated) {
        return not_taken(
            fmt::format("its passphrase goes through the unknown form {}", derivation.kind));
    }
    derivation.hash = static_cast<HashAlgorithm>(cursor.u8());
    if (hash_of(derivation.hash) == nullptr) {
        return not_taken(fmt::format("its passphrase is hashed with {}, which is not supported",
                                     hash_name(derivation.hash)));
    }
    derivation.salt = derivation.kind == kSimple ? std::string_view() : cursor.bytes(kSalt);
    derivation.count = derivation.kind == kIterated ? count_of(cursor.u8()) : 0;
    return derivation;
}

/// Feeds salt and passphrase until `count` bytes are hashed, at least once whole.
bool feed(EVP_MD_CTX* context, const Derivation& derivation, const Secret& passphrase) {
    Secret unit;
    unit.append(derivation.salt);
    unit.append(passphrase.view());
    if (unit.empty()) {
        return true;
    }
    // Many units at a time: a call a unit would cost more than the hash.
    const std::size_t total = std::max(derivation.count, unit.size());
    Secret many;
    const std::size_t times = std::min(total / unit.size() + 1, 4096 / unit.size() + 1);
    for (std::size_t i = 0; i < times; ++i) {
        many.append(unit.view());
    }
    for (std::size_t left = total; left > 0;) {
        const std::size_t size = std::min(left, many.size());
        if (EVP_DigestUpdate(context, many.data(), size) != 1) {
            return false;
        }
        left -= size;
    }
    return true;
}

/// Empty: OpenSSL refuses.
Secret derive(const Derivation& derivation, const Secret& passphrase, std::size_t size) {
    Secret key;
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    for (std::string zeros; key.size() < size; zeros += '\0') {
        const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
        unsigned int length = 0;
        if (context == nullptr ||
            EVP_DigestInit_ex(context.get(), hash_of(derivation.hash), nullptr) != 1 ||
            EVP_DigestUpdate(context.get(), zeros.data(), zeros.size()) != 1 ||
            !feed(context.get(), derivation, passphrase) ||
            EVP_DigestFinal_ex(context.get(), digest.data(), &length) != 1) {
            key.clear();
            break;
        }
        key.append({reinterpret_cast<const char*>(digest.data()), length});
    }
    key.resize(std::min(key.size(), size));
    OPENSSL_cleanse(digest.data(), digest.size());
    return key;
}

enum class Direction { kDecrypt = 0, kEncrypt = 1 };

/// In place; false: OpenSSL refuses.
bool crypt(Direction direction,
           const Cipher& cipher,
           const Secret& key,
           std::string_view start,
           Secret& bytes) {
    const Owned<EVP_CIPHER_CTX> context(EVP_CIPHER_CTX_new());
    int size = 0;
    const bool is_done =
        context != nullptr && key.size() == cipher.key_size && start.size() == kBlock &&
        EVP_CipherInit_ex(context.get(),
                          cipher.get(),
                          nullptr,
                          key.bytes(),
                          data_of(start),
                          static_cast<int>(direction)) == 1 &&
        EVP_CipherUpdate(
            context.get(), bytes.bytes(), &size, bytes.bytes(), static_cast<int>(bytes.size())) ==
            1;
    ERR_clear_error();
    return is_done;
}

std::size_t sum_of(std::string_view bytes) {
    return std::accumulate(
               bytes.begin(),
               bytes.end(),
               std::size_t{0},
               [](std::size_t sum, char c) { return sum + static_cast<unsigned char>(c); }) &
           0xffffU;
}

/// Takes the check off the end; false: it does not fit.
bool take_check(Secret& bytes, std::uint8_t usage) {
    const std::size_t size = usage == kSha1Check ? kSha1Size : 2;
    if (bytes.size() < size) {
        return false;
    }
    const std::string_view numbers = bytes.view().substr(0, bytes.size() - size);
    const std::string_view check = bytes.view().substr(bytes.size() - size);
    const bool fits = usage == kSha1Check ? digest_of(HashAlgorithm::kSha1, numbers) == check
                                          : sum_of(numbers) == Cursor(check).u16();
    bytes.resize(bytes.size() - size);
    return fits;
}

Result<const Cipher*> find_cipher(std::uint8_t number) {
    const auto* const row = std::ranges::find(kCiphers, number, &Cipher::number);
    if (row == std::end(kCiphers) || row->get == nullptr) {
        return not_taken(
            row == std::end(kCiphers)
                ? fmt::format("it is encrypted with the unknown cipher {}", number)
                : fmt::format("it is encrypted with {}, which is not supported", row->name));
    }
    return row;
}

} // namespace

SecretPart secret_part_of(const Component& key, const PublicMaterial& material) {
    if (key.tag != Tag::kSecretKey && key.tag != Tag::kSecretSubkey) {
        return SecretPart::kNone;
    }
    if (material.size == 0) {
        return SecretPart::kLocked; // of an unknown algorithm: it cannot be told
    }
    Cursor cursor(std::string_view(key.body).substr(material.size));
    const std::uint8_t usage = cursor.u8();
    if (usage == kClear) {
        return SecretPart::kClear;
    }
    (void)cursor.u8(); // cipher
    return (usage == kSha1Check || usage == kSumCheck) && cursor.u8() == kGnu
               ? SecretPart::kElsewhere
               : SecretPart::kLocked;
}

Result<Secret> open_numbers(std::string_view part, const Secret& passphrase) {
    Cursor cursor(part);
    const std::uint8_t usage = cursor.u8();
    Secret bytes;
    if (usage == kClear) {
        bytes.append(cursor.rest());
        if (cursor.has_failed() || !take_check(bytes, usage)) {
            return not_taken("its checksum does not fit: the file is damaged");
        }
        return bytes;
    }
    if (usage != kSha1Check && usage != kSumCheck) {
        return not_taken(usage == 253 ? "it is encrypted in an AEAD mode, which is not supported"
                                      : "it is encrypted in a form of before 1998");
    }
    const std::uint8_t number = cursor.u8();
    CYBELE_TRY(const Derivation derivation, read_derivation(cursor));
    CYBELE_TRY(const Cipher* const cipher, find_cipher(number));
    const std::string_view start = cursor.bytes(kBlock);
    bytes.append(cursor.rest());
    if (cursor.has_failed()) {
        return not_taken("it is cut short");
    }
    const Secret key = derive(derivation, passphrase, cipher->key_size);
    if (!crypt(Direction::kDecrypt, *cipher, key, start, bytes)) {
        return fail(ErrorCode::kInternal,
                    problem("openpgp-decryption-failed", "cannot decrypt an OpenPGP key"),
                    "OpenSSL refuses it");
    }
    if (!take_check(bytes, usage)) {
        return fail(
            ErrorCode::kInput,
            problem("openpgp-passphrase-wrong", "the passphrase does not open the OpenPGP key"),
            "what comes out has a wrong check sum",
            "give the passphrase that the key was made with");
    }
    return bytes;
}

Result<std::string>
lock_numbers(const Secret& numbers, const Secret& passphrase, std::string_view random) {
    Derivation derivation;
    derivation.kind = kIterated;
    derivation.hash = HashAlgorithm::kSha256;
    derivation.salt = random.substr(0, kSalt);
    derivation.count = count_of(kWrittenCount);
    const std::string_view start = random.substr(kSalt, kBlock);
    Secret bytes;
    bytes.append(numbers.view());
    bytes.append(digest_of(HashAlgorithm::kSha1, numbers.view()));
    const Secret key = derive(derivation, passphrase, kWrittenCipher.key_size);
    if (!crypt(Direction::kEncrypt, kWrittenCipher, key, start, bytes)) {
        return fail(ErrorCode::kInternal,
                    problem("openpgp-encryption-failed", "cannot encrypt an OpenPGP key"),
                    "OpenSSL refuses it");
    }
    std::string part{static_cast<char>(kSha1Check),
                     static_cast<char>(kWrittenCipher.number),
                     static_cast<char>(kIterated),
                     static_cast<char>(derivation.hash)};
    part += derivation.salt;
    part += static_cast<char>(kWrittenCount);
    part += start;
    part += bytes.view();
    return part;
}

std::string clear_numbers(const Secret& numbers) {
    std::string part(1, '\0');
    part += numbers.view();
    append_u16(part, sum_of(numbers.view()));
    return part;
}

std::size_t count_clear(const Certificate& certificate) {
    const auto& components = certificate.components();
    return static_cast<std::size_t>(
        std::ranges::count_if(components, [](const Component& component) {
            const auto material = read_public(component.body);
            return material && secret_part_of(component, *material) == SecretPart::kClear;
        }));
}

Result<Certificate>
lock_certificate(const Certificate& certificate, const Secret& passphrase, const Secret* present) {
    std::vector<Component> components = certificate.components();
    for (Component& component : components) {
        const auto material = read_public(component.body);
        const SecretPart part_kind =
            material ? secret_part_of(component, *material) : SecretPart::kNone;
        const bool is_changed = part_kind == SecretPart::kLocked && present != nullptr;
        if (part_kind != SecretPart::kClear && !is_changed) {
            continue;
        }
        CYBELE_TRY(const Secret numbers,
                   open_numbers(std::string_view(component.body).substr(material->size),
                                is_changed ? *present : passphrase));
        CYBELE_TRY(const std::string part,
                   lock_numbers(numbers, passphrase, random_bytes(kSalt + kBlock)));
        const std::string open = component.body.substr(0, material->size);
        wipe(component.body);
        component.body = open + part;
    }
    return Certificate(std::move(components));
}

} // namespace cybele::images::openpgp
