// SPDX-License-Identifier: Apache-2.0
// From options and policies to those who count: load_trust(), add_policy() and identity_of().
#include "certificate_sample.hpp"
#include "images/openpgp/generate.hpp"
#include "images/openpgp/key_directory.hpp"
#include "images/signatures/sign.hpp"
#include "images/signatures/trust.hpp"
#include "images/signatures/verify.hpp"
#include "signature_sample.hpp"

#include <functional>
#include <set>

using namespace sample;

namespace {

/// A folder with public keys of two people, a keyring of one, and the certificates of the lab.
struct Office {
    TempDirectory place = directory();
    fs::path alice = place.path() / "alice.pub";
    fs::path bob = place.path() / "bob.pub";
    fs::path ring = place.path() / "ring.pgp";
    std::string carol; ///< fingerprint of the only key of the keyring
    Environment environment{
        {{"HOME", place.path().native()}, {"APPTAINER_KEYSDIR", (place.path() / "own").native()}}};

    Office() {
        for (const char* const name : {"alice", "bob"}) {
            REQUIRE(new_key(place.path() / (std::string(name) + ".pem"), "ed25519"));
        }
        const auto certificate =
            openpgp::generate({"Carol", "", "", "ed25519", 1700000000, {}, std::string(32, 'c')});
        REQUIRE(certificate);
        openpgp::Keyring keys;
        keys.add(*certificate);
        carol = certificate->fingerprint();
        REQUIRE(write_file(ring, keys.packets()));
    }
    [[nodiscard]] Result<Trust> load(const TrustRequest& request) const {
        return load_trust(request, environment);
    }
    /// "" where the request is accepted, else what is wrong with it.
    [[nodiscard]] std::string fault(TrustRequest request, const std::string& require) const {
        request.require = require;
        const auto trust = load(request);
        if (trust) {
            CHECK(trust->require == require);
            return {};
        }
        CHECK(trust.error().code() == ErrorCode::kUsage);
        return words(trust.error());
    }
};

fs::path lab(const std::string& name) {
    return certificate_sample::authority().file(name + ".pem");
}

/// The root of the lab, and who it has certified through its issuing authority.
TrustRequest of_the_lab() {
    TrustRequest request;
    request.authorities.roots = {lab("root")};
    request.authorities.intermediates = {lab("issuing")};
    request.now = certificate_sample::now();
    return request;
}

constexpr std::string_view kTooMany2 = "2 signers are required, but 1 is named";

} // namespace

TEST_CASE("trust: no more signers can be required than are named") {
    const Office office;
    TrustRequest keys;
    keys.keys = {office.alice};
    CHECK(office.fault(keys, "1") == "");
    CHECK(office.fault(keys, "2").starts_with(kTooMany2));
    CHECK(office.fault(keys, "3").starts_with("3 signers are required, but 1 is named"));
    keys.keys = {office.alice, office.alice}; // one signer, whatever names it
    CHECK(office.fault(keys, "2").starts_with(kTooMany2));
    keys.keys = {office.alice, office.bob};
    CHECK(office.fault(keys, "2") == "");
    CHECK(office.fault(keys, "3").starts_with("3 signers are required, but 2 are named"));
    for (const char* const count : {"0", "2 ", "two", "", "-1", "1.5"}) {
        CAPTURE(count);
        CHECK(office.fault(keys, count).find("is not a number of signers") != std::string::npos);
    }
    CHECK(office.fault({}, "1").starts_with("1 signer is required, but 0 are named"));
    CHECK(office.fault({}, "any") == "");
}

TEST_CASE("trust: a keyring stands for whoever is in it, unless fingerprints are named") {
    const Office office;
    TrustRequest open;
    open.keyrings = {office.ring};
    CHECK(office.fault(open, "5") == "");
    CHECK(office.fault(open, "all").find("a keyring accepts every signer in it") !=
          std::string::npos);
    open.keys = {office.alice};
    CHECK_FALSE(office.fault(open, "all") == "");

    TrustRequest named = open;
    named.pgp = {office.carol};
    CHECK(office.fault(named, "all") == "");
    CHECK(office.fault(named, "2") == "");
    CHECK(office.fault(named, "3").starts_with("3 signers are required, but 2 are named"));

    TrustRequest old = open; // a keyring that is there for old signatures only
    old.accepts_legacy = true;
    CHECK(office.fault(old, "all") == "");
    old.keys.clear();
    CHECK_FALSE(office.fault(old, "all") == "");
    CHECK_FALSE(office.fault({}, "all") == "");
}

TEST_CASE("trust: roots stand for everybody under them, unless a signer's certificate is named") {
    const Office office;
    TrustRequest roots = of_the_lab();
    roots.use_certificates = true;
    CHECK(office.fault(roots, "7") == "");
    CHECK(office.fault(roots, "all").find("roots accept every signer certified under them") !=
          std::string::npos);
    roots.counts_roots = true; // of a policy: the root is who has to have signed
    CHECK(office.fault(roots, "all") == "");
    CHECK(office.fault(roots, "7") == "");

    TrustRequest named = of_the_lab();
    named.certificates = {lab("good")};
    CHECK(office.fault(named, "all") == "");
    CHECK(office.fault(named, "1") == "");
    CHECK(office.fault(named, "2").starts_with(kTooMany2));
    named.certificates.push_back(lab("silent"));
    CHECK(office.fault(named, "2") == "");
    named.counts_roots = true;
    CHECK(office.fault(named, "9") == "");
    const auto trust = office.load(named);
    REQUIRE(trust);
    REQUIRE(trust->roots.size() == 1);
    CHECK(trust->roots[0].subject == "O=Lab, CN=root");
    REQUIRE(trust->certificates.size() == 2);
    CHECK(trust->certificates[0].fingerprint ==
          fingerprint_of(certificate_sample::chain_of("good").leaf()));
    CHECK(trust->certificates[1].key ==
          certificate_sample::chain_of("silent").leaf_key()->fingerprint());
}

TEST_CASE("trust: what is not asked for is not loaded") {
    const Office office;
    TrustRequest request;
    request.keys = {office.alice};
    request.read_keys = {*PublicKey::read(office.bob)};
    request.now = 42;
    request.accepts_legacy = true;
    const auto trust = office.load(request);
    REQUIRE(trust);
    CHECK(trust->now == 42);
    REQUIRE(trust->keys.size() == 2);
    CHECK(trust->keys[0].fingerprint() == PublicKey::read(office.bob)->fingerprint());
    CHECK(trust->keys[1].fingerprint() == PublicKey::read(office.alice)->fingerprint());
    CHECK_FALSE(trust->keyring);
    CHECK_FALSE(trust->legacy_judge);
    CHECK_FALSE(trust->certificate_judge);
    CHECK_FALSE(request.is_empty());

    request = {};
    CHECK(request.is_empty());
    request.keyrings = {office.ring};
    CHECK_FALSE(office.load(request)->legacy_judge);
    request.accepts_legacy = true;
    CHECK(office.load(request)->legacy_judge);
    CHECK(office.load(request)->keyring->certificates().size() == 1);
    request.keyrings.push_back(office.place.path() / "none");
    CHECK_FALSE(office.load(request));
}

TEST_CASE("trust: the user's own keyring counts where it is asked for") {
    const Office office;
    const openpgp::KeyDirectory own(office.place.path() / "own");
    REQUIRE(own.import(*openpgp::Keyring::read(office.ring)));
    TrustRequest request;
    request.keyrings = {data("pgp-public.bin")};
    const auto has_carol = [&] {
        const auto trust = office.load(request);
        REQUIRE(trust);
        CHECK(trust->keyring->find("12045C8C0B1004D058DE4BEDA20C27EE7FF7BA84") != nullptr);
        return trust->keyring->find(office.carol) != nullptr;
    };
    CHECK_FALSE(has_carol());
    request.use_default_keyrings = true;
    CHECK(has_carol());
}

TEST_CASE("trust: old signatures are judged by the keys of the keyring, where they are accepted") {
    const Office office;
    TrustRequest request;
    request.keyrings = {data("pgp-public.bin")};
    request.now = 1800000000;
    const auto opened = Image::open(data("one-group-signed-legacy-group.sif"));
    REQUIRE(opened);
    const auto is_verified = [&] {
        const auto trust = office.load(request);
        REQUIRE(trust);
        const auto found = verify_signatures(*opened, *trust, {1, {}});
        REQUIRE(found);
        return found->is_verified;
    };
    CHECK_FALSE(is_verified());
    request.accepts_legacy = true;
    CHECK(is_verified());
    request.keyrings = {office.ring}; // of another person
    CHECK_FALSE(is_verified());
}

namespace {

/// An image that a key of the lab has signed, with its certificate next to the signature or not.
struct Certified {
    TempDirectory place = directory();
    fs::path path = place.path() / "a.sif";

    explicit Certified(const std::string& name, bool has_chain = true) {
        write(path, image());
        Signers signers;
        auto key = PrivateKey::read(certificate_sample::authority().file(name + ".key"));
        REQUIRE(key);
        const auto chain = certificate_sample::chain_of(name).pem();
        REQUIRE(chain);
        signers.keys.push_back({std::move(*key), has_chain ? *chain : ""});
        REQUIRE(sign_image(path, signers, {}));
    }
    [[nodiscard]] Verification verify(const TrustRequest& request) const {
        const auto trust = load_trust(request, Environment());
        REQUIRE_MESSAGE(trust, (trust ? "" : words(trust.error())));
        const auto opened = Image::open(path);
        auto found = verify_signatures(*opened, *trust, {});
        REQUIRE(found);
        return std::move(*found);
    }
};

} // namespace

TEST_CASE("trust: a certificate next to the signature counts by its root, a given one alone") {
    const Certified good("good");
    const Certified silent("silent");
    const Certified bare("good", false);
    TrustRequest roots = of_the_lab();
    roots.use_certificates = true;
    const Verification found = good.verify(roots);
    CHECK(found.because == "");
    CHECK(found.is_verified);
    const SignatureState& state = found.signatures.at(0);
    CHECK(state.subject == "O=Lab, CN=good");
    CHECK(state.root == "O=Lab, CN=root");
    CHECK(state.root_identity == identity_of(certificate_sample::chain_of("root").leaf()));
    CHECK(state.key_file == "");
    CHECK(state.signer ==
          "certificate:" + fingerprint_of(certificate_sample::chain_of("good").leaf()));
    CHECK_FALSE(state.stamped);
    CHECK(silent.verify(roots).is_verified);
    CHECK_FALSE(bare.verify(roots).is_verified); // nobody says whose key it is

    TrustRequest named = of_the_lab();
    named.certificates = {lab("good")};
    CHECK(good.verify(named).is_verified);
    CHECK(bare.verify(named).is_verified);
    CHECK(bare.verify(named).signatures.at(0).key_file == lab("good").native());
    CHECK_FALSE(silent.verify(named).is_verified); // of the same root, but none who was named

    named.counts_roots = true;
    CHECK(silent.verify(named).is_verified);
    named.certificates = {lab("old")}; // another key, and a certificate that has expired
    named.counts_roots = false;
    CHECK_FALSE(good.verify(named).is_verified);
    const Verification expired = Certified("old").verify(named);
    CHECK_FALSE(expired.is_verified);
    CHECK(expired.signatures.at(0).because.find("expired on 2021-01-01") != std::string::npos);
    CHECK(remedy_of(expired) == expired.signatures.at(0).help);
}

TEST_CASE("policy: its files are next to it, its fingerprints ask the keyrings") {
    const Office office;
    const fs::path file = office.place.path() / "policy.yaml";
    fs::create_directory(office.place.path() / "pki");
    for (const char* const name : {"root", "issuing"}) {
        fs::copy_file(lab(name), office.place.path() / "pki" / (std::string(name) + ".pem"));
    }
    const auto policy =
        read_policy("kind: Policy\nrequire: 2\nkeys: [alice.pub, ./bob.pub]\npgp: "
                    "[abcdef0123456789abcdef0123456789abcdef01]\ncertificates: {roots: "
                    "[pki/root.pem], intermediates: [pki/../pki/issuing.pem], revocation: hard}\n",
                    file);
    REQUIRE(policy);
    TrustRequest request;
    REQUIRE(add_policy(*policy, request));
    CHECK(request.require == "2");
    CHECK(request.keys == std::vector<fs::path>{office.alice, office.bob});
    CHECK(request.pgp == std::vector<std::string>{"ABCDEF0123456789ABCDEF0123456789ABCDEF01"});
    CHECK(request.use_default_keyrings);
    CHECK(request.use_certificates);
    CHECK(request.counts_roots);
    CHECK(request.authorities.roots == std::vector<fs::path>{office.place.path() / "pki/root.pem"});
    CHECK(request.authorities.intermediates ==
          std::vector<fs::path>{office.place.path() / "pki/issuing.pem"});
    CHECK(request.authorities.revocation == Revocation::kHard);

    const auto plain = read_policy("kind: Policy\nkeys: [alice.pub]\n", file);
    TrustRequest few;
    REQUIRE(add_policy(*plain, few));
    CHECK(few.require == "any");
    CHECK_FALSE(few.use_default_keyrings);
    CHECK_FALSE(few.use_certificates);
    CHECK_FALSE(few.counts_roots);
}

TEST_CASE("policy: all of its files that are missing are reported at once, each at its line") {
    const Office office;
    const auto policy =
        read_policy("kind: Policy\nkeys:\n  - alice.pub\n  - nobody.pub\n  - /nowhere/x.pub\n"
                    "certificates:\n  roots: [none.pem]\n",
                    office.place.path() / "policy.yaml");
    REQUIRE(policy);
    TrustRequest request;
    const auto added = add_policy(*policy, request);
    REQUIRE_FALSE(added);
    CHECK(added.error().code() == ErrorCode::kInput);
    const auto& faults = added.error().faults();
    REQUIRE(faults.size() == 3);
    CHECK(faults[0].message == "'nobody.pub' is not there");
    CHECK(faults[0].because == "relative paths begin at the policy's folder");
    CHECK(faults[0].where->line == 4);
    CHECK(faults[1].message == "'/nowhere/x.pub' is not there");
    CHECK(faults[1].because == "nothing has this name on this machine");
    CHECK(faults[1].where->line == 5);
    CHECK(faults[2].message == "'none.pem' is not there");
    CHECK(faults[2].where->line == 7);
}

TEST_CASE("trust: its identity is that of its words and of the content of its files") {
    const Office office;
    const auto identity = [&](const TrustRequest& request) {
        auto text = identity_of(request, office.environment);
        REQUIRE(text);
        return std::move(*text);
    };
    const fs::path copy = office.place.path() / "copy.pub";
    fs::copy_file(office.alice, copy);
    TrustRequest usual;
    usual.keys = {office.alice};
    TrustRequest same = usual;
    same.keys = {copy};
    CHECK(identity(usual) == identity(same));

    std::set<std::string> all{identity(usual)};
    const std::function<void(TrustRequest&)> changes[] = {
        [&](TrustRequest& other) { other.keys = {office.bob}; },
        [&](TrustRequest& other) { other.keys = {}; },
        [&](TrustRequest& other) { other.read_keys = {*PublicKey::read(office.bob)}; },
        [&](TrustRequest& other) { other.keyrings = {office.ring}; },
        [&](TrustRequest& other) { other.pgp = {office.carol}; },
        [&](TrustRequest& other) { other.certificates = {office.ring}; },
        [&](TrustRequest& other) { other.authorities.roots = {office.ring}; },
        [&](TrustRequest& other) { other.authorities.intermediates = {office.ring}; },
        [&](TrustRequest& other) { other.authorities.timestamp_roots = {office.ring}; },
        [&](TrustRequest& other) { other.authorities.crls = {office.ring}; },
        [&](TrustRequest& other) { other.authorities.revocation = Revocation::kSoft; },
        [&](TrustRequest& other) { other.authorities.revocation = Revocation::kHard; },
        [&](TrustRequest& other) { other.require = "1"; },
        [&](TrustRequest& other) { other.use_certificates = true; },
        [&](TrustRequest& other) { other.accepts_legacy = true; },
        [&](TrustRequest& other) { other.counts_roots = true; },
        [&](TrustRequest& other) { other.use_default_keyrings = true; },
    };
    for (const auto& change : changes) {
        TrustRequest other = usual;
        change(other);
        CHECK(all.insert(identity(other)).second);
    }
    // A key that comes into the user's own keyring changes who is trusted by it alone.
    TrustRequest own = usual;
    own.use_default_keyrings = true;
    const std::string before = identity(own);
    const openpgp::KeyDirectory keys(office.place.path() / "own");
    REQUIRE(keys.import(*openpgp::Keyring::read(office.ring)));
    CHECK(identity(own) != before);
    CHECK(identity(usual) == identity(same));
    usual.keys = {office.place.path() / "none"};
    CHECK_FALSE(identity_of(usual, office.environment));
}
