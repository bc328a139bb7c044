// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/site_signers.hpp"

#include "images/certificates/chain.hpp"
#include "images/openpgp/key_directory.hpp"
#include "images/signatures/trust.hpp"
#include "submission/submit/own_site.hpp"
#include "support/document.hpp"
#include "support/file.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
namespace openpgp = images::openpgp;

/// Where a mistake of a document stands.
struct Document {
    const yaml::Source& source;
    const std::map<std::string, yaml::Mark>& marks;

    [[nodiscard]] Fault
    fault(const std::string& field, Problem problem, std::string because, std::string help) const {
        return document::fault_at(source,
                                  document::mark_of(marks, field),
                                  std::move(problem),
                                  std::move(because),
                                  std::move(help));
    }
    /// What is wrong with a file, where the document names it.
    void add(const std::string& field, const Error& error, Faults& faults) const {
        for (Fault fault : error.faults()) {
            fault.where = source.place(document::mark_of(marks, field));
            faults.add(std::move(fault));
        }
    }
};

/// Whether the file is there.
bool find_file(const Document& document,
               const std::string& field,
               const std::string& named,
               const fs::path& file,
               Faults& faults) {
    auto absent = why_absent(file,
                             named,
                             document.fault(field,
                                            problem("verification-file-missing",
                                                    "'" + printable(named) + "' is not there"),
                                            "it would be " + printable(file.native()),
                                            "correct the path, or put the file there"));
    if (absent) {
        faults.add(std::move(*absent));
    }
    return !absent;
}

void check_key(const Document& document,
               const std::string& field,
               const fs::path& file,
               Faults& faults) {
    if (const auto key = images::PublicKey::read(file); !key) {
        document.add(field, key.error(), faults);
    }
}

class PolicyCheck {
public:
    PolicyCheck(const images::Policy& policy, const Environment& environment, std::int64_t now)
        : policy_(policy), document_{policy.source, policy.marks}, environment_(environment),
          now_(now) {}

    Faults faults() {
        images::TrustRequest request;
        request.now = now_;
        if (const auto added = images::add_policy(policy_, request); !added) {
            faults_.add(added.error()); // files that are missing
        }
        check_files(request);
        check_pgp(request.pgp);
        if (!faults_.has_errors()) {
            if (const auto trust = images::load_trust(request, environment_); !trust) {
                document_.add("require", trust.error(), faults_);
            }
        }
        return std::move(faults_);
    }

private:
    void check_files(const images::TrustRequest& request) {
        std::error_code error;
        for (std::size_t i = 0; i < request.keys.size(); ++i) {
            if (fs::exists(request.keys[i], error)) {
                check_key(document_, fmt::format("keys[{}]", i), request.keys[i], faults_);
            }
        }
        const auto check = [&](const char* field, const std::vector<fs::path>& files) {
            for (std::size_t i = 0; i < files.size(); ++i) {
                if (fs::exists(files[i], error)) {
                    check_chain(fmt::format("certificates.{}[{}]", field, i), files[i]);
                }
            }
        };
        check("roots", request.authorities.roots);
        check("intermediates", request.authorities.intermediates);
    }

    void check_chain(const std::string& field, const fs::path& file) {
        const auto chain = images::Chain::read(file);
        if (!chain) {
            document_.add(field, chain.error(), faults_);
            return;
        }
        for (const images::CertificateHandle& certificate : chain->certificates()) {
            if (const std::string end = images::expired_on(certificate, now_); !end.empty()) {
                faults_.add(document_.fault(
                    field,
                    problem(
                        "policy-certificate-expired",
                        fmt::format("'{}' expired on {}", images::subject_of(certificate), end)),
                    "only signatures with a time stamp from before that day are valid",
                    "get a new certificate of this authority, and name its file here"));
            }
        }
    }

    void check_pgp(const std::vector<std::string>& fingerprints) {
        if (fingerprints.empty()) {
            return;
        }
        auto shared = shared_ring();
        auto own = openpgp::KeyDirectory::of(environment_).public_ring();
        for (const auto* ring : {&shared, &own}) {
            if (!*ring) {
                faults_.add(ring->error());
            }
        }
        if (!shared || !own) {
            return;
        }
        for (std::size_t i = 0; i < fingerprints.size(); ++i) {
            const auto* const known = shared->find(fingerprints[i]);
            const auto* const found = known != nullptr ? known : own->find(fingerprints[i]);
            check_pgp_key(fmt::format("pgp[{}]", i), fingerprints[i], found, known != nullptr);
        }
    }

    static Result<openpgp::Keyring> shared_ring() {
        CYBELE_TRY(const bool is_there,
                   is_present(openpgp::kGlobalKeyring, "the keyring of this machine"));
        return is_there ? openpgp::Keyring::read(openpgp::kGlobalKeyring) : openpgp::Keyring();
    }

    void check_pgp_key(const std::string& field,
                       const std::string& fingerprint,
                       const openpgp::Certificate* found,
                       bool is_shared) {
        if (found == nullptr) {
            faults_.add(document_.fault(
                field,
                problem("policy-pgp-key-missing", "no keyring has the PGP key " + fingerprint),
                "without the key its signatures cannot be verified",
                "import it: `cybelectl key import FILE`"));
            return;
        }
        const openpgp::CertificateState state = found->state(now_);
        const openpgp::KeyState& key = state.keys.front();
        if (!key.because.empty()) {
            faults_.add(document_.fault(
                field,
                problem("policy-pgp-key-unusable",
                        fmt::format("the PGP key of {} is unusable", printable(state.name()))),
                key.because,
                "remove it from the Policy, and name the key that replaces it"));
            return;
        }
        if (key.expires && *key.expires < now_) {
            warn(field,
                 problem("policy-pgp-key-expired",
                         fmt::format("the PGP key of {} has expired", printable(state.name()))),
                 "signatures from before its end are valid, and no new ones can be made",
                 "add the key that replaces it");
        }
        if (!is_shared) {
            warn(field,
                 problem("policy-pgp-key-own",
                         "only your own keyring has the PGP key " + fingerprint),
                 "other users and the nodes look into their own keyrings and the machine's",
                 std::string("put it into ") + openpgp::kGlobalKeyring +
                     ", on the nodes, too: `cybelectl key export " + fingerprint + " -o FILE`");
        }
    }

    void warn(const std::string& field, Problem problem, std::string because, std::string help) {
        Fault fault =
            document_.fault(field, std::move(problem), std::move(because), std::move(help));
        fault.is_warning = true;
        faults_.add(std::move(fault));
    }

    const images::Policy& policy_;
    Document document_;
    const Environment& environment_;
    std::int64_t now_;
    Faults faults_;
};

} // namespace

Faults
check_site_signers(const launchers::Site& site, const Environment& environment, std::int64_t now) {
    Faults faults;
    const Document document{site.source, site.marks};
    const auto place = [&](const std::string& path) {
        return verification_place(path, site.folder, environment.home());
    };
    for (std::size_t i = 0; i < site.verify_keys.size(); ++i) {
        const std::string field = fmt::format("verify.keys[{}]", i);
        const fs::path file = place(site.verify_keys[i]);
        if (find_file(document, field, site.verify_keys[i], file, faults)) {
            check_key(document, field, file, faults);
        }
    }
    if (site.verify_policy.empty()) {
        return faults;
    }
    const fs::path file = place(site.verify_policy);
    if (!find_file(document, "verify", site.verify_policy, file, faults)) {
        return faults;
    }
    auto text = read_file(file);
    if (!text) {
        document.add("verify", text.error(), faults);
        return faults;
    }
    const auto policy = images::read_policy(std::move(*text), file);
    if (!policy) {
        faults.add(policy.error());
        return faults;
    }
    const Faults of_policy = PolicyCheck(*policy, environment, now).faults();
    for (const Fault& fault : of_policy.all()) {
        faults.add(fault);
    }
    return faults;
}

} // namespace cybele::submission
