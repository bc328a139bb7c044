// SPDX-License-Identifier: Apache-2.0
// Files of certificates in every form, and the rules of a path.
#include "certificate_sample.hpp"

using namespace cybele;
using namespace cybele::images;
using namespace cybele::images::certificate_sample;

namespace {

std::string text_of(const std::string& name) {
    return read_file(authority().file(name)).value_or("");
}

/// Runs openssl in the authority's folder.
void authority_openssl(const std::string& arguments) {
    Command command;
    command.argv = {"sh", "-c", "openssl " + arguments};
    command.directory = authority().file("");
    const auto outcome = run_process(command);
    REQUIRE(outcome);
    INFO(outcome->errors);
    REQUIRE(outcome->ok());
}

std::string because_of(const Result<Chain>& chain) {
    REQUIRE(!chain);
    CHECK(chain.error().code() == ErrorCode::kInput);
    CHECK(!chain.error().faults().front().help.empty());
    return chain.error().faults().front().because;
}

} // namespace

TEST_CASE("a chain file is read whole, the signer's certificate first, whatever the order") {
    const std::string files[] = {
        text_of("good.pem") + text_of("issuing.pem") + text_of("root.pem"),
        text_of("root.pem") + "some text\n" + text_of("issuing.pem") + text_of("good.pem"),
        text_of("good.key") + text_of("issuing.pem") + text_of("good.pem") + text_of("root.pem"),
    };
    for (const std::string& bytes : files) {
        const auto chain = Chain::parse(bytes, "chain.pem");
        REQUIRE(chain);
        CHECK(chain->certificates().size() == 3);
        CHECK(subject_of(chain->leaf()) == "O=Lab, CN=good");
        CHECK(issuer_of(chain->leaf()) == "O=Lab, CN=issuing");
        const auto pem = chain->pem();
        REQUIRE(pem);
        const auto again = Chain::parse(*pem, "again");
        REQUIRE(again);
        CHECK(again->certificates().size() == 3);
        CHECK(fingerprint_of(again->leaf()) == fingerprint_of(chain->leaf()));
    }
}

TEST_CASE("DER, PKCS #7 in PEM and DER, and OpenSSL's trusted form are read") {
    authority_openssl("x509 -in good.pem -outform DER -out good.der");
    authority_openssl(
        "crl2pkcs7 -nocrl -certfile root.pem -certfile issuing.pem -certfile good.pem -out "
        "good.p7b");
    authority_openssl("pkcs7 -in good.p7b -outform DER -out good.p7c");
    authority_openssl("x509 -in good.pem -trustout -addtrust codeSigning -out trusted.pem");
    const std::pair<std::string, std::size_t> rows[] = {
        {"good.der", 1}, {"good.p7b", 3}, {"good.p7c", 3}, {"trusted.pem", 1}};
    for (const auto& [name, count] : rows) {
        CAPTURE(name);
        const auto chain = Chain::read(authority().file(name));
        REQUIRE(chain);
        CHECK(chain->certificates().size() == count);
        CHECK(subject_of(chain->leaf()) == "O=Lab, CN=good");
        const auto key = chain->leaf_key();
        REQUIRE(key);
        CHECK(key->algorithm() == "ECDSA P-256");
    }
}

TEST_CASE("a file that is no chain is refused with what it is") {
    CHECK(because_of(Chain::read(authority().file("good.key"))) == "it holds a key");
    CHECK(because_of(Chain::parse("", "x")) == "it is empty");
    CHECK(because_of(Chain::parse("hello", "x")) == "it is neither PEM nor DER");
    std::string damaged = text_of("good.pem");
    damaged[damaged.size() / 2] ^= 1;
    CHECK(!because_of(Chain::parse(damaged, "x")).empty());
    std::string many;
    for (int count = 0; count < 65; ++count) {
        many += text_of("good.pem");
    }
    CHECK(has(because_of(Chain::parse(many, "x")), "more than 64"));
    CHECK(!Chain::read(authority().file("no-such-file")));
}

TEST_CASE("names are shown without control characters") {
    authority_openssl(
        "req -x509 -newkey ed25519 -nodes -keyout n.key -subj \"$(printf '/CN=a\\033[31mb')\" "
        "-days 9 -out n.pem 2>/dev/null");
    const std::string name = subject_of(chain_of("n").leaf());
    CHECK(name.find('\x1b') == std::string::npos);
    CHECK(has(name, "[31mb"));
}

TEST_CASE(
    "a good chain: through intermediates, the file itself, the envelope, or an anchor between") {
    const CertificateVerdict verdict = verdict_of("good");
    CHECK(verdict.because == "");
    CHECK(verdict.is_valid);
    CHECK(verdict.path ==
          std::vector<std::string>{"O=Lab, CN=good", "O=Lab, CN=issuing", "O=Lab, CN=root"});
    CHECK(verdict.fingerprint.size() == 64);

    CertificateTrust trust = usual_trust();
    trust.intermediates.clear();
    CHECK(!verdict_of("good", trust).is_valid);
    const auto store = TrustStore::load(trust);
    REQUIRE(store);
    const SigningTime time{now(), std::nullopt};
    const auto whole = Chain::parse(text_of("good.pem") + text_of("issuing.pem"), "whole");
    REQUIRE(whole);
    CHECK(verify_chain(*whole, {}, *store, time)->is_valid);
    CHECK(
        verify_chain(chain_of("good"), chain_of("issuing").certificates(), *store, time)->is_valid);
    trust.roots = {authority().file("issuing.pem")};
    CHECK(verdict_of("good", trust).is_valid);
}

TEST_CASE("each way not to hold has its sentence and a remedy") {
    struct Row {
        const char* name;
        const char* because; ///< empty: it holds
    };
    const Row rows[] = {
        {"any-purpose", ""},
        {"no-purpose", ""},
        {"server", "'O=Lab, CN=server' is issued for another purpose than signing code"},
        {"encipherment", "the key of 'O=Lab, CN=encipherment' is not issued for signatures"},
        {"old", "'O=Lab, CN=old' expired on 2021-01-01 00:00:00 UTC"},
        {"self", "'CN=self' is self-signed and is none of the trusted roots"},
        {"deep", "more authorities stand below 'O=Lab, CN=short' than it allows"},
        {"misnamed", "the name 'O=Lab, CN=misnamed' is not one that its authority may give"},
        {"wrong-authority",
         "'O=Lab, CN=server-only' is issued for another purpose than signing code"},
        {"not-authority",
         "'O=Lab, CN=good' is not a certificate authority and may not issue certificates"},
    };
    CertificateTrust trust = usual_trust();
    for (const char* const name : {"short", "too-long", "named", "server-only", "good"}) {
        trust.intermediates.push_back(authority().file(std::string(name) + ".pem"));
    }
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const CertificateVerdict verdict = verdict_of(row.name, trust);
        CHECK(verdict.because == row.because);
        CHECK(verdict.is_valid == (*row.because == '\0'));
        CHECK(verdict.help.empty() == verdict.is_valid);
    }
    trust.roots.push_back(authority().file("self.pem"));
    CHECK(verdict_of("self", trust).is_valid);
    trust.roots.push_back(authority().file("weak.pem"));
    CHECK(has(verdict_of("weak", trust).because, "too weak"));
}

TEST_CASE("a missing issuer, an unknown root, and the clock") {
    CertificateTrust trust = usual_trust();
    trust.intermediates.clear();
    CHECK(verdict_of("good", trust).because ==
          "no certificate of 'O=Lab, CN=issuing', who issued 'O=Lab, CN=good', is known");
    CHECK(verdict_of("good", trust).lacks_issuer);
    trust = usual_trust();
    trust.roots = {authority().file("self.pem")};
    trust.intermediates.push_back(authority().file("root.pem"));
    CHECK(verdict_of("good", trust).because ==
          "it leads to 'O=Lab, CN=root', which is none of the trusted roots");
    CHECK_FALSE(verdict_of("good", trust).lacks_issuer);
    trust = usual_trust();
    CHECK(has(verdict_of("good", trust, {now() + 20 * kYear, std::nullopt}).because, "expired on"));
    CHECK(has(verdict_of("good", trust, {now() - kYear, std::nullopt}).because, "is valid from"));
    CHECK(verdict_of("brief", trust).is_valid);
    CHECK(has(verdict_of("brief", trust, {now() + 31 * kDay, std::nullopt}).because, "expired on"));
}

TEST_CASE("a certificate that was changed does not hold") {
    std::string bytes = text_of("good.der");
    if (bytes.empty()) {
        authority_openssl("x509 -in good.pem -outform DER -out good.der");
        bytes = text_of("good.der");
    }
    bytes[bytes.size() - 5] ^= 1; // in its signature
    const auto chain = Chain::parse(bytes, "changed");
    REQUIRE(chain);
    const auto store = TrustStore::load(usual_trust());
    REQUIRE(store);
    const auto verdict = verify_chain(*chain, {}, *store, {now(), std::nullopt});
    REQUIRE(verdict);
    CHECK(verdict->because ==
          "the signature on 'O=Lab, CN=good' is not that of 'O=Lab, CN=issuing'");
}

TEST_CASE("without roots the system's pool decides, and says so") {
    CertificateTrust trust = usual_trust();
    trust.roots.clear();
    CHECK(TrustStore::load(trust).error().code() == ErrorCode::kEnvironment);
    trust.system_pool = authority().file("self.pem");
    CHECK(has(verdict_of("good", trust).because, "the system's pool of roots was asked"));
    trust.system_pool = authority().file("root.pem");
    CHECK(verdict_of("good", trust).is_valid);
}

TEST_CASE("files of the wrong kind are refused by name") {
    CertificateTrust trust = usual_trust();
    trust.roots = {authority().file("good.key")};
    CHECK(TrustStore::load(trust).error().faults().front().because == "it holds a key");
    trust = usual_trust();
    trust.crls = {authority().file("root.pem")};
    CHECK(TrustStore::load(trust).error().faults().front().because == "it holds certificates");
    CHECK(revocation_of("hard").value_or(Revocation::kNone) == Revocation::kHard);
    CHECK(revocation_of("maybe").error().code() == ErrorCode::kUsage);
}
