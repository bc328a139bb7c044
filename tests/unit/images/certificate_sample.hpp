// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/certificates/verify.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tests/unit/server_process.hpp"

#include <ctime>
#include <string>
#include <vector>

#include <doctest/doctest.h>

/// The authority, responder and time-stamp authority of tests/parts, made once for all cases.
namespace cybele::images::certificate_sample {

class Authority {
public:
    Authority()
        : folder_(*TempDirectory::make("/var/tmp", "certificate-test")),
          ocsp_({"ocsp", folder_.path()}), tsa_({"tsa", folder_.path()}) {
        Command command;
        command.argv = {
            std::string(CYBELE_TESTS_DIR) + "/parts/authority", folder_.path(), ocsp_.url()};
        const auto outcome = run_process(command);
        REQUIRE(outcome);
        INFO(outcome->errors);
        REQUIRE(outcome->ok());
    }
    [[nodiscard]] std::filesystem::path file(const std::string& name) const {
        return folder_.path() / name;
    }
    [[nodiscard]] std::string tsa_url(const std::string& route) const {
        return tsa_.url("/" + route);
    }
    [[nodiscard]] std::string ocsp_url(const std::string& route) const {
        return ocsp_.url("/" + route);
    }

private:
    TempDirectory folder_;
    ServerProcess ocsp_;
    ServerProcess tsa_;
};

inline const Authority& authority() {
    static const Authority made;
    return made;
}

inline std::int64_t now() {
    return std::time(nullptr);
}
constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kYear = 365 * kDay;

inline Chain chain_of(const std::string& name) {
    auto chain = Chain::read(authority().file(name + ".pem"));
    REQUIRE(chain);
    return std::move(*chain);
}

/// The root is trusted, the issuing authority known.
inline CertificateTrust usual_trust(Revocation revocation = Revocation::kNone) {
    static const HttpClient client = build_tree_client();
    CertificateTrust trust;
    trust.roots = {authority().file("root.pem")};
    trust.intermediates = {authority().file("issuing.pem")};
    trust.revocation = revocation;
    trust.network = &client;
    return trust;
}

inline CertificateVerdict
verdict_of(const std::string& name, const CertificateTrust& trust, SigningTime time) {
    const auto store = TrustStore::load(trust);
    REQUIRE(store);
    auto verdict = verify_chain(chain_of(name), {}, *store, time);
    REQUIRE(verdict);
    return std::move(*verdict);
}

inline CertificateVerdict verdict_of(const std::string& name,
                                     const CertificateTrust& trust = usual_trust()) {
    return verdict_of(name, trust, {now(), std::nullopt});
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace cybele::images::certificate_sample
