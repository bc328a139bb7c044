// SPDX-License-Identifier: Apache-2.0
#include "images/keys/key.hpp"
#include "images/keys/pem.hpp"
#include "sif_sample.hpp"
#include "support/encoding.hpp"
#include "support/process.hpp"

#include <array>

#include <nlohmann/json.hpp>
#include <sodium.h>

using namespace sample;

namespace {

/// Runs openssl in a folder; it must succeed.
void encrypt_with_openssl(const fs::path& folder, const std::string& arguments) {
    Command command;
    command.argv = {"sh", "-c", "exec openssl " + arguments};
    command.directory = folder;
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    REQUIRE_MESSAGE(outcome->ok(), arguments, outcome->errors);
}

PassphraseSource by(const std::string& passphrase) {
    PassphraseSource source;
    source.variable = "V";
    source.value = passphrase;
    return source;
}

std::string fingerprint(const Result<PrivateKey>& key) {
    return key ? key->public_key().fingerprint() : words(key.error());
}

/// A key encrypted as cosign does it, by the library that checks it with other functions.
struct Cosign {
    std::string label = "ENCRYPTED SIGSTORE PRIVATE KEY";
    std::string kdf = "scrypt";
    std::uint64_t cost = 32768;
    std::size_t nonce_size = 24;
    bool is_cut = false;

    [[nodiscard]] std::string seal(std::string der, const std::string& passphrase) const {
        REQUIRE(sodium_init() >= 0);
        const std::string salt(32, 's');
        const std::string nonce(nonce_size, 'n');
        std::array<unsigned char, 32> key{};
        const auto raw = [](std::string& text) {
            return reinterpret_cast<unsigned char*>(text.data());
        };
        std::string secret = passphrase;
        std::string from = salt;
        REQUIRE(crypto_pwhash_scryptsalsa208sha256_ll(raw(secret),
                                                      secret.size(),
                                                      raw(from),
                                                      from.size(),
                                                      32768,
                                                      8,
                                                      1,
                                                      key.data(),
                                                      key.size()) == 0);
        std::string sealed(der.size() + crypto_secretbox_MACBYTES, '\0');
        std::string number(24, 'n');
        REQUIRE(crypto_secretbox_easy(raw(sealed), raw(der), der.size(), raw(number), key.data()) ==
                0);
        if (is_cut) {
            sealed.resize(10);
        }
        nlohmann::json json;
        json["kdf"]["name"] = kdf;
        json["kdf"]["params"] = {{"N", cost}, {"r", 8}, {"p", 1}};
        json["kdf"]["salt"] = base64(salt);
        json["cipher"] = {{"name", "nacl/secretbox"}, {"nonce", base64(nonce)}};
        json["ciphertext"] = base64(sealed);
        std::string body = base64(json.dump());
        for (std::size_t at = 64; at < body.size(); at += 65) {
            body.insert(at, "\n");
        }
        return "-----BEGIN " + label + "-----\n" + body + "\n-----END " + label + "-----\n";
    }
};

} // namespace

TEST_CASE("encrypted keys of OpenSSL are opened by their passphrase, and by no other") {
    const auto place = directory();
    const fs::path& here = place.path();
    encrypt_with_openssl(here, "genpkey -algorithm ed25519 -out ed");
    encrypt_with_openssl(here, "genrsa -out rsa 2048");
    encrypt_with_openssl(here, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out ec");
    const struct {
        const char* plain;
        const char* encrypt;
        const char* begin;
    } cases[] = {
        {"ed", "pkey -in ed -aes256 -passout pass:secret -out k", "ENCRYPTED PRIVATE KEY"},
        {"ec", "pkcs8 -topk8 -in ec -scrypt -passout pass:secret -out k", "ENCRYPTED PRIVATE KEY"},
        {"ec", "pkcs8 -topk8 -in ec -v1 PBE-SHA1-3DES -passout pass:secret -out k", "ENCRYPTED"},
        {"rsa", "pkcs8 -topk8 -in rsa -v2 des3 -passout pass:secret -out k", "ENCRYPTED"},
        {"rsa", "rsa -in rsa -traditional -aes128 -passout pass:secret -out k", "Proc-Type: 4"},
        {"ec", "ec -in ec -des3 -passout pass:secret -out k", "Proc-Type: 4,ENCRYPTED"},
    };
    for (const auto& one : cases) {
        CAPTURE(std::string(one.encrypt));
        encrypt_with_openssl(here, one.encrypt);
        CHECK(content(here / "k").find(one.begin) != std::string::npos);
        const auto key = PrivateKey::read(here / "k", by("secret"));
        CHECK(fingerprint(key) == fingerprint(PrivateKey::read(here / one.plain)));
        for (const char* const wrong : {"Secret", "", "secret\n"}) {
            const auto refused = PrivateKey::read(here / "k", by(wrong));
            REQUIRE_FALSE(refused.has_value());
            CHECK(refused.error().code() == ErrorCode::kInput);
            CHECK(words(refused.error()).find("the passphrase does not open") == 0);
        }
        CHECK(PrivateKey::read(here / "k").error().code() == ErrorCode::kUsage);
    }
}

TEST_CASE("no wrong passphrase ever looks like a damaged file") {
    const auto place = directory();
    encrypt_with_openssl(place.path(), "genpkey -algorithm ed25519 -out ed");
    encrypt_with_openssl(place.path(),
                         "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ec");
    encrypt_with_openssl(place.path(), "genrsa -out rsa 2048");
    for (const char* const encrypt :
         {"pkcs8 -topk8 -in ed -v2 aes128 -iter 1 -passout pass:x -out k",
          "ec -in ec -des3 -passout pass:x -out k",
          "rsa -in rsa -traditional -aes128 -passout pass:x -out k"}) {
        encrypt_with_openssl(place.path(), encrypt);
        for (int i = 0; i < 2000; ++i) { // the padding of one in 256 is right by chance
            const auto key = PrivateKey::read(place.path() / "k", by("wrong" + std::to_string(i)));
            REQUIRE_FALSE(key.has_value());
            REQUIRE_MESSAGE(words(key.error()).find("the passphrase does not open") == 0, encrypt);
        }
    }
}

TEST_CASE("keys of cosign and sigstore are opened, whatever lies in them") {
    const auto place = directory();
    const fs::path& here = place.path();
    encrypt_with_openssl(here, "genpkey -algorithm ed25519 -out ed.pem");
    encrypt_with_openssl(here, "pkey -in ed.pem -outform DER -out ed");
    const std::string der = content(here / "ed");
    const std::string expected = fingerprint(PrivateKey::read(here / "ed.pem"));
    const auto read = [&](const Cosign& form, const std::string& passphrase) {
        REQUIRE(write_file(here / "k", form.seal(der, "secret")).has_value());
        return PrivateKey::read(here / "k", by(passphrase));
    };
    CHECK(fingerprint(read({}, "secret")) == expected);
    CHECK(fingerprint(read({.label = "ENCRYPTED COSIGN PRIVATE KEY"}, "secret")) == expected);
    const auto said = [&](const Cosign& form, const std::string& passphrase) {
        const auto key = read(form, passphrase);
        return key ? std::string("read") : words(key.error());
    };
    CHECK(said({}, "wrong").find("the passphrase does not open") == 0);
    CHECK(said({.kdf = "argon2"}, "secret").find("not encrypted by scrypt") != std::string::npos);
    for (const std::uint64_t cost :
         {std::uint64_t{0}, std::uint64_t{16384}, std::uint64_t{1} << 40U}) {
        CHECK(said({.cost = cost}, "secret").find("its scrypt parameters") != std::string::npos);
    }
    CHECK(said({.nonce_size = 12}, "secret").find("has the wrong length") != std::string::npos);
    CHECK(said({.is_cut = true}, "secret").find("has the wrong length") != std::string::npos);
    REQUIRE(write_file(here / "k", Cosign{}.seal("rubbish", "secret")).has_value());
    CHECK(
        words(PrivateKey::read(here / "k", by("secret")).error()).find("cannot be read as a key") !=
        std::string::npos);
    const std::string label = "ENCRYPTED COSIGN PRIVATE KEY";
    for (const char* const body : {"", "!", "e30=", "W10="}) {
        REQUIRE(
            write_file(here / "k",
                       "-----BEGIN " + label + "-----\n" + body + "\n-----END " + label + "-----\n")
                .has_value());
        CHECK(words(PrivateKey::read(here / "k", by("x")).error())
                  .find("cannot be read as a key of cosign") != std::string::npos);
    }
}

TEST_CASE("the halves of a pair must belong together") {
    const auto place = directory();
    const fs::path& here = place.path();
    encrypt_with_openssl(here, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out a.pem");
    encrypt_with_openssl(here, "ec -in a.pem -outform DER -out a");
    encrypt_with_openssl(here, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out b.pem");
    encrypt_with_openssl(here, "ec -in b.pem -outform DER -out b");
    std::string mixed = content(here / "a"); // SEC 1: the public point is the last 65 bytes
    mixed.replace(mixed.size() - 65, 65, content(here / "b").substr(mixed.size() - 65));
    REQUIRE(write_file(here / "k",
                       "-----BEGIN EC PRIVATE KEY-----\n" + base64(mixed) +
                           "\n-----END EC PRIVATE KEY-----\n")
                .has_value());
    const auto key = PrivateKey::read(here / "k");
    REQUIRE_FALSE(key.has_value());
    CHECK(words(key.error()).find("its private and public keys do not match") != std::string::npos);
}
