// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/key_words.hpp"

#include "cli/apptainer/key_list.hpp"
#include "cli/apptainer/key_verbs.hpp"

#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace cybele::cli {

namespace {

/// The key of the keyring that signs, named by its place or chosen.
Result<std::string> signing_key(const Session& session, const OtherCall& call) {
    auto fingerprint = call.has("--keyidx") ? key_at(session, call.value("--keyidx"))
                                            : ask_for_key(session, KeyFor::kSigning);
    if (!fingerprint) { // else signing reports it
        session.inform_as_other("Signing image with PGP key material");
        return fingerprint;
    }
    if (::isatty(STDIN_FILENO) == 0 && is_locked(session, *fingerprint)) {
        Session::print("Enter key passphrase : \n");
    }
    return fingerprint;
}

/// What a user id is made of, where no flag says it.
void ask_for_name(const OtherCall& call, std::vector<std::string>& words) {
    struct Question {
        std::string_view flag;
        std::string_view text;
    };
    constexpr Question kQuestions[] = {
        {"--name", "Enter your name (e.g., John Doe) : "},
        {"--email", "Enter your email address (e.g., john.doe@example.com) : "},
        {"--comment", "Enter optional comment (e.g., development keys) : "}};
    for (const Question& one : kQuestions) {
        if (call.has(one.flag)) {
            continue;
        }
        Session::print(one.text);
        std::string answer; // none is an empty one
        std::getline(std::cin, answer);
        words.emplace_back(one.flag);
        words.push_back(answer); // after `=` an empty one would be taken for no value
    }
}

} // namespace

Result<OwnWords> sign_or_verify(const Session& session, const OtherCall& call) {
    std::vector<std::string> words = call.own_words();
    if (call.has("--all") && call.verb->verb == "sign") {
        (void)std::fputs("WARNING: Flag --all has been deprecated, now the default behavior\n",
                         stderr);
    }
    if (call.has("--keyidx") || (call.verb->verb == "sign" && !call.has("--key"))) {
        CYBELE_TRY(const std::string fingerprint, signing_key(session, call));
        words.push_back("--fingerprint=" + fingerprint);
    }
    if (!call.has("--key") && !call.has("--certificate")) {
        words.emplace_back("--pgp");
    }
    if (call.has("--json")) {
        words.emplace_back("--format=json");
    }
    if (call.verb->verb == "sign") {
        words.emplace_back("--force"); // the reference signs again, too
        if (!session.environment.get("CYBELE_PASSPHRASE") && ::isatty(STDIN_FILENO) == 0) {
            words.emplace_back("--passphrase-fd=0");
        }
    }
    words.push_back(call.words.front());
    return OwnWords{std::move(words), std::nullopt};
}

Result<OwnWords> key_new(Session& session, const OtherCall& call) {
    std::vector<std::string> words = call.own_words();
    words.emplace_back("--pgp");
    words.emplace_back(call.value("--bit-length") == "3072" ? "--algorithm=rsa"
                                                            : "--algorithm=rsa-4096");
    ask_for_name(call, words);
    if (call.value("--push") == "true") {
        return fail(ErrorCode::kEnvironment,
                    problem("apptainer-option-not-supported", "--push is not supported"),
                    "nothing is sent to key servers",
                    "leave it out, and publish the exported key");
    }
    if (call.has("--password") && call.value("--password").empty()) {
        words.emplace_back("--no-passphrase");
    } else if (call.has("--password")) {
        session.environment.set("CYBELE_PASSPHRASE", call.value("--password"));
    } else if (!session.environment.get("CYBELE_PASSPHRASE") && ::isatty(STDIN_FILENO) == 0) {
        constexpr int kNoPassphrase = 2; // as there, where standard input is read by then
        Session::print("Enter a passphrase : \nRetype your passphrase : \nWARNING: if there is no "
                       "password set, your key is not secure. Do you want to continue? [y/n] ");
        (void)std::fputs("ERROR:   could not collect user input: empty passphrase\n", stderr);
        return OwnWords{{}, kNoPassphrase};
    }
    return OwnWords{std::move(words), std::nullopt};
}

Result<OwnWords> key_export(const Session& session, const OtherCall& call) {
    constexpr int kNoSuchKey = 10; // Apptainer's code
    std::vector<std::string> words = call.own_words();
    words.push_back("--output=" + call.words.back());
    if (call.words.size() > 1) {
        words.push_back(call.words.front());
        return OwnWords{std::move(words), std::nullopt};
    }
    auto chosen =
        ask_for_key(session, call.has("--secret") ? KeyFor::kSecretExport : KeyFor::kPublicExport);
    if (!chosen) {
        session.note(chosen.error().faults());
        return OwnWords{{}, kNoSuchKey};
    }
    words.push_back(*chosen);
    return OwnWords{std::move(words), std::nullopt};
}

Result<OwnWords> refuse_global_keyring(const Session& session, bool is_import) {
    if (::geteuid() == 0) {
        return fail(ErrorCode::kEnvironment,
                    problem("apptainer-option-not-supported", "--global is not supported"),
                    "the machine's keyring belongs to root",
                    "name a file: `cybelectl key import`");
    }
    constexpr int kImportFailed = 2; // Apptainer's code
    const Error error(ErrorCode::kInput,
                      problem("global-keyring-refused",
                              is_import ? "key import command failed: open "
                                          "/etc/apptainer/global-pgp-public: permission denied"
                                        : "Unable to remove public key: no key matching given "
                                          "fingerprint found"));
    if (!is_import) {
        return fail(error);
    }
    session.note(error.faults());
    return OwnWords{{}, kImportFailed};
}

} // namespace cybele::cli
