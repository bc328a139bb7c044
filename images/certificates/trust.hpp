// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/chain.hpp"
#include "support/error.hpp"
#include "support/http.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct X509_crl_st; // OpenSSL's X509_CRL

namespace cybele::images {

using RevocationListHandle = std::shared_ptr<X509_crl_st>;

/// How much a certificate must be shown not to be revoked.
enum class Revocation {
    kNone, ///< not looked into
    kSoft, ///< revoked is refused; a status that cannot be learnt is a warning
    kHard, ///< a status that cannot be learnt is refused too
};
/// "none", "soft", "hard"; kUsage for another word.
[[nodiscard]] Result<Revocation> revocation_of(const std::string& word);

/// Whose certificates are believed, as options and policies say it.
struct CertificateTrust {
    std::vector<std::filesystem::path> roots; ///< empty: the system's pool
    std::vector<std::filesystem::path> intermediates;
    std::vector<std::filesystem::path> timestamp_roots; ///< of time stamps; empty: as `roots`
    std::vector<std::filesystem::path> crls;            ///< PEM or DER
    Revocation revocation = Revocation::kNone;
    std::filesystem::path system_pool;   ///< PEM: system_certificates(environment); empty: none
    const HttpClient* network = nullptr; ///< for OCSP and CRL; null: only `crls` are looked into
};

/// The files of a CertificateTrust, read once for many verifications.
class TrustStore {
public:
    /// kInput: a file that is missing or is not what it should be; kEnvironment: no roots are given
    /// and the system has no pool.
    [[nodiscard]] static Result<TrustStore> load(const CertificateTrust& trust);

    [[nodiscard]] const std::vector<CertificateHandle>& roots() const {
        return roots_;
    }
    [[nodiscard]] const std::vector<CertificateHandle>& intermediates() const {
        return intermediates_;
    }
    [[nodiscard]] const std::vector<CertificateHandle>& timestamp_roots() const {
        return timestamp_roots_.empty() ? roots_ : timestamp_roots_;
    }
    [[nodiscard]] const std::vector<RevocationListHandle>& crls() const {
        return crls_;
    }
    [[nodiscard]] Revocation revocation() const {
        return revocation_;
    }
    [[nodiscard]] const HttpClient* network() const {
        return network_;
    }
    [[nodiscard]] bool is_system_pool() const {
        return is_system_pool_;
    }

private:
    TrustStore() = default;
    std::vector<CertificateHandle> roots_;
    std::vector<CertificateHandle> intermediates_;
    std::vector<CertificateHandle> timestamp_roots_;
    std::vector<RevocationListHandle> crls_;
    Revocation revocation_ = Revocation::kNone;
    const HttpClient* network_ = nullptr;
    bool is_system_pool_ = false;
};

} // namespace cybele::images
