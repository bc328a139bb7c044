// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/policy.hpp"

#include "support/counted.hpp"
#include "support/document_view.hpp"

#include <charconv>
#include <set>

namespace cybele::images {
namespace {

using document::Field;
using document::Reading;
using document::Shape;
using document::Table;
using document::Type;
using document::ValueFault;
using document::View;

ValueFault check_fingerprint(std::string_view text) {
    if (text.size() == 40 &&
        text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos) {
        return {};
    }
    return {"short ids of keys can be forged; a fingerprint has 40 hexadecimal digits",
            "copy what `gpg --fingerprint` prints, without blanks"};
}

constexpr document::Rule kFingerprintRule{
    "a PGP fingerprint", "^[0-9A-Fa-f]{40}$", check_fingerprint};
constexpr std::string_view kRequireWords[] = {"any", "all"};
constexpr std::string_view kRevocationWords[] = {"none", "soft", "hard"};
constexpr Shape kRequire{.type = Type::kCount, .words = kRequireWords};
constexpr Shape kRevocation{.type = Type::kWord, .words = kRevocationWords};
constexpr Shape kPath{.type = Type::kPath};
constexpr Shape kPaths{.type = Type::kList, .item = &kPath};
constexpr Shape kFingerprint{.type = Type::kText, .rule = &kFingerprintRule};
constexpr Shape kFingerprints{.type = Type::kList, .item = &kFingerprint};
constexpr Field kCertificateFields[] = {
    {"roots", &kPaths, "certificates that are trusted", true},
    {"intermediates", &kPaths, "certificates between them and the signers'"},
    {"revocation",
     &kRevocation,
     "what an unknown state means: soft accepts, hard refuses",
     false,
     "none"},
};
constexpr Table kCertificateTable{.title = "certificates", .fields = kCertificateFields};
constexpr Shape kCertificates{.type = Type::kMap, .table = &kCertificateTable};
constexpr Field kPolicyFields[] = {
    {"require", &kRequire, "how many of the signers below must have signed", false, "any"},
    {"keys", &kPaths, "public keys (PEM)"},
    {"certificates", &kCertificates, "signers with a certificate"},
    {"pgp", &kFingerprints, "fingerprints of PGP keys"},
};
constexpr Table kPolicyTable{.title = "Policy", .fields = kPolicyFields};
constexpr document::Kind kPolicy{.name = "Policy",
                                 .description = "Whose signatures an image must carry.",
                                 .table = &kPolicyTable};

std::optional<std::size_t> number(const std::string& text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

void check_signers(Reading& reading, const Policy& policy) {
    const std::size_t roots = policy.certificates ? policy.certificates->roots.size() : 0;
    const std::set<std::string> keys(policy.keys.begin(), policy.keys.end());
    const std::set<std::string> pgp(policy.pgp.begin(), policy.pgp.end());
    const std::size_t signers = keys.size() + pgp.size() + roots;
    const bool is_complete = !reading.faults().has_errors(); // else a field may be meant for it
    if (signers == 0 && is_complete && reading.is_good("keys") && reading.is_good("pgp") &&
        reading.is_good("certificates")) {
        reading.complain("keys",
                         problem("policy-without-signer", "the policy names no signer"),
                         "it would accept every image, or none",
                         "add `keys: [centre.pub]`, with the key of who must have signed");
        return;
    }
    const auto count = number(policy.require);
    if (!count || !reading.is_good("require")) {
        return;
    }
    if (*count == 0) {
        reading.complain("require",
                         problem("policy-requires-none", "'require' is 0"),
                         "unsigned images would pass",
                         "write `any`, or how many signatures are required");
    } else if (roots == 0 && *count > signers) {
        reading.complain("require",
                         problem("policy-requires-too-many",
                                 "'require' is " + policy.require + ", but the policy names " +
                                     counted(signers, "signer")),
                         "no image could pass",
                         "write `all`, or add signers");
    }
}

} // namespace

std::size_t Policy::wanted(std::size_t signers) const {
    if (require == "all") {
        return signers;
    }
    return number(require).value_or(1);
}

const document::Kind& policy_kind() {
    return kPolicy;
}

Result<Policy> read_policy(std::string text, const std::filesystem::path& file) {
    Policy policy;
    CYBELE_TRY(Reading reading, Reading::open(kPolicy, std::move(text), file.string()));
    const View root = reading.root();
    policy.require = root.text("require");
    policy.keys = root.list("keys");
    policy.pgp = root.list("pgp");
    if (root.has("certificates")) {
        const View view = root.table("certificates");
        policy.certificates = PolicyCertificates{
            view.list("roots"), view.list("intermediates"), view.text("revocation")};
    }
    check_signers(reading, policy);
    if (reading.faults().has_errors()) {
        return fail(reading.faults().take());
    }
    policy.folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    policy.source = reading.source();
    policy.marks = reading.marks();
    return policy;
}

} // namespace cybele::images
