// SPDX-License-Identifier: Apache-2.0
#include "cli/common/apptainer_signatures.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/each_image.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/not_empty.hpp"
#include "cli/common/progress.hpp"
#include "cli/common/session.hpp"
#include "cli/key/apptainer_words.hpp"
#include "cli/key/verify_print.hpp"
#include "images/openpgp/key_directory.hpp"
#include "images/signatures/trust.hpp"
#include "support/file.hpp"
#include "support/http.hpp"
#include "support/other_file.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

using Files = std::vector<std::string>;

struct VerifyVerbOptions {
    Files images;
    Files keys;
    Files keyrings;
    bool use_pgp = false;
    Files certificates;
    Files roots;
    Files intermediates;
    Files timestamp_roots;
    Files crls;
    std::string revocation = "none";
    std::string policy;
    std::string require;
    std::optional<std::uint32_t> group;
    std::vector<std::uint32_t> objects;
    bool accepts_legacy = false;
};

void append(std::vector<std::filesystem::path>& to, const Files& from) {
    to.insert(to.end(), from.begin(), from.end());
}

/// What Apptainer takes from its environment where it has no option; ours come first.
void take_variables(const Session& session,
                    const pipeline::Settings& settings,
                    VerifyVerbOptions& options) {
    const auto take = [&](Files& files, const char* variable) {
        if (const auto value = session.environment.get(variable); files.empty() && value) {
            files.push_back(*value);
        }
    };
    if (options.keys.empty() && options.certificates.empty() && options.roots.empty() &&
        options.keyrings.empty() && !options.use_pgp) {
        if (!settings.get("verify-key").empty()) {
            options.keys.push_back(settings.get("verify-key"));
            return;
        }
        take(options.certificates, "APPTAINER_VERIFY_CERTIFICATE");
        if (options.certificates.empty()) {
            take(options.keys, "APPTAINER_VERIFY_KEY");
        }
    }
    if (!options.certificates.empty()) {
        take(options.roots, "APPTAINER_VERIFY_ROOTS");
        take(options.intermediates, "APPTAINER_VERIFY_INTERMEDIATES");
        const auto ocsp = session.environment.get("APPTAINER_VERIFY_OCSP");
        if (options.revocation == "none" && ocsp && *ocsp != "false" && *ocsp != "0") {
            options.revocation = "hard";
        }
    }
}

/// The image where the Policy should stand, and the Policy where the image should.
Result<void> check_order(const VerifyVerbOptions& options, const std::string& policy) {
    const auto is = [](const std::string& text, std::string_view what) {
        const auto known = recognize_file(text);
        return known && known->what == what;
    };
    if (options.images.size() != 1 || !is(policy, "an image")) {
        return {};
    }
    const auto image = read_file(options.images.front());
    if (!image || !is(*image, "a Policy")) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("verify-order",
                        printable(options.images.front()) + " is a Policy, and " +
                            printable(options.policy) + " is an image"),
                "the image comes first, and --policy names the Policy",
                "write `cybelectl verify " + shell_quote(options.policy) + " --policy " +
                    shell_quote(options.images.front()) + "`");
}

Result<images::TrustRequest>
make_request(const Session& session, VerifyVerbOptions& options, const HttpClient& network) {
    images::TrustRequest request;
    request.now = Session::clock();
    CYBELE_TRY(request.authorities.revocation, images::revocation_of(options.revocation));
    if (options.policy.empty()) {
        CYBELE_TRY(const pipeline::Settings settings, session.settings());
        take_variables(session, settings, options);
        CYBELE_TRY(request.authorities.revocation, images::revocation_of(options.revocation));
    } else {
        CYBELE_TRY(std::string text,
                   read_file(options.policy).map_error(during("reading the Policy")));
        CYBELE_CHECK(check_order(options, text));
        CYBELE_TRY(const images::Policy policy,
                   images::read_policy(std::move(text), options.policy));
        CYBELE_CHECK(images::add_policy(policy, request));
    }
    append(request.keys, options.keys);
    append(request.keyrings, options.keyrings);
    append(request.certificates, options.certificates);
    append(request.authorities.roots, options.roots);
    append(request.authorities.intermediates, options.intermediates);
    append(request.authorities.timestamp_roots, options.timestamp_roots);
    append(request.authorities.crls, options.crls);
    request.authorities.system_pool = system_certificates(session.environment);
    request.authorities.network = &network;
    request.use_certificates = request.use_certificates || !options.roots.empty();
    request.accepts_legacy = options.accepts_legacy;
    request.use_default_keyrings = request.use_default_keyrings || options.use_pgp ||
                                   (options.accepts_legacy && options.keyrings.empty() &&
                                    options.policy.empty()); // a Policy names its own
    if (!options.require.empty()) {
        request.require = options.require;
    }
    if (request.is_empty()) { // as Apptainer: whoever the keyring knows
        CYBELE_TRY(const images::openpgp::Keyring ring,
                   images::openpgp::KeyDirectory::of(session.environment).public_ring());
        CYBELE_TRY(const bool has_global,
                   is_present(images::openpgp::kGlobalKeyring, "the keyring of this machine"));
        if (ring.certificates().empty() && !has_global) {
            return fail(ErrorCode::kUsage,
                        problem("verify-without-key", "no key to verify with"),
                        "a signature proves nothing without the key of a trusted signer, and "
                        "Apptainer's keyrings are empty",
                        "give the public key of the one who signed the image: --key FILE");
        }
        request.use_default_keyrings = true;
    }
    return request;
}

/// What is asked about. Old signatures are looked for at the root file system, as Apptainer does,
/// and at what a start lays over it, unless something else is named.
Result<images::Selection> selection_of(const VerifyVerbOptions& options,
                                       const images::Image& image) {
    images::Selection selection{options.group, options.objects};
    if (options.accepts_legacy && selection.is_whole()) {
        CYBELE_TRY(const images::Descriptor root, image.primary_partition());
        selection.objects = {root.id};
        for (const images::Descriptor& overlay : image.overlays_of(root)) {
            selection.objects.push_back(overlay.id);
        }
    }
    return selection;
}

/// An image against all signers.
Result<images::Verification> verify_one(const Session& session,
                                        const VerifyVerbOptions& options,
                                        const images::Trust& trust,
                                        const std::string& name) {
    CYBELE_TRY(const std::string path, image_path(session, name));
    CYBELE_TRY(const images::Image image, images::Image::open(path));
    CYBELE_TRY(const images::Selection selection, selection_of(options, image));
    CYBELE_TRY(images::Verification verification,
               images::verify_signatures(
                   image, trust, selection, progress(session, "verifying " + printable(name))));
    for (const images::SignatureState& state : verification.signatures) {
        for (const std::string& text :
             session.is_apptainer() ? std::vector<std::string>() : state.warnings) {
            session.note(
                {warning(ErrorCode::kVerification,
                         problem("signature-warning",
                                 fmt::format("signature {}: {}", state.object, printable(text))))});
        }
    }
    return verification;
}

Fault not_verified(const images::Verification& verification, const std::string& name) {
    return Fault(
        ErrorCode::kVerification,
        problem(verification.signatures.empty() ? "image-not-signed" : "image-not-verified",
                printable(name) + " is not verified"),
        printable(verification.because),
        std::string(images::remedy_of(verification)));
}

/// With all that is known of its signatures.
Result<int>
verify_alone(const Session& session, const VerifyVerbOptions& options, const images::Trust& trust) {
    const std::string& name = options.images.front();
    CYBELE_TRY(const images::Verification found, verify_one(session, options, trust, name));
    Session::print(session.is_json() ? verification_json(found, name, trust.require)
                                     : verification_text(found, name));
    if (!found.is_verified) {
        return fail(not_verified(found, name));
    }
    return 0;
}

/// Like there, old signatures count with --legacy-insecure, and then they alone.
void keep_kind(images::Verification& found, bool is_legacy) {
    std::erase_if(found.signatures, [is_legacy](const images::SignatureState& one) {
        return (one.kind == images::SignatureKind::kLegacy) != is_legacy;
    });
    found.is_verified = found.is_verified && !found.signatures.empty();
}

/// The first group that has an object, which Apptainer verifies first.
std::uint32_t first_group(const images::Image& image) {
    std::uint32_t first = 0;
    for (const images::Descriptor& one : image.descriptors()) {
        first = one.group != 0 && (first == 0 || one.group < first) ? one.group : first;
    }
    return first;
}

/// By the name of Apptainer, in its words.
Result<int> verify_as_apptainer(const Session& session,
                                const VerifyVerbOptions& options,
                                const images::Trust& trust) {
    constexpr std::string_view kFailed = "Failed to verify container";
    const std::string& name = options.images.front();
    session.inform_as_apptainer("Verifying image with " +
                                key_material(options.keys, options.certificates));
    auto found = verify_one(session, options, trust, name);
    if (!found) {
        if (session.is_json()) {
            Session::print(apptainer_json({}, nullptr, {}));
        }
        return fail(apptainer_error(kFailed, found.error()));
    }
    keep_kind(*found, options.accepts_legacy);
    if (options.group || !options.objects.empty()) {
        found->without_group.clear(); // not asked about
    }
    CYBELE_TRY(const std::string path, image_path(session, name));
    CYBELE_TRY(const images::Image image, images::Image::open(path));
    const bool has_signatures = !found->signatures.empty();
    if (session.is_json()) {
        Session::print(apptainer_json(*found, &image, options.objects));
    } else if (has_signatures) {
        Session::print(apptainer_text(*found, image, options.objects));
    }
    if (!found->is_verified) {
        Fault fault = not_verified(*found, name);
        const std::string why =
            has_signatures ? apptainer_reason(*found)
            : options.objects.empty()
                ? "signature not found for object group " +
                      std::to_string(options.group ? *options.group : first_group(image))
                : "signature not found for object " + std::to_string(options.objects.front());
        fault.set(problem(has_signatures ? "signature-not-accepted" : "signature-not-found",
                          std::string(kFailed) +
                              (why.starts_with("x509:") ? ": " : ": integrity: ") + why));
        fault.because.clear();
        return fail(std::move(fault));
    }
    if (session.is_json()) {
        return 0;
    }
    session.inform_as_apptainer("Verified signature(s) from image '" + printable(name) + "'");
    return 0;
}

/// A line for each, also behind one that could not be read.
Result<int>
verify_each(const Session& session, const VerifyVerbOptions& options, const images::Trust& trust) {
    EachImage each(session);
    for (const std::string& name : options.images) {
        const auto found = verify_one(session, options, trust, name);
        if (!found) {
            each.fail(name, found.error());
            continue;
        }
        each.add(nlohmann::json::parse(verification_json(*found, name, trust.require)));
        if (found->is_verified) {
            each.print("verified " + printable(name));
        } else {
            each.print(printable(name) + " is NOT verified");
            each.fail(name, Error(not_verified(*found, name)), false);
        }
    }
    return each.end("verified");
}

Result<int> verify(Session& session, VerifyVerbOptions& options) {
    const HttpClient network = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const images::TrustRequest request, make_request(session, options, network));
    CYBELE_TRY(const images::Trust trust, images::load_trust(request, session.environment));
    if (session.is_apptainer()) {
        return verify_as_apptainer(session, options, trust);
    }
    return options.images.size() == 1 ? verify_alone(session, options, trust)
                                      : verify_each(session, options, trust);
}

void add_many(CLI::App& verb, const char* name, Files& files, const char* meaning) {
    verb.add_option(name, files, meaning)
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->check(not_empty());
}

void add_verify_options(CLI::App& verb, VerifyVerbOptions& options) {
    verb.add_option("image", options.images, "image files, or store:NAME")
        ->required()
        ->type_name("IMAGE");
    add_many(verb, "--key", options.keys, "public PEM key; may be given again");
    verb.add_flag("--pgp", options.use_pgp, "accept signers in Apptainer's keyrings");
    add_many(verb, "--pgp-keyring", options.keyrings, "accept signers in this keyring");
    add_many(verb, "--certificate", options.certificates, "a signer's certificate, with its chain");
    add_many(
        verb, "--certificate-roots", options.roots, "accept signers certified under these roots");
    add_many(verb,
             "--certificate-intermediates",
             options.intermediates,
             "certificates between root and signer");
    add_many(verb, "--timestamp-roots", options.timestamp_roots, "roots of time stamp authorities");
    add_many(verb, "--crl", options.crls, "list of revoked certificates");
    verb.add_option("--revocation",
                    options.revocation,
                    "check for revoked certificates; soft accepts an unknown state")
        ->check(CLI::IsMember({"none", "soft", "hard"}))
        ->capture_default_str();
    verb.add_option("--policy", options.policy, "Policy document that names the required signers")
        ->type_name("FILE")
        ->check(not_empty());
    verb.add_option("--require", options.require, "any (default), all, or a number of signers")
        ->type_name("N")
        ->check(not_empty());
    auto* const group = verb.add_option("-g,--group-id", options.group, "check this group only")
                            ->type_name("N")
                            ->check(not_empty());
    verb.add_option("-i,--sif-id", options.objects, "check this object only; may be given again")
        ->type_name("N")
        ->allow_extra_args(false)
        ->check(not_empty())
        ->excludes(group);
    verb.add_flag(
        "--legacy-insecure",
        options.accepts_legacy,
        "accept signatures of Singularity 3.0 to 3.5, which do not cover names and types");
}

} // namespace

void install_verify(CLI::App& app, Session& session) {
    auto options = std::make_shared<VerifyVerbOptions>();
    CLI::App* verb = add_verb(app,
                              "verify",
                              "Verify an image's signatures: by keys, certificates or a policy.",
                              {"cybelectl verify app.sif --key centre.pub",
                               "cybelectl verify images/*.sif --key centre.pub",
                               "cybelectl verify app.sif --key a.pub --key b.pub --require all",
                               "cybelectl verify app.sif --policy site.yaml --format json",
                               "cybelectl verify app.sif --certificate-roots ca.pem"});
    add_verify_options(*verb, *options);
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return verify(session, *options)
                .map_error(during("verifying " + named(options->images)));
        };
    });
}

} // namespace cybele::cli
