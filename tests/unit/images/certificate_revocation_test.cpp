// SPDX-License-Identifier: Apache-2.0
// Revocation, asked of OpenSSL's responder and of lists, over HTTP on loopback.
#include "certificate_sample.hpp"
#include "images/certificates/revocation.hpp"

using namespace cybele;
using namespace cybele::images;
using namespace cybele::images::certificate_sample;
using State = RevocationStatus::State;

namespace {

/// The leaf's status; that of the issuing authority comes from the root's list.
RevocationStatus status_of(const CertificateVerdict& verdict) {
    REQUIRE(!verdict.revocation.empty());
    return verdict.revocation.front();
}

} // namespace

TEST_CASE(
    "every certificate but the root is asked about: OCSP for the leaf, a list for its issuer") {
    for (const char* const name : {"good", "by-issuer"}) {
        CAPTURE(name);
        const CertificateVerdict verdict = verdict_of(name, usual_trust(Revocation::kHard));
        CHECK(verdict.because == "");
        CHECK(verdict.is_valid);
        REQUIRE(verdict.revocation.size() == 2);
        CHECK(verdict.revocation[0].state == State::kGood);
        CHECK(has(verdict.revocation[0].learnt_from, "http://127.0.0.1:"));
        CHECK(verdict.revocation[1].subject == "O=Lab, CN=issuing");
        CHECK(verdict.revocation[1].state == State::kGood);
        CHECK(verdict.revocation[1].learnt_from == authority().ocsp_url("crl/root"));
    }
}

TEST_CASE("revoked is refused in both modes, with the day, the reason and who said so") {
    for (const Revocation mode : {Revocation::kSoft, Revocation::kHard}) {
        const CertificateVerdict verdict = verdict_of("revoked", usual_trust(mode));
        CHECK(!verdict.is_valid);
        CHECK(status_of(verdict).state == State::kRevoked);
        CHECK(has(verdict.because, "it was revoked on "));
        CHECK(has(verdict.because, "another one replaced it"));
        CHECK(has(verdict.because, authority().ocsp_url("ocsp")));
    }
    CHECK(verdict_of("revoked").is_valid); // nobody asked
}

TEST_CASE("what cannot be learnt is a warning in soft mode and a refusal in hard mode") {
    struct Row {
        const char* name;
        const char* because;
    };
    const Row rows[] = {
        {"unreachable", "Failed to connect"},
        {"forgotten", "it does not know the certificate"},
        {"by-rogue", "its answer is not signed by one who may"},
        {"by-expired", "its answer is not signed by one who may"},
        {"by-damaged", "its answer is not signed by one who may"},
        {"by-try-later", "it refuses to answer: trylater"},
        {"silent", "it names neither a responder (OCSP) nor a revocation list"},
        {"wrong-list", "its list is that of another issuer"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.name);
        const CertificateVerdict hard = verdict_of(row.name, usual_trust(Revocation::kHard));
        CHECK(!hard.is_valid);
        CHECK(has(hard.because, row.because));
        CHECK(!hard.help.empty());
        const CertificateVerdict soft = verdict_of(row.name, usual_trust(Revocation::kSoft));
        CHECK(soft.is_valid);
        REQUIRE(soft.warnings.size() == 1);
        CHECK(has(soft.warnings[0], row.because));
        CHECK(status_of(soft).state == State::kUnknown);
    }
}

TEST_CASE("an answer to another request is not believed") {
    CHECK(verdict_of("by-replay", usual_trust(Revocation::kHard)).is_valid); // the first one
    const CertificateVerdict verdict = verdict_of("by-replay", usual_trust(Revocation::kHard));
    CHECK(has(verdict.because, "its answer is to another request (wrong nonce)"));
}

TEST_CASE("an answer counts from its making until its end") {
    const CertificateTrust trust = usual_trust(Revocation::kHard);
    const CertificateVerdict stale = verdict_of("good", trust, {now() + kDay, std::nullopt});
    CHECK(has(stale.because, "its answer is out of date since "));
    const CertificateVerdict early = verdict_of("good", trust, {now() - 600, std::nullopt});
    CHECK(!early.is_valid);
    // Made after the signature that it is asked about: its age is no matter.
    const CertificateVerdict stamped = verdict_of("good", trust, {now() + kDay, now()});
    CHECK(stamped.because == "");
    CHECK(stamped.is_valid);
}

TEST_CASE("lists: of a file, of a distribution point, of another authority, too old") {
    CertificateTrust trust = usual_trust(Revocation::kHard);
    CHECK(status_of(verdict_of("listed", trust)).learnt_from ==
          authority().ocsp_url("crl/issuing"));

    trust.network = nullptr;
    CHECK(has(verdict_of("silent", trust).because, "the network is not used"));
    trust.crls = {authority().file("issuing.crl"), authority().file("root.crl")};
    CHECK(verdict_of("silent", trust).is_valid);
    const CertificateVerdict revoked = verdict_of("revoked", trust);
    CHECK(status_of(revoked).state == State::kRevoked);
    CHECK(has(revoked.because, "(the given list)"));

    const CertificateVerdict old = verdict_of("silent", trust, {now() + 31 * kDay, std::nullopt});
    CHECK(has(old.because, "its answer is out of date since "));
    // What is revoked stays revoked.
    CHECK(status_of(verdict_of("revoked", trust, {now() + 31 * kDay, std::nullopt})).state ==
          State::kRevoked);
    trust.crls = {authority().file("root.crl")};
    CHECK(!verdict_of("silent", trust).is_valid);
}

TEST_CASE(
    "a signature that was stamped before the revocation stays good, unless the key was stolen") {
    const auto store = TrustStore::load(usual_trust(Revocation::kHard));
    REQUIRE(store);
    const std::int64_t signed_at = now() - kDay;
    const RevocationQuestion question{
        chain_of("good").leaf(), chain_of("issuing").leaf(), *store, {now(), signed_at}};
    RevocationAnswer answer;
    answer.state = RevocationAnswer::State::kRevoked;
    answer.this_update = now();
    answer.revoked_at = signed_at + 60;
    answer.reason = 4; // superseded
    CHECK(weigh(answer, question, "x").state == State::kGood);
    answer.reason = 1; // its key is compromised
    CHECK(weigh(answer, question, "x").state == State::kRevoked);
    answer.reason = 4;
    answer.revoked_at = signed_at - 60;
    CHECK(weigh(answer, question, "x").state == State::kRevoked);
    answer.this_update = now() + kDay;
    CHECK(weigh(answer, question, "x").state == State::kUnknown);
}

TEST_CASE("without the helper program the reason says so") {
    const HttpClient none = HttpClient::find(
        Environment(EnvironmentMap{{"CYBELE_LIBEXEC", "/nowhere"}}), "/usr/bin/cybelectl");
    CertificateTrust trust = usual_trust(Revocation::kHard);
    trust.network = &none;
    CHECK(has(verdict_of("good", trust).because, "it was looked for in /nowhere"));
}
