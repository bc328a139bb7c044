// SPDX-License-Identifier: Apache-2.0
#include "images/certificates/blocks.hpp"
#include "images/certificates/chain.hpp"
#include "images/certificates/ocsp.hpp"
#include "images/certificates/timestamp.hpp"
#include "images/certificates/trust.hpp"
#include "images/keys/key.hpp"
#include "images/signatures/dsse.hpp"
#include "images/signatures/legacy.hpp"
#include "images/signatures/message.hpp"
#include "images/signatures/policy.hpp"
#include "support/file.hpp"
#include "tests/fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

using namespace cybele;
using namespace cybele::fuzz;
using namespace cybele::images;

namespace {

/// An authority and a certificate of it, until the year 2126; nobody has their keys.
constexpr std::string_view kAuthority = R"(-----BEGIN CERTIFICATE-----
MIIBSDCB+6ADAgECAhRMiPGUyK5Pnw/yhp9opuxsQA6uGDAFBgMrZXAwGTEXMBUG
A1UEAwwORnV6eiBBdXRob3JpdHkwIBcNMjYxMTI2MTIxMDAxWhgPMjEyNjExMDIx
MjEwMDFaMBkxFzAVBgNVBAMMDkZ1enogQXV0aG9yaXR5MCowBQYDK2VwAyEA2KFF
BSomYglnTX72q2ZckeZzyN3b6rdjslDG53rPzs6jUzBRMB0GA1UdDgQWBBQIy1Uu
sPgZfYOd1g4+/zFQ0IGEDjAfBgNVHSMEGDAWgBQIy1UusPgZfYOd1g4+/zFQ0IGE
DjAPBgNVHRMBAf8EBTADAQH/MAUGAytlcANBADvtj4J9+rSxAyUCJAHS8VNVkLeD
PoKFGpOu9XhEUo6TkFrERFdkaOYZIWWWYjpOZq/DtTN/lHRtRy4xQa+VPg8=
-----END CERTIFICATE-----
)";
constexpr std::string_view kSigner = R"(-----BEGIN CERTIFICATE-----
MIHrMIGeAhRG3riTKR05ZNpgFfhS+IrJ08bDcDAFBgMrZXAwGTEXMBUGA1UEAwwO
RnV6eiBBdXRob3JpdHkwIBcNMjYxMTI2MTIxMDAxWhgPMjEyNjExMDIxMjEwMDFa
MBYxFDASBgNVBAMMC0Z1enogU2lnbmVyMCowBQYDK2VwAyEAy1Sbbb9XDgzYzogg
c1aPsVwVFzXMFYz46+dqC9XcbD8wBQYDK2VwA0EA2ktGxAYvnYerzLZ4arcQOTzd
8BdW9XqDBdqrBuXmrvPIGv3WDGT5UX9ldrSXtyt5uvSaBLccCMZB7Be2wlLQAA==
-----END CERTIFICATE-----
)";
constexpr std::int64_t kNow = 1'800'000'000;

/// What a certificate is judged by: the authority as the one root.
const TrustStore& trust() {
    static const TrustStore store = [] {
        const auto folder =
            TempDirectory::make(std::filesystem::temp_directory_path(), "envelope-fuzz").value();
        CertificateTrust files;
        files.roots = {folder.path() / "root.pem"};
        must(write_file(files.roots.front(), kAuthority).has_value());
        return TrustStore::load(files).value();
    }();
    return store;
}

/// An envelope that is read is written and read again as the same one.
void try_envelope(std::string_view text) {
    const auto envelope = parse_envelope(text);
    if (!envelope) {
        check_refusal(envelope.error());
        return;
    }
    const std::string written = write_envelope(*envelope);
    const auto again = parse_envelope(written);
    must(again.has_value() && write_envelope(*again) == written);
    must(again->payload == envelope->payload &&
         again->signatures.size() == envelope->signatures.size());
}

/// So is a message.
void try_message(std::string_view text) {
    (void)is_legacy_signature(text);
    const auto message = parse_message(text);
    if (!message) {
        check_refusal(message.error());
        return;
    }
    const auto again = parse_message(write_message(*message));
    must(again.has_value() && write_message(*again) == write_message(*message));
}

/// Certificates: all that is shown of them is text without control characters.
void try_certificates(std::string_view bytes) {
    if (const auto blocks = parse_blocks(bytes, "fuzz", 16); !blocks) {
        check_refusal(blocks.error());
    }
    const auto chain = Chain::parse(bytes, "fuzz");
    if (!chain) {
        check_refusal(chain.error());
        return;
    }
    for (const CertificateHandle& certificate : chain->certificates()) {
        for (const std::string& shown : {subject_of(certificate), issuer_of(certificate)}) {
            must(shown.find_first_of("\n\r\x1b") == std::string::npos);
        }
        must(identity_of(certificate).size() == 64 && fingerprint_of(certificate).size() == 64);
    }
    const auto pem = chain->pem();
    must(!pem || Chain::parse(*pem, "fuzz").has_value());
    (void)chain->leaf_key();
}

/// A responder's answer that nobody signed says nothing.
void try_status(std::string_view der) {
    const RevocationQuestion question{Chain::parse(kSigner, "signer").value().leaf(),
                                      Chain::parse(kAuthority, "authority").value().leaf(),
                                      trust(),
                                      {kNow, {}}};
    const auto answer = read_ocsp(der, {}, question);
    must(answer.state == RevocationAnswer::State::kUnknown);
}

/// Neither is a time stamp valid that the authority did not make.
void try_timestamp(std::string_view der) {
    must(!verify_timestamp(der, "signature", trust(), kNow).is_valid);
    const auto request = timestamp_request("signature", "12345678");
    must(request.has_value());
    if (const auto token = timestamp_token(der, *request); !token) {
        check_refusal(token.error());
    }
}

void try_key(std::string_view text) {
    const auto key = PublicKey::parse(text, "fuzz.pub");
    if (!key) {
        check_refusal(key.error());
        return;
    }
    must(!key->verifies("message", "signature"));
}

void try_policy(std::string_view text) {
    const auto policy = read_policy(std::string(text), "policy.yaml");
    if (!policy) {
        check_refusal(policy.error());
    }
}

} // namespace

/// What says who signed. The first byte chooses the kind.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using Try = void (*)(std::string_view);
    constexpr Try kTries[] = {try_envelope,
                              try_message,
                              try_certificates,
                              try_status,
                              try_timestamp,
                              try_key,
                              try_policy};
    if (size > 0) {
        kTries[data[0] % std::size(kTries)]({reinterpret_cast<const char*>(data) + 1, size - 1});
    }
    return 0;
}
