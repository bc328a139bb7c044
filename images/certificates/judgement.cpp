// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/judgement.hpp"

#include "images/certificates/handles.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace cybele::images {

namespace {

/// A verdict of OpenSSL and the sentence for it: {0} is the certificate, {1} its issuer, {2} and
/// {3} the times between which it is valid.
struct VerdictSentence {
    int code;
    const char* because;
    const char* help;
    bool lacks_issuer = false;
};

constexpr const char* kGiveIssuer =
    "give the missing certificates: --certificate-intermediates FILE, --certificate-roots FILE";
constexpr const char* kAskIssuer = "ask the certificate's issuer for another one";

constexpr const char* kNoIssuer = "no certificate of '{1}', who issued '{0}', is known";

constexpr VerdictSentence kVerdictSentences[] = {
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, kNoIssuer, kGiveIssuer, true},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, kNoIssuer, kGiveIssuer, true},
    {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, kNoIssuer, kGiveIssuer, true},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
     "it leads to '{0}', which is none of the trusted roots",
     "if you trust it, give it: --certificate-roots FILE"},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
     "'{0}' is self-signed and is none of the trusted roots",
     "if you trust it, give it as a root too: --certificate-roots FILE",
     true},
    {X509_V_ERR_CERT_UNTRUSTED, "'{0}' is none of the trusted roots", kGiveIssuer},
    {X509_V_ERR_CERT_REJECTED, "'{0}' is marked as rejected", kAskIssuer},
    {X509_V_ERR_CERT_HAS_EXPIRED,
     "'{0}' expired on {3}",
     "ask the signer to sign again with a renewed certificate; with `sign --timestamp-url URL` a "
     "signature stays valid after its certificate expires"},
    {X509_V_ERR_CERT_NOT_YET_VALID,
     "'{0}' is valid from {2} only",
     "check the clock of this machine"},
    {X509_V_ERR_INVALID_CA,
     "'{0}' is not a certificate authority and may not issue certificates",
     kAskIssuer},
    {X509_V_ERR_INVALID_NON_CA,
     "'{0}' is the certificate of an authority where a signer's is expected",
     kAskIssuer},
    {X509_V_ERR_PATH_LENGTH_EXCEEDED,
     "more authorities stand below '{0}' than it allows",
     kAskIssuer},
    {X509_V_ERR_KEYUSAGE_NO_CERTSIGN, "the key of '{0}' may not sign certificates", kAskIssuer},
    {X509_V_ERR_PERMITTED_VIOLATION,
     "the name '{0}' is not one that its authority may give",
     kAskIssuer},
    {X509_V_ERR_EXCLUDED_VIOLATION,
     "the name '{0}' is one that its authority may not give",
     kAskIssuer},
    {X509_V_ERR_CERT_SIGNATURE_FAILURE,
     "the signature on '{0}' is not that of '{1}'",
     "copy the certificates again"},
    {X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION,
     "'{0}' has a critical extension that is not known",
     kAskIssuer},
    {X509_V_ERR_CERT_CHAIN_TOO_LONG, "the path to a root is too long", kGiveIssuer},
    {X509_V_ERR_EE_KEY_TOO_SMALL, "the key of '{0}' is too weak: less than RSA 2048", kAskIssuer},
    {X509_V_ERR_CA_KEY_TOO_SMALL, "the key of '{0}' is too weak: less than RSA 2048", kAskIssuer},
    {X509_V_ERR_CA_MD_TOO_WEAK,
     "'{0}' is signed with a hash that is broken, such as SHA-1",
     kAskIssuer},
};

std::string fill(const char* sentence, const CertificateHandle& certificate) {
    return fmt::format(fmt::runtime(sentence),
                       subject_of(certificate),
                       issuer_of(certificate),
                       x509::shown_time(x509::unix_time(X509_get0_notBefore(certificate.get()))),
                       x509::shown_time(x509::unix_time(X509_get0_notAfter(certificate.get()))));
}

void explain(int code, const CertificateHandle& certificate, PathJudgement& judgement) {
    const auto* const known = std::ranges::find(kVerdictSentences, code, &VerdictSentence::code);
    if (known == std::end(kVerdictSentences)) {
        judgement.because =
            fmt::format("'{}': {}", subject_of(certificate), X509_verify_cert_error_string(code));
        judgement.help = kAskIssuer;
        return;
    }
    judgement.lacks_issuer = known->lacks_issuer;
    judgement.because = fill(known->because, certificate);
    judgement.help = known->help;
}

/// RFC 5280 section 4.2.1.12, for an authority too: what it may not do its certificates may not.
/// Each certificate of the path counts, as in the library that Apptainer uses.
bool may_sign_code(const CertificateHandle& certificate) {
    const std::uint32_t usages = X509_get_extended_key_usage(certificate.get());
    return usages == UINT32_MAX || (usages & (XKU_CODE_SIGN | XKU_ANYEKU)) != 0;
}

void judge_usage(PathJudgement& judgement) {
    for (const CertificateHandle& certificate : judgement.path) {
        if (!may_sign_code(certificate)) {
            judgement.because = fmt::format("'{}' is issued for another purpose than signing code",
                                            subject_of(certificate));
            judgement.help =
                "use a certificate with the extended key usage codeSigning, or with none";
            return;
        }
    }
    const std::uint32_t usage = X509_get_key_usage(judgement.path.front().get());
    if ((usage & KU_DIGITAL_SIGNATURE) == 0) {
        judgement.because = fmt::format("the key of '{}' is not issued for signatures",
                                        subject_of(judgement.path.front()));
        judgement.help = "use a certificate with the key usage digitalSignature";
    }
}

} // namespace

Result<PathJudgement> judge_path(const PathQuestion& question) {
    CYBELE_TRY(const x509::Store store, x509::store_of(question.anchors, question.at));
    CYBELE_TRY(const x509::Stack untrusted, x509::stack_of(question.untrusted));
    const x509::Context context(X509_STORE_CTX_new());
    if (context == nullptr ||
        X509_STORE_CTX_init(context.get(), store.get(), question.leaf.get(), untrusted.get()) !=
            1) {
        return x509::refused("cannot verify a certificate");
    }
    const int holds = X509_verify_cert(context.get());
    const int code = X509_STORE_CTX_get_error(context.get());
    PathJudgement judgement;
    const STACK_OF(X509)* const path = X509_STORE_CTX_get0_chain(context.get());
    for (int index = 0; index < sk_X509_num(path); ++index) {
        judgement.path.push_back(x509::share(sk_X509_value(path, index)));
    }
    if (holds != 1) {
        CertificateHandle certificate = x509::share(X509_STORE_CTX_get_current_cert(context.get()));
        explain(code, certificate == nullptr ? question.leaf : certificate, judgement);
        if (question.is_system_pool && judgement.help == kGiveIssuer) {
            judgement.because += "; the system's pool of roots was asked";
        }
    } else if (judgement.path.empty()) {
        return x509::refused("cannot verify a certificate");
    } else {
        judge_usage(judgement);
    }
    ERR_clear_error();
    return judgement;
}

} // namespace cybele::images
