// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/generate.hpp"
#include "images/openpgp/locked.hpp"
#include "support/digest.hpp"
#include "support/random.hpp"
#include "tests/unit/images/openpgp_sample.hpp"

#include <fmt/format.h>

using namespace cybele;
using namespace cybele::images::openpgp;

namespace {

const std::string kMessage = R"({"version":1,"header":{"digest":"sha256:00"}})";
const std::string kSalt(kSaltSize, '\x5a');

/// Status lines of gpg's verification of a message.
std::string gpg_status(const GnuPg& gpg, const std::string& message) {
    return gpg.run({"--status-fd", "1", "--verify"}, message).output;
}

struct Kind {
    std::string gpg; ///< as --quick-generate-key has it
    std::string name;
    bool signs = true; ///< here
};
const Kind kKinds[] = {
    {"ed25519", "Ed25519"},
    {"rsa2048", "RSA 2048"},
    {"nistp256", "NIST P-256"},
    {"nistp384", "NIST P-384"},
    {"nistp521", "NIST P-521"},
    {"dsa2048", "DSA 2048", false},
};

/// Opened and ready, of an armored export.
SecretKey opened_key(const std::string& bytes, const std::string& passphrase) {
    const Keyring ring = keyring_of(bytes);
    auto key = SecretKey::choose(ring.certificates().front(), time_now());
    REQUIRE_MESSAGE(key, key.error().faults().front().because);
    if (key->is_locked()) {
        const auto unlocked = key->unlock(secret_of(passphrase));
        REQUIRE_MESSAGE(unlocked, unlocked.error().faults().front().because);
    }
    return std::move(*key);
}

/// A primary key that only certifies, with a subkey that signs. Made once: GnuPG takes its time.
struct Certifier {
    GnuPg gpg;
    Keyring first; ///< before the subkey
    Keyring ring;
    std::string primary;

    Certifier() {
        gpg.passphrase = "sub";
        (void)gpg.must({"--quick-generate-key", "Certifier <c@site.example>", "ed25519", "cert"});
        first = keyring_of(gpg.must({"--export"}));
        primary = first.certificates().front().fingerprint();
        (void)gpg.must({"--quick-add-key", primary, "rsa2048", "sign", "never"});
        ring = keyring_of(gpg.must({"--export"}));
    }
    static const Certifier& made() {
        static const Certifier once;
        return once;
    }
};

/// A key that expires in a day, and a message that it has signed.
struct ShortLived {
    GnuPg gpg;
    std::string message;
    Keyring ring;

    ShortLived() {
        gpg.passphrase = "right";
        (void)gpg.must(
            {"--quick-generate-key", "Some One <s@site.example>", "rsa2048", "sign,cert", "1d"});
        message = gpg.must({"--clearsign"}, kMessage + "\n");
        ring = keyring_of(gpg.must({"--export"}));
    }
    static const ShortLived& made() {
        static const ShortLived once;
        return once;
    }
};

} // namespace

TEST_CASE("keys of GnuPG: its signatures are valid here, ours there") {
    GnuPg gpg;
    gpg.passphrase = "open sesame";
    for (const Kind& kind : kKinds) {
        CAPTURE(kind.gpg);
        const std::string user = fmt::format("{} key <{}@site.example>", kind.gpg, kind.gpg);
        (void)gpg.must({"--quick-generate-key", user, kind.gpg, "sign,cert", "never"});
        const Keyring ring = keyring_of(gpg.must({"--export", user}));
        const auto state = ring.certificates().front().state(time_now());
        CHECK(state.keys.front().algorithm == kind.name);
        CHECK(state.keys.front().because.empty());
        CHECK(state.keys.front().can_sign);
        CHECK(state.name() == user);

        const std::string theirs = gpg.must({"-u", user, "--clearsign"}, kMessage + "\n");
        const auto judged = verify_clear_signed(theirs, ring, time_now());
        REQUIRE(judged);
        CHECK_MESSAGE(judged->is_valid, judged->because);
        CHECK(judged->text == kMessage);
        CHECK(judged->user_id == user);
        CHECK(judged->primary_fingerprint == ring.certificates().front().fingerprint());

        std::string changed = theirs;
        changed.replace(changed.find("sha256:00"), 9, "sha256:01");
        const auto refused = verify_clear_signed(changed, ring, time_now());
        REQUIRE(refused);
        CHECK(!refused->is_valid);
        CHECK(refused->because == "it does not match the text: one of the two was changed");

        const std::string exported = gpg.must({"--armor", "--export-secret-keys", user});
        if (!kind.signs) {
            auto key = SecretKey::choose(keyring_of(exported).certificates().front(), time_now());
            REQUIRE(key);
            const auto unlocked = key->unlock(secret_of(gpg.passphrase));
            REQUIRE(!unlocked);
            CHECK(unlocked.error().message() == "cannot sign with a key of kind DSA 2048");
            continue;
        }
        const SecretKey key = opened_key(exported, gpg.passphrase);
        const auto ours = clear_sign(kMessage, key, time_now(), kSalt);
        REQUIRE(ours);
        CHECK(gpg_status(gpg, *ours).find("VALIDSIG " + key.primary_fingerprint()) !=
              std::string::npos);
        const auto own = verify_clear_signed(*ours, ring, time_now());
        REQUIRE(own);
        CHECK_MESSAGE(own->is_valid, own->because);
    }
}

TEST_CASE("keys made here: GnuPG takes them, encrypted and open, and signs with them") {
    GnuPg gpg;
    gpg.passphrase = "pass of ours";
    const GnuPg plain;
    for (const char* const algorithm : {"ed25519", "ecdsa", "ecdsa-p384", "ecdsa-p521", "rsa"}) {
        CAPTURE(algorithm);
        NewKey wanted;
        wanted.name = "A Site";
        wanted.email = "keys@site.example";
        wanted.comment = "images";
        wanted.algorithm = algorithm;
        wanted.time = time_now() - 60;
        wanted.random = random_bytes(kSaltSize);
        const auto made = generate(wanted);
        REQUIRE(made);
        CHECK(count_clear(*made) == 1);
        const auto locked = lock_certificate(*made, secret_of(gpg.passphrase));
        REQUIRE(locked);
        CHECK(count_clear(*locked) == 0);
        const Secret present = secret_of(gpg.passphrase);
        const auto again = lock_certificate(*locked, secret_of("another"), &present);
        REQUIRE(again);
        (void)opened_key(again->packets(), "another");
        const Secret wrong = secret_of("wrong");
        CHECK_FALSE(lock_certificate(*locked, secret_of("another"), &wrong));

        const auto imported = gpg.run({"--status-fd", "1", "--import"}, locked->packets());
        REQUIRE_MESSAGE(imported.ok(), imported.errors);
        CHECK(imported.output.find("IMPORT_OK 17 " + made->fingerprint()) != std::string::npos);
        const std::string& name = made->fingerprint();
        CHECK(gpg.must({"--list-keys", "--with-colons", name})
                  .find("A Site (images) <keys@site.example>") != std::string::npos);
        const std::string theirs = gpg.must({"-u", name, "--clearsign"}, kMessage + "\n");
        Keyring ring;
        ring.add(made->public_half());
        const auto judged = verify_clear_signed(theirs, ring, time_now());
        REQUIRE(judged);
        CHECK_MESSAGE(judged->is_valid, judged->because);

        const SecretKey key = opened_key(locked->packets(), gpg.passphrase);
        const auto ours = clear_sign(kMessage, key, time_now(), kSalt);
        REQUIRE(ours);
        CHECK(gpg_status(gpg, *ours).find("VALIDSIG " + made->fingerprint()) != std::string::npos);

        const auto open = plain.run({"--import"}, made->packets());
        CHECK_MESSAGE(open.ok(), open.errors);
        CHECK(!plain.must({"-u", name, "--clearsign"}, kMessage + "\n").empty());
    }
}

TEST_CASE("a primary key that only certifies: its subkey signs, for GnuPG as for us") {
    const auto& [gpg, first, ring, primary] = Certifier::made();

    const auto judged =
        verify_clear_signed(gpg.must({"--clearsign"}, kMessage + "\n"), ring, time_now());
    REQUIRE(judged);
    CHECK_MESSAGE(judged->is_valid, judged->because);
    CHECK(judged->primary_fingerprint == primary);
    CHECK(judged->fingerprint != primary);
    CHECK(ring.find(judged->fingerprint) == &ring.certificates().front());

    SUBCASE("the whole key") {
        const SecretKey key = opened_key(gpg.must({"--export-secret-keys"}), gpg.passphrase);
        CHECK(key.fingerprint() != key.primary_fingerprint());
        const auto ours = clear_sign(kMessage, key, time_now(), kSalt);
        REQUIRE(ours);
        CHECK(gpg_status(gpg, *ours).find("VALIDSIG " + key.fingerprint()) != std::string::npos);
    }
    SUBCASE("with the primary key offline") {
        const SecretKey key = opened_key(gpg.must({"--export-secret-subkeys"}), gpg.passphrase);
        CHECK(key.fingerprint() != key.primary_fingerprint());
        CHECK(key.primary_fingerprint() == primary);
    }
    SUBCASE("a certificate from before the subkey does not know it") {
        const auto unknown =
            verify_clear_signed(gpg.must({"--clearsign"}, kMessage + "\n"), first, time_now());
        REQUIRE(unknown);
        CHECK(!unknown->is_valid);
        CHECK(unknown->lacks_key);
        CHECK(unknown->because ==
              "it was made with a key that is not known: " + judged->fingerprint);
    }
    SUBCASE("a subkey without its signature in return does not count") {
        auto components = ring.certificates().front().components();
        // The subkey under the key of somebody else: bound by nobody.
        GnuPg other;
        (void)other.must({"--quick-generate-key", "Thief <t@site.example>", "ed25519", "cert"});
        auto theirs = keyring_of(other.must({"--export"})).certificates().front().components();
        theirs.push_back(components.back());
        Keyring stolen;
        stolen.add(Certificate(theirs));
        const auto refused =
            verify_clear_signed(gpg.must({"--clearsign"}, kMessage + "\n"), stolen, time_now());
        REQUIRE(refused);
        CHECK(!refused->is_valid);
        CHECK(refused->because.find("no valid signature of the primary key binds it") !=
              std::string::npos);
    }
}

TEST_CASE("revoked and expired keys, weak hashes and wrong passphrases are told") {
    const auto& [gpg, message, ring] = ShortLived::made();
    const std::int64_t now = time_now(); // the key, which takes its time, is there
    const Certificate& certificate = ring.certificates().front();
    const std::string fingerprint = certificate.fingerprint();

    SUBCASE("made before the key expired, and after") {
        constexpr std::int64_t kDay = 86400;
        CHECK(verify_clear_signed(message, ring, now + 30 * kDay)->is_valid);
        CHECK(certificate.state(now).keys.front().expires.has_value());
        SecretKey key = opened_key(gpg.must({"--export-secret-keys"}), gpg.passphrase);
        const auto late = clear_sign(kMessage, key, now + 2 * kDay, kSalt);
        REQUIRE(late);
        const auto judged = verify_clear_signed(*late, ring, now + 3 * kDay);
        CHECK(!judged->is_valid);
        CHECK(judged->because.find("had expired on") != std::string::npos);
        const auto chosen = SecretKey::choose(
            keyring_of(gpg.must({"--export-secret-keys"})).certificates().front(), now + 2 * kDay);
        REQUIRE(!chosen);
        CHECK(chosen.error().faults().front().because == "it has expired");
        CHECK(verify_clear_signed(*late, ring, now)->because.starts_with("it is of the future"));
    }
    SUBCASE("revoked") {
        std::string revocation;
        const auto file = gpg.home() / "openpgp-revocs.d" / (fingerprint + ".rev");
        revocation = *read_file(file);
        revocation.erase(revocation.find(":-----BEGIN"), 1);
        const GnuPg other; // with the keys of the first, which are not revoked there
        for (const char* const file_name : {"pubring.kbx", "trustdb.gpg"}) {
            std::filesystem::copy_file(gpg.home() / file_name, other.home() / file_name);
        }
        (void)other.must({"--import"}, revocation);
        const Keyring revoked = keyring_of(other.must({"--export"}));
        const auto judged = verify_clear_signed(message, revoked, now);
        CHECK(!judged->is_valid);
        CHECK(judged->because.find("it is revoked") != std::string::npos);
        Keyring merged = ring;
        CHECK(merged.add(revoked.certificates().front()) == Keyring::Added::kMerged);
        CHECK(merged.add(revoked.certificates().front()) == Keyring::Added::kKnown);
        CHECK(!verify_clear_signed(message, merged, now)->is_valid);
    }
    SUBCASE("a weak hash") {
        const std::string weak =
            gpg.must({"--digest-algo", "SHA1", "--clearsign"}, kMessage + "\n");
        const auto judged = verify_clear_signed(weak, ring, now);
        CHECK(!judged->is_valid);
        CHECK(judged->because == "it is made with the hash SHA1, which does not count");
    }
    SUBCASE("every strong hash") {
        for (const char* const hash : {"SHA224", "SHA256", "SHA384", "SHA512"}) {
            const auto judged = verify_clear_signed(
                gpg.must({"--digest-algo", hash, "--clearsign"}, kMessage + "\n"), ring, now);
            CHECK_MESSAGE(judged->is_valid, judged->because);
            CHECK(judged->hash == hash);
        }
    }
    SUBCASE("a wrong passphrase") {
        auto key = SecretKey::choose(
            keyring_of(gpg.must({"--export-secret-keys"})).certificates().front(), now);
        REQUIRE(key);
        CHECK(key->is_locked());
        const auto refused = key->unlock(secret_of("wrong"));
        REQUIRE(!refused);
        CHECK(refused.error().code() == ErrorCode::kInput);
        CHECK(refused.error().message() == "the passphrase does not open the OpenPGP key");
        CHECK(!clear_sign(kMessage, *key, now, kSalt));
        CHECK(key->unlock(secret_of("right")));
        CHECK(clear_sign(kMessage, *key, now, kSalt));
    }
    SUBCASE("a public key does not sign") {
        const auto chosen = SecretKey::choose(certificate, now);
        REQUIRE(!chosen);
        CHECK(chosen.error().faults().front().because == "its private part is not there");
    }
}

TEST_CASE("text lines, dashes and blanks are signed as GnuPG signs them") {
    GnuPg gpg;
    (void)gpg.must({"--quick-generate-key", "T <t@site.example>", "ed25519", "sign,cert"});
    const Keyring ring = keyring_of(gpg.must({"--export"}));
    for (const std::string text : {"",
                                   "\n",
                                   "one\ntwo",
                                   "- dash\n--- more\n-----BEGIN PGP",
                                   "a  \t\nb\r\nc",
                                   "From here",
                                   "\xc3\xa4"}) {
        CAPTURE(text);
        const auto judged =
            verify_clear_signed(gpg.must({"--clearsign"}, text + "\n"), ring, time_now());
        REQUIRE(judged);
        CHECK_MESSAGE(judged->is_valid, judged->because);
    }
    const SecretKey key = opened_key(gpg.must({"--export-secret-keys"}), "");
    for (const std::string text : {"", "one\n\ntwo", "- dash\n-----BEGIN PGP SIGNATURE-----"}) {
        const auto ours = clear_sign(text, key, time_now(), kSalt);
        REQUIRE(ours);
        CHECK(gpg_status(gpg, *ours).find("GOODSIG") != std::string::npos);
        CHECK(verify_clear_signed(*ours, ring, time_now())->text == text);
    }
    CHECK(!clear_sign("blank ", key, time_now(), kSalt));
    CHECK(!clear_sign("a\r\nb", key, time_now(), kSalt));
}
