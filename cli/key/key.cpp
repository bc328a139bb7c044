// SPDX-License-Identifier: Apache-2.0
#include "cli/key/key.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/git_tree.hpp"
#include "cli/common/passphrase.hpp"
#include "cli/common/session.hpp"
#include "cli/key/import.hpp"
#include "images/keys/new.hpp"
#include "images/openpgp/armor.hpp"
#include "images/openpgp/generate.hpp"
#include "images/openpgp/key_directory.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"
#include "support/text.hpp"

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {

namespace pgp = images::openpgp;

namespace {

constexpr std::int64_t kKeyDay = 86400;
constexpr unsigned kPrivateMode = 0600;
constexpr unsigned kPublicMode = 0644;

struct KeyOptions {
    std::string file; ///< of a new PEM key
    std::string algorithm = "ed25519";
    bool encrypts = false;
    bool is_pgp = false;
    KeyClosing closing;
    std::string name;
    std::string email;
    std::string comment;
    std::optional<std::uint32_t> days;
    std::vector<std::string> files; ///< to list
    std::string id;                 ///< to export
    bool armors = false;
    bool is_secret = false;
    std::string output;
};

/// As Apptainer: a file that exists is written over and keeps its mode; the mode of a new one
/// is by the umask, but that a private key is its owner's alone.
Result<void> write_over(const KeyOptions& options, const std::string& bytes) {
    constexpr unsigned kAnyMode = 0666;
    const UniqueFd file(::open(options.output.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                               options.is_secret ? kPrivateMode : kAnyMode));
    if (!file.valid()) {
        const int number = errno;
        return fail(ErrorCode::kInput,
                    problem("key-not-exported",
                            "key export command failed: unable to create file: open " +
                                printable(options.output) + ": " +
                                text::lowered(std::generic_category().message(number))));
    }
    return write_all(file.get(), bytes, options.output);
}

/// A private key that git would add is worth a word.
void note_git(const Session& session, const std::string& file) {
    if (const auto warning = warn_of_git(session.environment, file)) {
        session.note({*warning});
    }
}

Result<int> new_pem(const Session& session, const KeyOptions& options) {
    if (options.file.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("key-file-not-named", "missing output file for the key"),
                    {},
                    "give one, `cybelectl key new site.pem`, or --pgp for an OpenPGP key");
    }
    if (!options.name.empty() || !options.email.empty() || !options.comment.empty() ||
        options.days) {
        return fail(
            ErrorCode::kUsage,
            problem("pem-key-without-user", "a PEM key has no name, address, comment or last day"),
            {},
            "leave them out, or make an OpenPGP key: --pgp");
    }
    images::NewPemKey wanted;
    wanted.file = options.file;
    wanted.algorithm = options.algorithm;
    // Who gives a passphrase wants it used.
    const bool encrypts = options.encrypts || !options.closing.passphrase.file.empty() ||
                          options.closing.passphrase.descriptor;
    if (encrypts) {
        CYBELE_TRY(wanted.passphrase,
                   read_passphrase(passphrase_source(session, options.closing.passphrase),
                                   "the new key " + options.file,
                                   PassphraseUse::kChoose));
    }
    CYBELE_TRY(const auto public_file, images::new_key(wanted));
    note_git(session, options.file);
    Session::print(fmt::format("private key {} ({}), public key {} (share)\n",
                               printable(options.file),
                               encrypts ? "encrypted" : "keep secret",
                               printable(public_file.native())));
    return 0;
}

Result<int> new_pgp(const Session& session, const KeyOptions& options) {
    if (!options.file.empty()) {
        return fail(
            ErrorCode::kUsage,
            problem("openpgp-key-file", "an OpenPGP key goes into the keyring, not into a file"),
            {},
            "leave the file out; `cybelectl key export` writes one");
    }
    pgp::NewKey wanted;
    wanted.name = options.name;
    wanted.email = options.email;
    wanted.comment = options.comment;
    wanted.allows_no_name = session.is_apptainer() && !options.email.empty();
    wanted.algorithm = options.algorithm;
    wanted.time = session.now();
    wanted.random = random_bytes(pgp::kNewKeySalt);
    if (options.days) {
        wanted.expires_after = static_cast<std::uint32_t>(*options.days * kKeyDay);
    }
    CYBELE_TRY(const pgp::Certificate made, pgp::generate(wanted));
    CYBELE_TRY(const pgp::Certificate kept,
               closed(session, options.closing, made, "the new key of " + options.name));
    pgp::Keyring ring;
    ring.add(kept);
    const auto directory = pgp::KeyDirectory::of(session.environment);
    CYBELE_CHECK(directory.import(ring).map_error(as_own_folder));
    Session::print(session.is_apptainer() ? "Generating Entity and OpenPGP Key Pair... done\n"
                                          : fmt::format("made key {} in {}\n",
                                                        made.fingerprint(),
                                                        printable(directory.path().native())));
    return 0;
}

Result<int> new_key(const Session& session, const KeyOptions& options) {
    return options.is_pgp ? new_pgp(session, options) : new_pem(session, options);
}

Result<int>
write_export(const Session& session, const KeyOptions& options, const std::string& bytes) {
    if (options.output.empty() || options.output == "-") {
        if (!options.armors && ::isatty(STDOUT_FILENO) != 0) {
            return fail(ErrorCode::kUsage,
                        problem("binary-key-on-terminal", "a terminal cannot show a binary key"),
                        {},
                        "give --armor, or a file: -o FILE");
        }
        Session::print(bytes);
        return 0;
    }
    if (session.is_apptainer()) {
        return write_over(options, bytes).map([] { return 0; });
    }
    if (options.is_secret && ::access(options.output.c_str(), F_OK) == 0) {
        return fail(
            ErrorCode::kInput,
            problem("key-file-exists", fmt::format("{} exists already", printable(options.output))),
            "a private key is never written over a file",
            "choose another name, or remove the file yourself");
    }
    CYBELE_CHECK(write_file(options.output, bytes, options.is_secret ? kPrivateMode : kPublicMode));
    if (options.is_secret) {
        note_git(session, options.output);
    }
    return 0;
}

/// By the name of Apptainer, the line that its callers look for.
void say_exported(const Session& session,
                  const KeyOptions& options,
                  const std::string& fingerprint) {
    if (session.is_apptainer()) {
        Session::print(fmt::format("{} key with fingerprint {} correctly exported to file: {}\n",
                                   options.is_secret ? "Private" : "Public",
                                   fingerprint,
                                   printable(options.output)));
    }
}

Result<int> export_key(const Session& session, const KeyOptions& options) {
    const auto directory = pgp::KeyDirectory::of(session.environment);
    CYBELE_TRY(const pgp::Keyring ring,
               options.is_secret ? directory.secret_ring() : directory.public_ring());
    CYBELE_TRY(const pgp::Certificate* const certificate, ring.choose(options.id));
    std::string bytes = certificate->packets();
    if (options.armors) {
        std::string text =
            pgp::write_armor(options.is_secret ? "PRIVATE KEY BLOCK" : "PUBLIC KEY BLOCK",
                             bytes,
                             pgp::Checksum::kCrc24);
        text += '\n';
        wipe(bytes);
        bytes = std::move(text);
    }
    auto written = write_export(session, options, bytes);
    wipe(bytes);
    if (written) {
        say_exported(session, options, certificate->fingerprint());
    }
    return written;
}

void install_new(CLI::App& key, Session& session, const std::shared_ptr<KeyOptions>& options) {
    CLI::App* verb =
        add_verb(key,
                 "new",
                 "Make a key pair: PEM files, or with --pgp an OpenPGP key in the keyring.",
                 {"cybelectl key new centre.pem",
                  "cybelectl key new centre.pem --encrypt --passphrase-file secret.txt",
                  "cybelectl key new --pgp --name 'A Site' --email keys@site.example"});
    verb->add_option("file", options->file, "the private key's file")->type_name("FILE");
    verb->add_option("--algorithm", options->algorithm, "algorithm of the key")
        ->check(CLI::IsMember({"ed25519", "ecdsa", "ecdsa-p384", "ecdsa-p521", "rsa", "rsa-4096"}))
        ->capture_default_str();
    verb->add_flag("--encrypt",
                   options->encrypts,
                   "encrypt the PEM key with a passphrase, asked for unless given");
    verb->add_flag("--pgp", options->is_pgp, "make an OpenPGP key, always with a passphrase");
    verb->add_option("--name", options->name, "name of a person or site in the OpenPGP key");
    verb->add_option("--email", options->email, "e-mail address in the OpenPGP key");
    verb->add_option("--comment", options->comment, "comment in the OpenPGP key");
    verb->add_option("--days", options->days, "days until the OpenPGP key expires (default: never)")
        ->check(CLI::Range(1, 36500));
    verb->add_flag(
        "--no-passphrase", options->closing.has_no_passphrase, "leave the OpenPGP key unencrypted");
    add_passphrase(*verb, options->closing.passphrase);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return new_key(session, *options).map_error(during("making a key"));
        };
    });
}

void install_export(CLI::App& key, Session& session, const std::shared_ptr<KeyOptions>& options) {
    CLI::App* verb = add_verb(key,
                              "export",
                              "Write an OpenPGP key of the keyring.",
                              {"cybelectl key export 8C10B2D64F6B3D1A --armor -o centre.asc",
                               "cybelectl key export keys@site.example --secret -o centre.key"});
    verb->add_option("key", options->id, "a fingerprint, a key id, or a part of the user id")
        ->required()
        ->type_name("KEY");
    verb->add_flag("--armor", options->armors, "write text instead of binary data");
    verb->add_flag("--secret", options->is_secret, "include the private key, encrypted as it is");
    verb->add_option("-o,--output", options->output, "output file (default: standard output)")
        ->type_name("FILE");
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return export_key(session, *options).map_error(during("exporting a key"));
        };
    });
}

void install_list(CLI::App& key, Session& session, const std::shared_ptr<KeyOptions>& options) {
    CLI::App* verb = add_verb(key,
                              "list",
                              "Show the OpenPGP keys of the keyring, or the keys in files.",
                              {"cybelectl key list", "cybelectl key list centre.pub centre.asc"});
    verb->add_option("files", options->files, "PEM or OpenPGP keys; the keyring by default")
        ->type_name("FILE");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] { return list_keys(session, options->files); };
    });
}

} // namespace

void install_key(CLI::App& app, Session& session) {
    auto options = std::make_shared<KeyOptions>();
    CLI::App* key = add_verb(app,
                             "key",
                             "Make, show and share signing keys.",
                             {"cybelectl key new centre.pem", "cybelectl key list"});
    key->require_subcommand(1);
    install_new(*key, session, options);
    install_list(*key, session, options);
    install_import(*key, session);
    install_export(*key, session, options);
}

} // namespace cybele::cli
