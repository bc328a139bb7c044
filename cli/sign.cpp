// SPDX-License-Identifier: Apache-2.0
#include "cli/session.hpp"
#include "images/signature.hpp"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct Options {
    std::string image;
    std::string key;
    std::vector<std::string> keys;
    std::string key_file;
    std::string algorithm = "ed25519";
};

Result<int> new_key(Options& options) {
    CYBELE_TRY(const auto public_file, images::new_key(options.key_file, options.algorithm));
    Session::print(fmt::format("private key {} (keep it), public key {} (give it away)\n",
                               options.key_file,
                               public_file.native()));
    return 0;
}

Result<int> sign(Session& session, Options& options) {
    CYBELE_TRY(const project::Settings settings, session.settings());
    const std::string key = options.key.empty() ? settings.get("sign-key") : options.key;
    if (key.empty()) {
        return fail(ErrorCode::kUsage,
                    "no key to sign with",
                    {},
                    "give --key FILE.pem; `cybelectl key new FILE.pem` makes one");
    }
    CYBELE_CHECK(images::sign_image(options.image, key, session.now()));
    if (!session.is_quiet) {
        Session::print(fmt::format("signed {} with {}\n", options.image, key));
    }
    return 0;
}

nlohmann::json as_json(const images::Verification& verification, const std::string& image) {
    nlohmann::json signatures = nlohmann::json::array();
    for (const images::SignatureState& state : verification.signatures) {
        nlohmann::json entry{{"object", state.object},
                             {"group", state.group},
                             {"covers", state.covers},
                             {"valid", state.is_valid}};
        if (!state.key.empty()) {
            entry["key"] = state.key;
            entry["key-file"] = state.key_file;
        }
        if (!state.because.empty()) {
            entry["because"] = state.because;
        }
        signatures.push_back(std::move(entry));
    }
    nlohmann::json document{{"format", 1},
                            {"image", image},
                            {"verified", verification.is_verified},
                            {"signatures", std::move(signatures)}};
    if (!verification.because.empty()) {
        document["because"] = verification.because;
    }
    return document;
}

void print_text(const images::Verification& verification, const std::string& image) {
    for (const images::SignatureState& state : verification.signatures) {
        if (state.is_valid) {
            Session::print(fmt::format("object {}: group {}, objects {}: signed by {} ({})\n",
                                       state.object,
                                       state.group,
                                       fmt::join(state.covers, ", "),
                                       state.key_file,
                                       state.key));
        } else {
            Session::print(fmt::format(
                "object {}: group {}: not valid: {}\n", state.object, state.group, state.because));
        }
    }
    if (verification.is_verified) {
        Session::print(fmt::format("verified {}\n", image));
    }
}

Result<int> verify(Session& session, Options& options) {
    CYBELE_TRY(const project::Settings settings, session.settings());
    std::vector<std::filesystem::path> keys(options.keys.begin(), options.keys.end());
    if (keys.empty() && !settings.get("verify-key").empty()) {
        keys.emplace_back(settings.get("verify-key"));
    }
    if (keys.empty()) {
        return fail(ErrorCode::kUsage, "no key to verify with", {}, "give --key FILE.pub");
    }
    CYBELE_TRY(const images::Verification verification, images::verify_image(options.image, keys));
    if (session.is_json()) {
        Session::print(as_json(verification, options.image).dump(2) + "\n");
    } else {
        print_text(verification, options.image);
    }
    if (!verification.is_verified) {
        return fail(ErrorCode::kVerification,
                    options.image + " is not verified",
                    verification.because,
                    "use it only if you know where it comes from; is it the right key?");
    }
    return 0;
}

} // namespace

void install_sign(CLI::App& app, Session& session) {
    auto options = std::make_shared<Options>();
    CLI::App* key = add_verb(app, "key", "Make and look at signing keys.", {});
    key->require_subcommand(1);
    CLI::App* make = add_verb(
        *key,
        "new",
        "Make a key pair in PEM form: FILE (0600) and its .pub.",
        {"cybelectl key new centre.pem", "cybelectl key new centre.pem --algorithm ecdsa"});
    make->add_option("file", options->key_file, "the private key's file")
        ->required()
        ->type_name("FILE");
    make->add_option("--algorithm", options->algorithm, "of the key")
        ->check(CLI::IsMember({"ed25519", "ecdsa", "rsa"}))
        ->capture_default_str();
    make->callback(
        [&session, options] { session.action = [options] { return new_key(*options); }; });

    CLI::App* sign_verb = add_verb(app,
                                   "sign",
                                   "Sign an image with a private PEM key.",
                                   {"cybelectl sign app.sif --key centre.pem"});
    sign_verb->add_option("image", options->image, "the image")->required()->type_name("IMAGE");
    sign_verb->add_option("--key", options->key, "private PEM key")->type_name("FILE");
    sign_verb->callback([&session, options] {
        session.action = [&session, options] { return sign(session, *options); };
    });

    CLI::App* verify_verb = add_verb(app,
                                     "verify",
                                     "Verify an image's signatures with public PEM keys.",
                                     {"cybelectl verify app.sif --key centre.pub",
                                      "cybelectl verify app.sif --key centre.pub --format json"});
    verify_verb->add_option("image", options->image, "the image")->required()->type_name("IMAGE");
    verify_verb->add_option("--key", options->keys, "public PEM key; may be given again")
        ->type_name("FILE");
    add_format(*verify_verb, session);
    verify_verb->callback([&session, options] {
        session.action = [&session, options] { return verify(session, *options); };
    });
}

} // namespace cybele::cli
