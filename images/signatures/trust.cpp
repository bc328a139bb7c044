// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/trust.hpp"

#include "images/openpgp/key_directory.hpp"
#include "images/signatures/certified.hpp"
#include "images/signatures/legacy.hpp"
#include "support/counted.hpp"
#include "support/digest.hpp"
#include "support/document.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <charconv>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

Result<openpgp::Keyring> load_keyrings(const TrustRequest& request,
                                       const Environment& environment) {
    openpgp::Keyring all;
    const auto take = [&](const openpgp::Keyring& ring) {
        for (const openpgp::Certificate& certificate : ring.certificates()) {
            all.add(certificate);
        }
    };
    if (request.use_default_keyrings) {
        CYBELE_TRY(const bool has_global,
                   is_present(openpgp::kGlobalKeyring, "the keyring of this machine"));
        if (has_global) {
            CYBELE_TRY(const openpgp::Keyring global,
                       openpgp::Keyring::read(openpgp::kGlobalKeyring));
            take(global);
        }
        CYBELE_TRY(const openpgp::Keyring own,
                   openpgp::KeyDirectory::of(environment).public_ring());
        take(own);
    }
    for (const fs::path& path : request.keyrings) {
        CYBELE_TRY(const openpgp::Keyring ring, openpgp::Keyring::read(path));
        take(ring);
    }
    return all;
}

/// Without a certificate of a signer, or by a policy's roots: everybody under the roots. A signer's
/// certificate alone, as with Apptainer, is vouched for by the roots and makes nobody else count.
bool takes_whoever_is_certified(const TrustRequest& request) {
    return request.certificates.empty() || request.counts_roots;
}

Result<void> load_certificates(const TrustRequest& request, Trust& trust) {
    CYBELE_TRY(TrustStore loaded, TrustStore::load(request.authorities));
    const auto store = std::make_shared<const TrustStore>(std::move(loaded));
    std::vector<Chain> chains;
    for (const fs::path& path : request.certificates) {
        CYBELE_TRY(Chain chain, Chain::read(path));
        CYBELE_TRY(const PublicKey key, chain.leaf_key());
        trust.certificates.push_back({fingerprint_of(chain.leaf()), key.fingerprint()});
        chains.push_back(std::move(chain));
    }
    if (request.counts_roots) {
        for (const CertificateHandle& root : store->roots()) {
            trust.roots.push_back({identity_of(root), subject_of(root)});
        }
    }
    trust.certificate_judge = judge_by_certificates(
        store, std::move(chains), takes_whoever_is_certified(request), request.now);
    return {};
}

/// Old signatures are OpenPGP's, by the same keyring.
LegacyJudge judge_old(const openpgp::Keyring& keyring, std::int64_t now) {
    return
        [ring = std::make_shared<const openpgp::Keyring>(keyring), now](const Image& image,
                                                                        const Descriptor& signature,
                                                                        std::string_view text,
                                                                        SignatureState& state) {
            return judge_legacy(image, signature, text, LegacyTrust{*ring, now}, state);
        };
}

/// Those who are named, each of whom `all` wants; a key that is named twice, in a file or by a
/// certificate, is one signer.
std::set<std::string> named_signers(const Trust& trust) {
    std::set<std::string> signers(trust.pgp.begin(), trust.pgp.end());
    for (const NamedCertificate& certificate : trust.certificates) {
        signers.insert(certificate.key);
    }
    for (const NamedRoot& root : trust.roots) {
        signers.insert(root.identity);
    }
    for (const PublicKey& key : trust.keys) {
        signers.insert(key.fingerprint());
    }
    return signers;
}

/// `all` needs names: a keyring, or a root that is no policy's, stands for whoever it knows.
Result<void> check_all(const TrustRequest& request, const Trust& trust) {
    const bool has_open_keyring = trust.keyring && trust.pgp.empty() && !request.accepts_legacy;
    const bool has_open_roots =
        trust.certificate_judge && trust.certificates.empty() && trust.roots.empty();
    if (!has_open_keyring && !has_open_roots && !named_signers(trust).empty()) {
        return {};
    }
    return fail(
        ErrorCode::kUsage,
        problem("all-signers-not-named", "all signers are required, but not all of them are named"),
        has_open_roots ? "roots accept every signer certified under them"
                       : "a keyring accepts every signer in it",
        "give a number, or name each: keys, certificates, or `pgp` of a policy");
}

/// More than there are could never sign.
Result<void> check_count(const TrustRequest& request, const Trust& trust) {
    std::size_t wanted = 0;
    const std::string& text = trust.require;
    if (text == "any") {
        return {};
    }
    if (text == "all") {
        return check_all(request, trust);
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wanted);
    if (error != std::errc{} || end != text.data() + text.size() || wanted == 0) {
        return fail(
            ErrorCode::kUsage,
            problem("signer-count-value", fmt::format("'{}' is not a number of signers", text)),
            {},
            "write any, all, or 1 and more");
    }
    const bool is_open = (trust.keyring && trust.pgp.empty()) ||
                         (trust.certificate_judge && takes_whoever_is_certified(request));
    const std::size_t named = named_signers(trust).size();
    if (!is_open && wanted > named) {
        return fail(ErrorCode::kUsage,
                    problem("signer-count-too-high",
                            fmt::format("{} {} required, but {} {} named",
                                        counted(wanted, "signer"),
                                        wanted == 1 ? "is" : "are",
                                        named,
                                        named == 1 ? "is" : "are")),
                    "no image could be verified",
                    "lower the number, or name more signers");
    }
    return {};
}

Fault missing_file(const Policy& policy, const std::string& field, const std::string& path) {
    return document::fault_at(
        policy.source,
        document::mark_of(policy.marks, field),
        problem("verification-file-missing", "'" + printable(path) + "' is not there"),
        fs::path(path).is_absolute() ? "nothing has this name on this machine"
                                     : "relative paths begin at the policy's folder",
        "correct the path, or put the file there");
}

} // namespace

Result<void> add_policy(const Policy& policy, TrustRequest& request) {
    std::vector<Fault> missing;
    const auto add = [&](std::string_view field,
                         const std::vector<std::string>& from,
                         std::vector<fs::path>& to) {
        for (std::size_t i = 0; i < from.size(); ++i) {
            to.push_back((policy.folder / from[i]).lexically_normal());
            if (auto absent =
                    why_absent(to.back(),
                               from[i],
                               missing_file(policy, fmt::format("{}[{}]", field, i), from[i]))) {
                missing.push_back(std::move(*absent));
            }
        }
    };
    request.require = policy.require;
    add("keys", policy.keys, request.keys);
    for (std::string fingerprint : policy.pgp) {
        fingerprint = text::uppered(fingerprint);
        request.pgp.push_back(std::move(fingerprint));
        request.use_default_keyrings = true;
    }
    if (policy.certificates) {
        request.use_certificates = true;
        request.counts_roots = true;
        add("certificates.roots", policy.certificates->roots, request.authorities.roots);
        add("certificates.intermediates",
            policy.certificates->intermediates,
            request.authorities.intermediates);
        CYBELE_TRY(request.authorities.revocation, revocation_of(policy.certificates->revocation));
    }
    return missing.empty() ? Result<void>() : fail(Error(std::move(missing)));
}

Result<std::string> identity_of(const TrustRequest& request, const Environment& environment) {
    std::string text =
        fmt::format("require {} default {} certificates {} legacy {} roots {} revocation {}\n",
                    request.require,
                    request.use_default_keyrings,
                    request.use_certificates,
                    request.accepts_legacy,
                    request.counts_roots,
                    static_cast<int>(request.authorities.revocation));
    text += fmt::format("pgp {}\n", fmt::join(request.pgp, " "));
    const auto add = [&](std::string_view kind, const fs::path& file) -> Result<void> {
        CYBELE_TRY(const std::string bytes,
                   read_file(file).map_error(during("reading the trusted keys")));
        text += fmt::format("{} {}\n", kind, hex(plain_sha256(bytes)));
        return {};
    };
    const std::pair<std::string_view, const std::vector<fs::path>*> lists[] = {
        {"key", &request.keys},
        {"keyring", &request.keyrings},
        {"certificate", &request.certificates},
        {"root", &request.authorities.roots},
        {"intermediate", &request.authorities.intermediates},
        {"timestamp", &request.authorities.timestamp_roots},
        {"crl", &request.authorities.crls}};
    for (const auto& [kind, files] : lists) {
        for (const fs::path& file : *files) {
            CYBELE_CHECK(add(kind, file));
        }
    }
    for (const PublicKey& key : request.read_keys) {
        text += fmt::format("key {}\n", key.fingerprint());
    }
    if (!request.use_default_keyrings) {
        return text;
    }
    for (const fs::path& ring : {fs::path(openpgp::kGlobalKeyring),
                                 openpgp::KeyDirectory::of(environment).public_file()}) {
        CYBELE_TRY(const bool is_there, is_present(ring, "a keyring"));
        if (is_there) {
            CYBELE_CHECK(add("keyring", ring));
        }
    }
    return text;
}

Result<Trust> load_trust(const TrustRequest& request, const Environment& environment) {
    Trust trust;
    trust.require = request.require;
    trust.now = request.now;
    trust.pgp = request.pgp;
    trust.keys = request.read_keys;
    for (const fs::path& path : request.keys) {
        CYBELE_TRY(PublicKey key, PublicKey::read(path));
        trust.keys.push_back(std::move(key));
    }
    if (request.use_default_keyrings || !request.keyrings.empty()) {
        CYBELE_TRY(trust.keyring, load_keyrings(request, environment));
        if (request.accepts_legacy) {
            trust.legacy_judge = judge_old(*trust.keyring, request.now);
        }
    }
    if (request.use_certificates || !request.certificates.empty()) {
        CYBELE_CHECK(load_certificates(request, trust));
    }
    CYBELE_CHECK(check_count(request, trust));
    return trust;
}

} // namespace cybele::images
