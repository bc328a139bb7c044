// SPDX-License-Identifier: Apache-2.0
// RFC 3161 time stamps, made by OpenSSL's authority over HTTP on loopback.
#include "certificate_sample.hpp"
#include "images/signatures/dsse.hpp"

using namespace cybele;
using namespace cybele::images;
using namespace cybele::images::certificate_sample;

namespace {

const std::string kSignature = "the bytes of a signature";

TrustStore trusted(const CertificateTrust& trust = usual_trust()) {
    auto store = TrustStore::load(trust);
    REQUIRE(store);
    return std::move(*store);
}

Result<std::string> fetch(const std::string& route, const TrustStore* trust = nullptr) {
    return fetch_timestamp(
        authority().tsa_url(route), kSignature, build_tree_client(), trust, now());
}

std::string token() {
    static const std::string made = fetch("tsa").value_or("");
    REQUIRE(!made.empty());
    return made;
}

} // namespace

TEST_CASE("a stamp is fetched, judged, and says when and by whom") {
    const TrustStore trust = trusted();
    const auto fetched = fetch("tsa", &trust);
    REQUIRE(fetched);
    const TimestampVerdict verdict = verify_timestamp(*fetched, kSignature, trust, now());
    CHECK(verdict.because == "");
    CHECK(verdict.is_valid);
    CHECK(verdict.authority == "O=Lab, CN=tsa");
    CHECK(verdict.time <= now());
    CHECK(verdict.time > now() - 600);
}

TEST_CASE("openssl ts accepts our request, and its token is ours to the byte") {
    const auto folder = TempDirectory::make("/var/tmp", "timestamp-test");
    REQUIRE(folder);
    REQUIRE(write_file(folder->path() / "token", token()));
    REQUIRE(write_file(folder->path() / "data", kSignature));
    Command command;
    command.argv = {"openssl",
                    "ts",
                    "-verify",
                    "-token_in",
                    "-in",
                    "token",
                    "-data",
                    "data",
                    "-CAfile",
                    authority().file("root.pem"),
                    "-untrusted",
                    authority().file("issuing.pem")};
    command.directory = folder->path();
    const auto outcome = run_process(command);
    REQUIRE(outcome);
    CHECK(has(outcome->output, "Verification: OK"));
}

TEST_CASE("a stamp that does not hold says why") {
    const TrustStore trust = trusted();
    const auto because = [&](const std::string& bytes, const std::string& signature) {
        const TimestampVerdict verdict = verify_timestamp(bytes, signature, trust, now());
        CHECK(!verdict.is_valid);
        return verdict.because;
    };
    CHECK(because(token(), "other bytes") == "it is over another signature");
    CHECK(because("no token", kSignature) == "it is not a time stamp");
    CHECK(because("", kSignature) == "it is not a time stamp");
    std::string damaged = token();
    damaged[damaged.size() - 8] ^= 1;
    CHECK(!because(damaged, kSignature).empty());
    CHECK(has(verify_timestamp(token(), kSignature, trust, now() - kDay).because,
              "which is yet to come"));

    CertificateTrust other = usual_trust();
    other.timestamp_roots = {authority().file("self.pem")};
    CHECK(has(verify_timestamp(token(), kSignature, trusted(other), now()).because,
              "the authority's certificate does not hold"));
    other = usual_trust();
    other.roots = {authority().file("self.pem")};
    other.timestamp_roots = {authority().file("root.pem")};
    CHECK(verify_timestamp(token(), kSignature, trusted(other), now()).is_valid);
}

TEST_CASE("every byte of a token that is flipped makes it fail, or changes nothing that counts") {
    const TrustStore trust = trusted();
    const TimestampVerdict whole = verify_timestamp(token(), kSignature, trust, now());
    for (std::size_t at = 0; at < token().size(); at += 7) {
        std::string flipped = token();
        flipped[at] ^= 0x20;
        const TimestampVerdict verdict = verify_timestamp(flipped, kSignature, trust, now());
        CHECK((!verdict.is_valid || verdict.time == whole.time));
    }
}

TEST_CASE("an answer that is not what was asked for is refused before it is stored") {
    const TrustStore trust = trusted();
    const auto because = [&](const std::string& route) {
        const auto fetched = fetch(route, &trust);
        REQUIRE(!fetched);
        CHECK(!fetched.error().faults().front().help.empty());
        return fetched.error().faults().front().because;
    };
    CHECK(has(because("refuse"), "the authority does not grant it"));
    CHECK(has(because("purpose"), "HTTP status 500")); // OpenSSL's refuses to sign with it
    CHECK(fetch("replay", &trust));
    CHECK(has(because("replay"), "nonce"));
    CHECK(has(because("no-such-route"), "HTTP status 404"));
    const auto unreachable =
        fetch_timestamp("http://127.0.0.1:1/", kSignature, build_tree_client(), &trust, now());
    CHECK(unreachable.error().code() == ErrorCode::kEnvironment);
    CHECK(!timestamp_token("nothing", "nothing"));
}

TEST_CASE("a stamped signature holds after its certificate has expired, offline") {
    CertificateTrust trust = usual_trust(Revocation::kNone);
    trust.network = nullptr;
    const TrustStore store = trusted(trust);
    const std::int64_t later = now() + 2 * kYear;
    const Chain chain = chain_of("brief");
    const auto without = verify_signer(chain, kSignature, "", store, later);
    CHECK(has(without->because, "expired on"));
    CHECK(has(without->help, "--timestamp-url"));
    const auto with = verify_signer(chain, kSignature, token(), store, later);
    CHECK(with->because == "");
    CHECK(with->is_valid);
    REQUIRE(with->timestamp);
    CHECK(with->judged_at == with->timestamp->time);
    CHECK(with->judged_at < now() + 1);

    SUBCASE("a stamp over something else does not help, and is told") {
        const auto other = verify_signer(chain, "other bytes", token(), store, later);
        CHECK(!other->is_valid);
        REQUIRE(other->warnings.size() == 1);
        CHECK(other->warnings[0] == "the time stamp does not count: it is over another signature");
    }
    SUBCASE("a certificate that had expired before the stamp does not hold") {
        const auto old = verify_signer(chain_of("old"), kSignature, token(), store, now());
        CHECK(has(old->because, "expired on 2021-01-01"));
    }
}

TEST_CASE("certificates and stamp lie beside the signature in its envelope") {
    Envelope envelope;
    envelope.payload_type = kSifMetadataType;
    envelope.payload = "{}";
    const auto pem = chain_of("good").pem();
    REQUIRE(pem);
    envelope.signatures = {{"id", kSignature, *pem, token()}, {"other", "bytes", "", ""}};
    const std::string text = write_envelope(envelope);
    const auto read = parse_envelope(text);
    REQUIRE(read);
    CHECK(read->signatures[0].chain == *pem);
    CHECK(read->signatures[0].timestamp == token());
    CHECK(read->signatures[1].chain.empty());
    CHECK(write_envelope(*read) == text);
    // Without them an envelope has the bytes that it had before there were any.
    envelope.signatures = {{"id", "bytes", "", ""}};
    CHECK(write_envelope(envelope).find("cert") == std::string::npos);
    // They are not signed: a damaged one is no reason to refuse the signature.
    const auto damaged = parse_envelope(
        R"({"payloadType":"t","payload":"","signatures":[{"sig":"AAAA","timestamp":"*"}]})");
    REQUIRE(damaged);
    CHECK(damaged->signatures[0].timestamp == "*");
}
