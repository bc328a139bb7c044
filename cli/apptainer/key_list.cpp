// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/key_list.hpp"

#include "cli/common/date_text.hpp"
#include "images/openpgp/key_directory.hpp"
#include "support/file.hpp"
#include "support/presence.hpp"
#include "support/quote.hpp"

#include <charconv>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <fmt/format.h>

namespace cybele::cli {

namespace pgp = images::openpgp;

namespace {

constexpr std::string_view kUsualBits = "256"; // of the keys whose algorithm fixes the length

/// "RSA 4096": 4096.
std::string length_of(std::string_view algorithm) {
    const std::size_t digits = algorithm.find_last_not_of("0123456789") + 1;
    const bool has_length = digits + 3 <= algorithm.size() && algorithm.substr(0, digits) != "Ed";
    return std::string(has_length ? algorithm.substr(digits) : kUsualBits);
}

/// "Name (comment) <address>", as Apptainer writes it without a comment, too.
std::string shown_name(const std::string& name) {
    const std::size_t address = name.rfind(" <");
    const bool has_comment = name.find('(') < address;
    return address == std::string::npos || has_comment
               ? name
               : name.substr(0, address) + " ()" + name.substr(address);
}

/// In another form where the keys are those to sign with.
std::string listing_of(const pgp::Keyring& ring, bool is_for_signing = false) {
    constexpr std::string_view kUsual = "{:<4}User:              {}\n"
                                        "    Creation time:     {}\n"
                                        "    Fingerprint:       {}\n"
                                        "    Length (in bits):  {}\n\n";
    constexpr std::string_view kSigning = "{} U: {}\n   C: {}\n   F: {}\n   L: {}\n   --------\n";
    std::string text;
    std::size_t number = 0;
    for (const pgp::Certificate& certificate : ring.certificates()) {
        const pgp::CertificateState state = certificate.state(Session::clock());
        if (state.keys.empty()) {
            continue;
        }
        text += fmt::format(fmt::runtime(is_for_signing ? kSigning : kUsual),
                            fmt::format("{})", number++),
                            printable(shown_name(state.name())),
                            readable_time(state.keys.front().created),
                            state.keys.front().fingerprint,
                            length_of(state.keys.front().algorithm));
    }
    return text;
}

} // namespace

Result<pgp::Keyring> global_ring() {
    CYBELE_TRY(const bool is_there, is_present(pgp::kGlobalKeyring, "the keyring of this machine"));
    if (!is_there) {
        return pgp::Keyring();
    }
    CYBELE_TRY(const std::string bytes, read_file(pgp::kGlobalKeyring, pgp::kMaximumKeyring));
    return pgp::Keyring::parse(bytes, pgp::kGlobalKeyring);
}

namespace {

/// As Apptainer, whose list makes both files of the keyring where they are missing.
void make_keyrings(const std::filesystem::path& folder) {
    if (!make_directories(folder, 0700)) {
        return; // the list shows what can be read
    }
    for (const char* const name : {"pgp-public", "pgp-secret"}) {
        const UniqueFd made(
            ::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    }
}

} // namespace

Result<int> list_keyring(const Session& session, const OtherCall& call) {
    const auto directory = pgp::KeyDirectory::of(session.environment);
    const bool is_secret = call.has("--secret");
    if (!call.has("--global")) {
        make_keyrings(directory.path());
    }
    if (is_secret && call.has("--global")) {
        Session::print("Private key listing (/etc/apptainer/pgp-secret):\n\n");
        return fail(ErrorCode::kInput,
                    problem("global-keyring-public", "the machine's keyring has no private keys"),
                    "it holds the public keys that every user relies on",
                    "leave out --secret or --global");
    }
    CYBELE_TRY(const pgp::Keyring ring,
               call.has("--global") ? global_ring()
               : is_secret          ? directory.secret_ring()
                                    : directory.public_ring());
    const std::filesystem::path shown_folder = call.value("--keysdir").empty()
                                                   ? directory.path()
                                                   : std::filesystem::path(call.value("--keysdir"));
    const std::string place =
        call.has("--global") ? pgp::kGlobalKeyring
                             : (shown_folder / (is_secret ? "pgp-secret" : "pgp-public")).native();
    Session::print(fmt::format("{} key listing ({}):\n\n{}",
                               is_secret ? "Private" : "Public",
                               printable(place),
                               listing_of(ring)));
    return 0;
}

Result<std::string> ask_for_key(const Session& session, KeyFor use) {
    const bool is_secret = use != KeyFor::kPublicExport;
    const bool is_export = use != KeyFor::kSigning;
    const auto directory = pgp::KeyDirectory::of(session.environment);
    CYBELE_TRY(const pgp::Keyring ring,
               is_secret ? directory.secret_ring() : directory.public_ring());
    if (ring.certificates().empty()) {
        return fail(ErrorCode::kInput,
                    problem(is_export ? "exporting-keyring-empty" : "signing-keyring-empty",
                            "the keyring " + printable(directory.path().native()) + " is empty"),
                    {},
                    "create a key pair by `key newpair`, or add keys by `key import`");
    }
    std::string line = "0";
    if (is_export || ring.certificates().size() > 1) {
        line.clear();
        Session::print(listing_of(ring, !is_export));
        Session::print(
            fmt::format("Enter # of {} key to use : ", is_secret ? "private" : "public"));
        std::getline(std::cin, line);
    }
    std::int64_t number = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
    if (is_export && (read.ec != std::errc() || read.ptr != line.data() + line.size())) {
        return fail(ErrorCode::kInput,
                    problem("key-choice-malformed",
                            "key export command failed: strconv.ParseInt: parsing \"" +
                                printable(line) + "\": invalid syntax"));
    }
    if (read.ec != std::errc() || read.ptr != line.data() + line.size() || number < 0 ||
        static_cast<std::size_t>(number) >= ring.certificates().size()) {
        return fail(
            ErrorCode::kInput,
            problem("key-choice-invalid", "'" + printable(line) + "' is not one of the keys"),
            fmt::format("there are {}, counted from 0", ring.certificates().size()),
            "give the number of a key in the list");
    }
    return ring.certificates()[static_cast<std::size_t>(number)].fingerprint();
}

} // namespace cybele::cli
