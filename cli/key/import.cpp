// SPDX-License-Identifier: Apache-2.0
#include "cli/key/import.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "cli/key/key.hpp"
#include "images/openpgp/key_directory.hpp"
#include "images/openpgp/locked.hpp"
#include "images/openpgp/secret_key.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace pgp = images::openpgp;

Result<pgp::Certificate> closed(const Session& session,
                                const KeyClosing& closing,
                                const pgp::Certificate& certificate,
                                const std::string& what) {
    if (closing.has_no_passphrase || pgp::count_clear(certificate) == 0) {
        return certificate;
    }
    CYBELE_TRY(const Secret passphrase,
               read_passphrase(
                   passphrase_source(session, closing.passphrase), what, PassphraseUse::kChoose));
    return pgp::lock_certificate(certificate, passphrase);
}

Error as_own_folder(const Error& error) {
    std::vector<Fault> faults = error.faults();
    for (Fault& fault : faults) {
        if (fault.id == "no-such-file") {
            fault.code = ErrorCode::kEnvironment;
            fault.help = "name a folder that you can write: APPTAINER_KEYSDIR=DIR";
        }
    }
    return Error(std::move(faults));
}

namespace {

struct ImportOptions {
    std::vector<std::string> files;
    KeyClosing closing;
    bool has_new_passphrase = false; ///< in the place of none, or of the present one
};

std::string_view import_word(const pgp::KeyDirectory::Imported& one) {
    using Added = pgp::Keyring::Added;
    if (one.is_secret && one.secret == Added::kNew) {
        return "imported private key";
    }
    switch (one.added) {
    case Added::kNew:
        return "imported key";
    case Added::kMerged:
        return "updated key";
    case Added::kKnown:
        break;
    }
    return one.is_secret && one.secret == Added::kMerged ? "updated private key" : "already there:";
}

/// A key that no signature will be verified with is worth a word, damaged as it may be.
void note_unusable(const Session& session, const pgp::CertificateState& state, std::int64_t now) {
    if (state.keys.empty()) {
        return;
    }
    const pgp::KeyState& primary = state.keys.front();
    const std::string because = why_unusable(primary, now);
    if (because.empty()) {
        return;
    }
    session.note({warning(
        ErrorCode::kInput,
        problem("key-not-usable", fmt::format("key {} is not usable", primary.fingerprint)),
        because,
        "ask its owner for a newer export")});
}

tl::unexpected<Error> already_there(const pgp::KeyDirectory::Imported& one, const char* because) {
    return fail(ErrorCode::kInput,
                problem("key-already-in-keyring",
                        "the key " + one.fingerprint + " belongs to the keyring already")
                    .about(one.fingerprint),
                because);
}

/// By the name of Apptainer, keys that are all there already are an error.
Result<void> check_is_new(const Session& session,
                          const std::vector<pgp::KeyDirectory::Imported>& imported) {
    const bool is_known = std::ranges::all_of(
        imported, [](const auto& one) { return import_word(one) == "already there:"; });
    if (!session.is_apptainer() || !is_known) {
        return {};
    }
    return already_there(imported.front(), "nothing was imported");
}

/// By the name of Apptainer, standard input is read as there, where it is not a terminal.
PassphraseOptions key_input(const Session& session, const ImportOptions& options) {
    PassphraseOptions from = options.closing.passphrase;
    const bool is_piped = session.is_apptainer() && ::isatty(STDIN_FILENO) == 0;
    if (is_piped && !session.environment.get("CYBELE_PASSPHRASE")) {
        from.descriptor = STDIN_FILENO;
    }
    return from;
}

/// The passphrase of an encrypted private key that gets another; by the name of Apptainer, who
/// imports one shows that it is known. Empty: it has none.
Result<Secret> present_passphrase(const Session& session,
                                  const ImportOptions& options,
                                  const pgp::Certificate& certificate) {
    const bool is_asked = options.has_new_passphrase || session.is_apptainer();
    if (!is_asked || !certificate.has_secret()) {
        return Secret();
    }
    auto key = pgp::SecretKey::choose(certificate, Session::clock());
    if (!key || !key->is_locked()) {
        return Secret(); // what cannot sign is imported as it is
    }
    if (session.is_apptainer()) {
        Session::print("Enter your key password : \n"); // as there
    }
    CYBELE_TRY(Secret passphrase,
               read_passphrase(passphrase_source(session, key_input(session, options)),
                               "the key " + certificate.fingerprint(),
                               PassphraseUse::kOpen));
    CYBELE_CHECK(key->unlock(passphrase));
    return passphrase;
}

/// Both lines of standard input that Apptainer reads; empty: it has none.
Result<Secret> read_twice(const Session& session, const ImportOptions& options) {
    const PassphraseSource source = passphrase_source(session, key_input(session, options));
    Secret typed[2];
    for (Secret& one : typed) {
        Session::print(&one == &typed[0] ? "Enter a new password for this key : \n"
                                         : "Retype your passphrase : \n");
        auto line = read_passphrase(source, "the new passphrase", PassphraseUse::kOpen);
        if (!line && line.error().faults().front().id != "passphrase-missing") {
            return line;
        }
        one = line ? std::move(*line) : Secret();
    }
    if (typed[0].view() != typed[1].view()) {
        return fail(ErrorCode::kInput,
                    problem("passphrases-differ", "the two passphrases differ"),
                    "one of them was mistyped",
                    "call it again");
    }
    return std::move(typed[0]);
}

Result<pgp::Certificate> with_new_passphrase(const Session& session,
                                             const ImportOptions& options,
                                             const pgp::Certificate& certificate,
                                             const Secret& present) {
    if (!certificate.has_secret()) {
        return certificate;
    }
    const bool is_read_twice = session.is_apptainer() && ::isatty(STDIN_FILENO) == 0;
    CYBELE_TRY(const Secret chosen,
               is_read_twice
                   ? read_twice(session, options)
                   : read_passphrase(passphrase_source(session, options.closing.passphrase),
                                     "the key " + certificate.fingerprint() + " from now on",
                                     PassphraseUse::kChoose));
    return chosen.empty() ? Result<pgp::Certificate>(certificate)
                          : pgp::lock_certificate(certificate, chosen, &present);
}

/// The keys of the files, private ones closed as the options say.
Result<pgp::Keyring> read_files(const Session& session, const ImportOptions& options) {
    pgp::Keyring all;
    for (const std::string& file : options.files) {
        CYBELE_TRY(const pgp::Keyring ring, pgp::Keyring::read(file));
        for (const std::string& skipped : ring.skipped()) {
            session.note(
                {warning(ErrorCode::kInput,
                         problem("keys-left-out",
                                 fmt::format("{} of {} is left out", skipped, printable(file))),
                         "only keys of version 4 are supported")});
        }
        for (const pgp::Certificate& certificate : ring.certificates()) {
            CYBELE_TRY(const Secret present, present_passphrase(session, options, certificate));
            CYBELE_TRY(const pgp::Certificate kept,
                       options.has_new_passphrase
                           ? with_new_passphrase(session, options, certificate, present)
                           : closed(session,
                                    options.closing,
                                    certificate,
                                    fmt::format("the open key {}, to keep it encrypted",
                                                certificate.fingerprint())));
            all.add(kept);
        }
    }
    if (all.certificates().empty()) {
        return fail(ErrorCode::kInput,
                    problem("no-key-to-import", "there is no key to import"),
                    "the input has no supported key",
                    "export one with `gpg --export`, or `gpg --export-secret-keys`");
    }
    return all;
}

/// By the name of Apptainer: a line per keyring that has the key since now.
void print_as_apptainer(const pgp::KeyDirectory::Imported& one) {
    const auto print = [&](std::string_view ring) {
        Session::print(fmt::format("Key with fingerprint {} successfully added to the {} keyring\n",
                                   one.fingerprint,
                                   ring));
    };
    if (one.is_secret) {
        print("private");
    }
    if (!one.is_secret || one.added == pgp::Keyring::Added::kNew) {
        print("public");
    }
}

Result<int> import(const Session& session, const ImportOptions& options) {
    CYBELE_TRY(const pgp::Keyring all, read_files(session, options));
    const auto directory = pgp::KeyDirectory::of(session.environment);
    CYBELE_TRY(const auto imported, directory.import(all).map_error(as_own_folder));
    CYBELE_CHECK(check_is_new(session, imported));
    CYBELE_TRY(const pgp::Keyring kept, directory.public_ring());
    const std::int64_t now = Session::clock();
    const bool is_own_name = !session.is_apptainer();
    for (const auto& one : imported) {
        const pgp::Certificate* const certificate = kept.find(one.fingerprint);
        if (certificate == nullptr) {
            continue;
        }
        const pgp::CertificateState state = certificate->state(now);
        if (is_own_name) {
            Session::print(fmt::format(
                "{} {} {}\n", import_word(one), one.fingerprint, printable(state.name())));
        } else {
            print_as_apptainer(one);
        }
        note_unusable(session, state, now);
        if (!is_own_name && one.is_secret &&
            one.added == pgp::Keyring::Added::kKnown) { // as there, after the private one
            return already_there(one, "its private part was imported");
        }
    }
    return 0;
}

} // namespace

void install_import(CLI::App& key, Session& session) {
    const auto options = std::make_shared<ImportOptions>();
    CLI::App* verb = add_verb(key,
                              "import",
                              "Import OpenPGP keys into the keyring that Apptainer uses, too.",
                              {"cybelectl key import centre.asc",
                               "gpg --export-secret-keys centre | cybelectl key import -"});
    verb->add_option(
            "files", options->files, "OpenPGP keys, binary or armored; - is standard input")
        ->required()
        ->type_name("FILE");
    verb->add_flag("--no-passphrase",
                   options->closing.has_no_passphrase,
                   "leave private keys that are not encrypted as they are");
    verb->add_flag("--new-passphrase",
                   options->has_new_passphrase,
                   "encrypt private keys with another passphrase, also those that have one");
    add_passphrase(*verb, options->closing.passphrase);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return import(session, *options).map_error(during("importing keys", "key-import"));
        };
    });
}

} // namespace cybele::cli
