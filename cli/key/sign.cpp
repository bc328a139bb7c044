// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/sign.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/each_image.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/not_empty.hpp"
#include "cli/common/passphrase.hpp"
#include "cli/common/progress.hpp"
#include "cli/common/session.hpp"
#include "cli/key/apptainer_words.hpp"
#include "images/certificates/chain.hpp"
#include "images/certificates/timestamp.hpp"
#include "images/openpgp/key_directory.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct SignVerbOptions {
    std::vector<std::string> images;
    std::vector<std::string> keys;
    bool use_pgp = false;
    std::string fingerprint;
    std::string keyring;
    std::vector<std::string> certificates;
    std::string timestamp_url;
    std::optional<std::uint32_t> group;
    std::vector<std::uint32_t> objects;
    bool force = false;
    bool replaces = false;
    PassphraseOptions passphrase;
};

/// Not even a time stamp helps who signs after the end of a certificate.
void warn_of_end(const Session& session, const images::Chain& chain) {
    for (const images::CertificateHandle& certificate : chain.certificates()) {
        const std::string end = images::expired_on(certificate, Session::clock());
        if (end.empty()) {
            continue;
        }
        session.note(
            {warning(ErrorCode::kInput,
                     problem("signing-certificate-expired",
                             fmt::format("a certificate in {} has expired",
                                         printable(chain.path().native()))),
                     fmt::format("'{}' expired on {}, and signatures made after that do not count",
                                 printable(images::subject_of(certificate)),
                                 end),
                     "ask the issuer to renew it, and sign again with the new one")});
    }
}

/// Puts each chain beside the key that its leaf certifies.
Result<void>
add_chains(const Session& session, const SignVerbOptions& options, images::Signers& signers) {
    for (const std::string& file : options.certificates) {
        CYBELE_TRY(const images::Chain chain, images::Chain::read(file));
        warn_of_end(session, chain);
        CYBELE_TRY(const images::PublicKey leaf, chain.leaf_key());
        bool is_used = false;
        for (images::EnvelopeSigner& signer : signers.keys) {
            if (signer.key.public_key().fingerprint() == leaf.fingerprint()) {
                CYBELE_TRY(signer.chain, chain.pem());
                is_used = true;
            }
        }
        if (!is_used) {
            return fail(ErrorCode::kInput,
                        problem("certificate-without-key",
                                fmt::format("the certificate {} belongs to none of the keys",
                                            printable(file))),
                        fmt::format("its key is {}", leaf.fingerprint()),
                        "give the private key that it was issued for by --key");
        }
    }
    return {};
}

Result<void>
add_pgp(const Session& session, const SignVerbOptions& options, images::Signers& signers) {
    images::openpgp::Keyring ring;
    if (!options.keyring.empty()) {
        CYBELE_TRY(ring, images::openpgp::Keyring::read(options.keyring));
    } else {
        CYBELE_TRY(ring, images::openpgp::KeyDirectory::of(session.environment).secret_ring());
    }
    if (ring.certificates().empty()) {
        return fail(ErrorCode::kInput,
                    problem("no-openpgp-private-key", "no OpenPGP key to sign with"),
                    "the keyring has no private key",
                    "import one from GnuPG with `cybelectl key import FILE`, or make one with "
                    "`cybelectl key new --pgp`");
    }
    CYBELE_TRY(const images::openpgp::Certificate* const chosen, ring.choose(options.fingerprint));
    CYBELE_TRY(images::openpgp::SecretKey key,
               images::openpgp::SecretKey::choose(*chosen, Session::clock()));
    if (key.is_locked()) {
        CYBELE_TRY(const Secret passphrase,
                   read_passphrase(passphrase_source(session, options.passphrase),
                                   fmt::format("the key of {}", key.user_id()),
                                   PassphraseUse::kOpen));
        CYBELE_CHECK(key.unlock(passphrase));
    }
    signers.pgp_ring.add(*chosen);
    signers.pgp = std::move(key);
    return {};
}

Result<images::Signers> load_signers(Session& session, SignVerbOptions& options) {
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    if (options.keys.empty() && !options.use_pgp) {
        const std::string key = settings.get("sign-key");
        const std::string theirs = session.environment.get_or("APPTAINER_SIGN_KEY", "");
        if (!key.empty() || !theirs.empty()) {
            options.keys.push_back(key.empty() ? theirs : key);
        }
    }
    images::Signers signers;
    for (const std::string& file : options.keys) {
        CYBELE_TRY(images::PrivateKey key,
                   images::PrivateKey::read(file, passphrase_source(session, options.passphrase)));
        signers.keys.push_back({std::move(key), {}});
    }
    CYBELE_CHECK(add_chains(session, options, signers));
    if (options.use_pgp) {
        CYBELE_CHECK(add_pgp(session, options, signers));
    }
    if (!options.timestamp_url.empty()) {
        if (options.certificates.empty()) {
            return fail(
                ErrorCode::kUsage,
                problem("time-stamp-without-certificate", "a time stamp needs a certificate"),
                "it keeps a signature valid after the certificate has expired",
                "give the certificate of the key by --certificate");
        }
        const auto network = std::make_shared<const HttpClient>(
            HttpClient::find(session.environment, session.program));
        signers.stamp = [network, url = options.timestamp_url, now = Session::clock()](
                            std::string_view signature) {
            return images::fetch_timestamp(url, signature, *network, nullptr, now);
        };
    }
    return signers;
}

nlohmann::json signed_json(const std::string& image, const images::SignReport& done) {
    return {{"image", image},
            {"signed-groups", done.groups},
            {"already-signed-groups", done.already_signed}};
}

std::string signed_line(const SignVerbOptions& options,
                        const std::string& name,
                        const images::SignReport& done) {
    const std::string image = printable(name);
    if (done.groups.empty()) {
        return fmt::format("{} is signed with it already; nothing was changed", image);
    }
    std::vector<std::string> names;
    names.reserve(options.keys.size() + 1);
    for (const std::string& key : options.keys) {
        names.push_back(printable(key));
    }
    if (options.use_pgp) {
        names.emplace_back("an OpenPGP key");
    }
    return fmt::format("signed {} with {}", image, fmt::join(names, ", "));
}

Result<images::SignReport> sign_one(const Session& session,
                                    const images::Signers& signers,
                                    images::SignOptions signing,
                                    const std::string& image) {
    CYBELE_TRY(const std::string path, changeable_image_path(session, image));
    session.doing("signing " + printable(image));
    signing.progress = progress(session, "hashing " + printable(image));
    return images::sign_image(path, signers, signing);
}

/// Each of several images, by the same keys, which are opened once.
Result<int> sign_each(const Session& session,
                      const SignVerbOptions& options,
                      const images::Signers& signers,
                      const images::SignOptions& signing) {
    EachImage each(session);
    for (const std::string& image : options.images) {
        const auto done = sign_one(session, signers, signing, image);
        if (!done) {
            each.fail(image, done.error());
            continue;
        }
        each.add(signed_json(image, *done));
        each.print(signed_line(options, image, *done));
    }
    return each.end("signed");
}

/// By the name of Apptainer, in its words.
Result<int> sign_as_apptainer(const Session& session,
                              const SignVerbOptions& options,
                              const images::Signers& signers,
                              const images::SignOptions& signing) {
    const std::string& image = options.images.front();
    session.inform_as_apptainer("Signing image with " + key_material(options.keys, {}));
    std::vector<images::Selection> parts = {signing.selection};
    if (options.group && !options.objects.empty()) {
        parts = {{options.group, {}}, {std::nullopt, options.objects}};
    }
    for (const images::Selection& part : parts) {
        images::SignOptions one = signing;
        one.selection = part;
        if (const auto done = sign_one(session, signers, one, image); !done) {
            return fail(apptainer_error("Failed to sign container", done.error()));
        }
    }
    session.inform_as_apptainer("Signature created and applied to image '" + printable(image) +
                                "'");
    return 0;
}

Result<int> sign(Session& session, SignVerbOptions& options) {
    for (const std::string& image : options.images) {
        CYBELE_CHECK(changeable_image_path(session, image)); // before a passphrase is asked for
    }
    CYBELE_TRY(const images::Signers signers,
               load_signers(session, options).map_error(during("reading the keys to sign with")));
    images::SignOptions signing;
    signing.selection = {options.group, options.objects};
    signing.force = options.force || options.replaces;
    signing.replaces = options.replaces;
    signing.only_adds = session.is_apptainer(); // like there
    signing.now = session.now();
    signing.on_warning = [&session](Fault fault) { session.note({std::move(fault)}); };
    if (options.images.size() > 1) {
        return sign_each(session, options, signers, signing);
    }
    const std::string& image = options.images.front();
    if (session.is_apptainer()) {
        return sign_as_apptainer(session, options, signers, signing);
    }
    CYBELE_TRY(const images::SignReport done, sign_one(session, signers, signing, image));
    if (session.is_json()) {
        print_document(signed_json(image, done));
    } else if (!session.is_quiet) {
        Session::print(signed_line(options, image, done) + "\n");
    }
    return 0;
}

void add_sign_options(CLI::App& verb, SignVerbOptions& options, bool is_apptainer) {
    verb.add_option("image", options.images, "image files")->required()->type_name("IMAGE");
    verb.add_option(
            "--key", options.keys, "private PEM key; several keys sign together (repeat --key)")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->check(not_empty());
    auto* const pgp = verb.add_flag("--pgp", options.use_pgp, "sign with an OpenPGP key");
    verb.add_option(
            "--fingerprint", options.fingerprint, "fingerprint or user id of the OpenPGP key")
        ->type_name("F")
        ->needs(pgp);
    verb.add_option("--pgp-keyring",
                    options.keyring,
                    "folder of the OpenPGP keyring (default: Apptainer's)")
        ->type_name("FILE")
        ->needs(pgp);
    verb.add_option(
            "--certificate", options.certificates, "certificate chain to store with the signature")
        ->type_name("FILE")
        ->allow_extra_args(false);
    verb.add_option("--timestamp-url",
                    options.timestamp_url,
                    "time-stamp service whose time stamp is stored, too")
        ->type_name("URL")
        ->check(not_empty());
    auto* const group = verb.add_option("--group-id,-g", options.group, "sign this group only")
                            ->type_name("N")
                            ->check(not_empty());
    verb.add_option("--sif-id,-i", options.objects, "sign this object only; may be given again")
        ->type_name("N")
        ->allow_extra_args(false)
        ->check(not_empty());
    if (!is_apptainer) { // there, each of both gets a signature
        verb.get_option("--sif-id")->excludes(group);
    }
    verb.add_flag("-F,--force",
                  options.force,
                  "allow mixed signature kinds; replace signatures by the same key");
    verb.add_flag("--replace",
                  options.replaces,
                  "remove all earlier signatures of what is signed, whoever made them")
        ->excludes(verb.get_option("--sif-id"));
    add_passphrase(verb, options.passphrase);
}

} // namespace

void install_sign(CLI::App& app, Session& session) {
    auto options = std::make_shared<SignVerbOptions>();
    CLI::App* verb = add_verb(app,
                              "sign",
                              "Sign an image with PEM keys or an OpenPGP key.",
                              {"cybelectl sign app.sif --key centre.pem",
                               "cybelectl sign images/*.sif --key centre.pem",
                               "cybelectl sign app.sif --key alice.pem --key bob.pem",
                               "cybelectl sign app.sif --key a.pem --certificate a-chain.pem",
                               "cybelectl sign app.sif --pgp --fingerprint 8C10B2D64F6B3D1A"});
    add_sign_options(*verb, *options, session.is_apptainer());
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return sign(session, *options).map_error(during("signing " + named(options->images)));
        };
    });
    install_verify(app, session);
}

} // namespace cybele::cli
