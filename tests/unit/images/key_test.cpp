// SPDX-License-Identifier: Apache-2.0
#include "images/keys/key.hpp"
#include "images/signatures/signature.hpp"
#include "sif_sample.hpp"
#include "support/process.hpp"

#include <unistd.h>

using namespace sample;

namespace {

/// Runs openssl in a folder; it must succeed.
void openssl_in(const fs::path& folder, const std::string& arguments) {
    Command command;
    command.argv = {"sh", "-c", "exec openssl " + arguments};
    command.directory = folder;
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    REQUIRE_MESSAGE(outcome->ok(), arguments, outcome->errors);
}

const char* const kSignedText = "some bytes that are signed";

struct WrittenKey {
    const char* name;
    const char* make_private; ///< writes k.pem
    const char* make_public;  ///< writes k.pub
};

const char* const kPublic = "pkey -in k.pem -pubout -out k.pub";

const WrittenKey kForms[] = {
    {"ed25519", "genpkey -algorithm ed25519 -out k.pem", kPublic},
    {"P-224", "ecparam -name secp224r1 -genkey -noout -out k.pem", kPublic},
    {"P-256 SEC1 after its parameters", "ecparam -name prime256v1 -genkey -out k.pem", kPublic},
    {"P-384", "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out k.pem", kPublic},
    {"P-521", "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521 -out k.pem", kPublic},
    {"P-256, compressed",
     "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out k.pem",
     "ec -in k.pem -pubout -conv_form compressed -out k.pub"},
    {"RSA PKCS8", "genrsa -out k.pem 2048", kPublic},
    {"RSA PKCS1",
     "genrsa -traditional -out k.pem 2048",
     "rsa -in k.pem -RSAPublicKey_out -out k.pub"},
};

} // namespace

TEST_CASE("keys of every form sign, and openssl and we verify each other") {
    const auto place = directory();
    const fs::path& here = place.path();
    REQUIRE(write_file(here / "text", kSignedText).has_value());
    for (const WrittenKey& form : kForms) {
        CAPTURE(form.name);
        openssl_in(here, form.make_private);
        openssl_in(here, form.make_public);
        const auto secret = PrivateKey::read(here / "k.pem");
        REQUIRE_MESSAGE(secret.has_value(), (secret ? "" : words(secret.error())));
        const auto open = PublicKey::read(here / "k.pub");
        REQUIRE_MESSAGE(open.has_value(), (open ? "" : words(open.error())));
        CHECK(secret->public_key().fingerprint() == open->fingerprint());
        CHECK(open->envelope_id() ==
              (std::string(form.name) == "P-224" ? "" : open->fingerprint()));
        const std::string signature = secret->sign(kSignedText).value();
        CHECK(open->verifies(kSignedText, signature));
        CHECK_FALSE(open->verifies("other bytes", signature));
        CHECK_FALSE(open->verifies(kSignedText, signature.substr(1)));
        CHECK_FALSE(open->verifies(kSignedText, ""));
        REQUIRE(write_file(here / "sig", signature).has_value());
        const std::string raw = std::string(form.name) == "ed25519" ? "" : " -digest sha256";
        openssl_in(here, "pkeyutl -verify -pubin -inkey k.pub -rawin -in text -sigfile sig" + raw);
        openssl_in(here, "pkeyutl -sign -inkey k.pem -rawin -in text -out theirs" + raw);
        CHECK(open->verifies(kSignedText, content(here / "theirs")));
        CHECK(PrivateKey::read(here / "k.pem").has_value());
    }
}

TEST_CASE("fingerprints are those that ssh-keygen prints") {
    CHECK(PublicKey::read(data("ecdsa-public.pem"))->fingerprint() ==
          "SHA256:13cNV0A11AxgIQYCvlDmJlRi0CjRtjnYF47RzrMhlaU");
    CHECK(PublicKey::read(data("rsa-public.pem"))->fingerprint() ==
          "SHA256:BhCwr7qZulYcOMSl2Jt2DuYHxHNnN6th4NdMqR/PGa4");
    CHECK(PublicKey::read(data("ed25519-public.pem"))->fingerprint() ==
          "SHA256:x6l8ZblpSSXGaPMCzySedWg88BwIFcz8jlPb6el0mFs");
}

TEST_CASE("files that are no usable key are told by name, without asking for a passphrase") {
    const auto place = directory();
    const fs::path& here = place.path();
    openssl_in(here, "genpkey -algorithm ed25519 -out good.pem");
    openssl_in(here, "pkey -in good.pem -pubout -out good.pub");
    const struct {
        const char* make; ///< openssl's arguments; null: the file is `text`
        const char* text;
        const char* to_sign; ///< what is said; null: the key is good
        const char* to_verify;
    } cases[] = {
        {"pkey -in good.pem -out k", "", nullptr, "it is a private key | openssl pkey"},
        {"pkey -in good.pem -pubout -out k", "", "it is a public key | give the private", nullptr},
        {"pkey -in good.pem -aes256 -passout pass:x -out k",
         "",
         "no passphrase for the key",
         "it is a private key | openssl pkey -in "},
        {"genrsa -traditional -aes128 -passout pass:x -out k 2048",
         "",
         "no passphrase for the key",
         "it is a private RSA key | openssl pkey"},
        {"req -x509 -key good.pem -subj /CN=x -out k", "", "it is a certificate", "use its key"},
        {"pkey -in good.pem -outform DER -out k", "", "it is a DER file | convert", "a DER file"},
        {"genpkey -algorithm ed448 -out k", "", "k cannot be used", "it is a private key"},
        {"ecparam -name secp256k1 -genkey -noout -out k", "", "k cannot be used", "private EC key"},
        {"genpkey -algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048 -out k",
         "",
         "not RSA-PSS",
         "it is a private key"},
        {"genrsa -out k 512", "", "RSA of 1024 bits or more", "it is a private key"},
        {nullptr, "", "it is empty", "it is empty"},
        {nullptr, "ssh-ed25519 AAAA x\n", "a public key of OpenSSH", "convert it: ssh-keygen"},
        {nullptr,
         "some text",
         "a file without a complete PEM block",
         "a file without a complete PEM"},
        {nullptr, "-----BEGIN PRIVATE KEY-----\nMC4C", "without a complete PEM block", "without"},
        {nullptr,
         "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
         "cannot be read as a key",
         "it is a private key"},
        {nullptr,
         "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
         "it is a public key",
         "cannot be read as a key"},
        {nullptr,
         "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n"
         "-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n",
         "no passphrase for the key",
         "give cosign.pub"},
        {nullptr,
         "-----BEGIN PGP PUBLIC KEY BLOCK-----\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n",
         "it is an OpenPGP key",
         "it is an OpenPGP key"},
    };
    for (const auto& one : cases) {
        CAPTURE(one.make);
        CAPTURE(one.text);
        REQUIRE(write_file(here / "k", one.text).has_value());
        if (one.make != nullptr) {
            openssl_in(here, one.make);
        }
        const auto secret = PrivateKey::read(here / "k");
        CHECK(secret.has_value() == (one.to_sign == nullptr));
        if (!secret && one.to_sign != nullptr) {
            const std::string said = words(secret.error());
            CHECK(secret.error().code() ==
                  (said.starts_with("no passphrase") ? ErrorCode::kUsage : ErrorCode::kInput));
            CAPTURE(said);
            CHECK(said.find(one.to_sign) != std::string::npos);
        }
        const auto open = PublicKey::read(here / "k");
        CHECK(open.has_value() == (one.to_verify == nullptr));
        if (!open && one.to_verify != nullptr) {
            CHECK(open.error().code() == ErrorCode::kInput);
            const std::string said = words(open.error());
            CAPTURE(said);
            CHECK(said.find(one.to_verify) != std::string::npos);
        }
    }
}

TEST_CASE("a new pair is private where it must be, known to openssl, and never overwritten") {
    const auto place = directory();
    const fs::path& here = place.path();
    for (const char* const algorithm : {"ed25519", "ecdsa", "rsa"}) {
        CAPTURE(algorithm);
        const fs::path file = here / (std::string(algorithm) + ".pem");
        const auto made = new_key(file, algorithm);
        REQUIRE(made.has_value());
        CHECK(*made == here / (std::string(algorithm) + ".pub"));
        CHECK((fs::status(file).permissions() & fs::perms::all) == fs::perms{0600});
        CHECK((fs::status(*made).permissions() & fs::perms::owner_write) != fs::perms::none);
        CHECK(content(file).starts_with("-----BEGIN PRIVATE KEY-----\n"));
        CHECK(content(*made).starts_with("-----BEGIN PUBLIC KEY-----\n"));
        openssl_in(here, "pkey -check -noout -in " + file.filename().native());
        openssl_in(here, "pkey -pubin -noout -in " + made->filename().native());
        CHECK(PrivateKey::read(file).has_value());
        CHECK(PublicKey::read(*made)->fingerprint() ==
              PrivateKey::read(file)->public_key().fingerprint());
        const std::string before = content(file);
        const auto again = new_key(file, algorithm);
        REQUIRE_FALSE(again.has_value());
        CHECK(again.error().message().ends_with("exists already"));
        CHECK(content(file) == before);
    }
    CHECK(std::distance(fs::directory_iterator(here), fs::directory_iterator()) == 6);
}

TEST_CASE("a pair that cannot be made leaves no half of it") {
    const auto place = directory();
    const fs::path& here = place.path();
    REQUIRE(write_file(here / "a.pub", "mine").has_value());
    CHECK_FALSE(new_key(here / "a.pem", "ed25519").has_value());
    CHECK_FALSE(fs::exists(here / "a.pem"));
    fs::create_symlink("nowhere", here / "b.pem");
    CHECK_FALSE(new_key(here / "b.pem", "ed25519").has_value());
    CHECK(fs::is_symlink(here / "b.pem"));
    CHECK(new_key(here / "c.pub", "ed25519").error().code() == ErrorCode::kUsage);
    CHECK(new_key(here / "c.pem", "dsa").error().code() == ErrorCode::kUsage);
    CHECK_FALSE(new_key(here / "missing" / "c.pem", "ed25519").has_value());
    CHECK(std::distance(fs::directory_iterator(here), fs::directory_iterator()) == 2);
}
