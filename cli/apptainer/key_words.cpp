// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/key_words.hpp"

#include "cli/apptainer/key_list.hpp"
#include "cli/apptainer/key_verbs.hpp"
#include "images/openpgp/key_directory.hpp"
#include "support/file.hpp"
#include "support/text.hpp"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace cybele::cli {

namespace pgp = images::openpgp;

namespace {

/// The key of the keyring that signs, named by its place or chosen.
Result<std::string> signing_key(const Session& session, const OtherCall& call) {
    auto fingerprint = call.has("--keyidx") ? key_at(session, call.value("--keyidx"))
                                            : ask_for_key(session, KeyFor::kSigning);
    if (!fingerprint) { // else signing reports it
        session.inform_as_apptainer("Signing image with PGP key material");
        return fingerprint;
    }
    if (::isatty(STDIN_FILENO) == 0 && is_locked(session, *fingerprint)) {
        Session::print("Enter key passphrase : \n");
    }
    return fingerprint;
}

/// In Apptainer's colours, which do not depend on the terminal.
void warn_of_old_flags(const OtherCall& call) {
    struct OldFlag {
        const char* name;
        const char* instead;
        std::string_view verb; ///< empty: any
    };
    constexpr OldFlag kOldFlags[] = {{"--all", "now the default behavior", "sign"},
                                     {"--groupid", "use '--group-id'", ""},
                                     {"--id", "use '--sif-id'", ""}};
    for (const auto& [name, instead, verb] : kOldFlags) {
        if (call.has(name) && (verb.empty() || call.verb->verb == verb)) {
            (void)std::fprintf(
                stderr, "\x1b[33mWARNING:\x1b[0m Flag %s has been deprecated, %s\n", name, instead);
        }
    }
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
    warn_of_old_flags(call);
    const bool has_key = call.has("--key") || call.has("--certificate") || call.has("--local");
    if (call.has("--url") && !has_key) { // without effect, else
        return fail(ErrorCode::kEnvironment,
                    problem("apptainer-option-not-supported", "--url is not supported"),
                    "no key server is asked; import the signer's key by `key import`");
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
        words.emplace_back("--force"); // Apptainer signs again, too
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
    const std::string given = call.has("--bit-length") ? call.value("--bit-length") : "0";
    const std::string bits = given == "0" ? "4096" : given;
    constexpr int kFewestBits = 1024;
    if (text::number(bits).value_or(0) < kFewestBits) {
        constexpr int kNoKey = 2; // Apptainer's code
        Session::print("Generating Entity and OpenPGP Key Pair... \n");
        (void)std::fputs("ERROR:   creating newpair failed: openpgp: invalid argument: bits must "
                         "be >= 1024\n",
                         stderr);
        return OwnWords{{}, kNoKey};
    }
    if (bits != "3072" && bits != "4096") { // Apptainer makes weaker ones, too
        session.warn_as_apptainer("RSA keys have 3072 or 4096 bits here; this one has 4096.");
    }
    words.emplace_back(bits == "3072" ? "--algorithm=rsa" : "--algorithm=rsa-4096");
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

namespace {

constexpr int kImportFailed = 2; // Apptainer's code

OwnWords import_failed(const Session& session, const std::string& why) {
    session.note({Fault(ErrorCode::kInput,
                        problem("global-keyring-refused", "key import command failed: " + why))});
    return OwnWords{{}, kImportFailed};
}

Result<void> write_global_ring(const pgp::Keyring& ring) {
    const std::filesystem::path file(pgp::kGlobalKeyring);
    CYBELE_CHECK(make_directories(file.parent_path(), 0755));
    return write_file(file, ring.packets(), 0644);
}

Result<OwnWords> import_globally(const Session& session, const std::string& file) {
    CYBELE_TRY(const pgp::Keyring given,
               pgp::Keyring::read(file).map_error(during("importing keys", "key-import")));
    CYBELE_TRY(pgp::Keyring ring, global_ring());
    for (const pgp::Certificate& certificate : given.certificates()) {
        if (ring.add(certificate.public_half()) == pgp::Keyring::Added::kKnown) {
            return import_failed(session,
                                 "the key with fingerprint " + certificate.fingerprint() +
                                     " already belongs to the keyring");
        }
        CYBELE_CHECK(write_global_ring(ring));
        Session::print("Key with fingerprint " + certificate.fingerprint() +
                       " successfully added to the public keyring\n");
    }
    return OwnWords{{}, 0};
}

Result<OwnWords> remove_globally(const std::string& wanted) {
    CYBELE_TRY(const pgp::Keyring ring, global_ring());
    constexpr std::size_t kFingerprintDigits = 40;
    const pgp::Certificate* const found =
        pgp::normal_key_id(wanted).size() < kFingerprintDigits ? nullptr : ring.find(wanted);
    if (found == nullptr) {
        return fail(ErrorCode::kInput,
                    problem("global-keyring-refused",
                            "Unable to remove public key: no key matching given fingerprint "
                            "found"));
    }
    pgp::Keyring rest;
    for (const pgp::Certificate& one : ring.certificates()) {
        if (one.fingerprint() != found->fingerprint()) {
            rest.add(one);
        }
    }
    CYBELE_CHECK(write_global_ring(rest));
    return OwnWords{{}, 0};
}

} // namespace

Result<OwnWords> change_global_keyring(const Session& session, const OtherCall& call) {
    const bool is_import = call.verb->verb == "key import";
    if (::geteuid() == 0) {
        return is_import ? import_globally(session, call.words.front())
                         : remove_globally(call.words.front());
    }
    if (is_import) {
        return import_failed(session, "open /etc/apptainer/global-pgp-public: permission denied");
    }
    return fail(ErrorCode::kInput,
                problem("global-keyring-refused",
                        "Unable to remove public key: no key matching given fingerprint found"));
}

} // namespace cybele::cli
