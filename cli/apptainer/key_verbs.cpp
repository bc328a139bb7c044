// SPDX-License-Identifier: Apache-2.0
// Keys of the keyring, and of key servers (HKP: draft-gallagher-openpgp-hkp).
#include "cli/apptainer/key_verbs.hpp"

#include "images/openpgp/armor.hpp"
#include "images/openpgp/key_directory.hpp"
#include "images/openpgp/secret_key.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace cybele::cli {

namespace pgp = images::openpgp;

namespace {

constexpr const char* kUsualServer = "https://keys.openpgp.org";
constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
constexpr int kServerFailed = 2; // Apptainer's code

/// As in a form: everything but letters, digits and "-._~" by its number.
std::string form_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_plain = (byte < 0x80 && std::isalnum(byte) != 0) || c == '-' || c == '.' ||
                              c == '_' || c == '~';
        out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
    }
    return out;
}

std::string form_unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        const bool is_number =
            text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
                text.data() + i + 3;
        out += is_number ? static_cast<char>(value) : text[i];
        i += is_number ? 2 : 0;
    }
    return out;
}

Result<std::string> ask_key_server(const Session& session,
                                   const OtherCall& call,
                                   const std::string& path,
                                   const std::string& form = {}) {
    std::string server = call.has("--url") ? call.value("--url") : kUsualServer;
    while (server.ends_with('/')) {
        server.pop_back();
    }
    HttpRequest request;
    request.url = server + path;
    request.access.allows_plain = server.starts_with("http://");
    if (!form.empty()) {
        request.method = "POST";
        request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
        request.body = form;
    }
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const HttpResponse answer, client.send(request));
    if (answer.status != 200) {
        return fail(ErrorCode::kEnvironment,
                    problem("key-server-refused",
                            "the key server " + printable(server) + " has no answer",
                            std::to_string(answer.status)),
                    fmt::format("it answers with status {}", answer.status),
                    "check the fingerprint, or name another server by --url");
    }
    return answer.body;
}

Result<const pgp::Certificate*> find_sent(const pgp::Keyring& sent, const std::string& wanted) {
    if (const pgp::Certificate* const found = sent.find(wanted)) {
        return found;
    }
    return fail(ErrorCode::kVerification,
                problem("key-server-other-key", "the key server sent another key"),
                "its fingerprint is not " + wanted,
                "name another server by --url");
}

/// Of a key id of eight digits, as Apptainer accepts it: other people can make a key that has
/// the same.
Result<const pgp::Certificate*>
find_by_end(const Session& session, const pgp::Keyring& sent, const std::string& wanted) {
    const pgp::Certificate* found = nullptr;
    for (const pgp::Certificate& one : sent.certificates()) {
        if (!one.fingerprint().ends_with(wanted)) {
            continue;
        }
        if (found != nullptr) {
            return fail(ErrorCode::kVerification,
                        problem("key-server-several-keys",
                                "the key server sent several keys that end with " + wanted),
                        "other people can make a key with the same eight digits",
                        "name the fingerprint, which has 40 digits");
        }
        found = &one;
    }
    if (found == nullptr) {
        return find_sent(sent, wanted);
    }
    session.warn_as_apptainer("Other keys can end with " + wanted +
                              ", too. This one has the fingerprint " + found->fingerprint() + ".");
    return found;
}

Result<int> pull_key(const Session& session, const OtherCall& call) {
    const std::string& word = call.words.front();
    const bool is_short = word.size() == 8 && word.find_first_not_of(kDigits) == std::string::npos;
    std::string wanted = is_short ? word : pgp::normal_key_id(word);
    wanted = text::uppered(wanted);
    if (wanted.empty()) {
        return fail(ErrorCode::kInput,
                    problem("fingerprint-malformed",
                            "'" + printable(call.words.front()) + "' is not a fingerprint"),
                    "it has 40 hexadecimal digits, a key id has 16",
                    "`key search` shows the fingerprints that a server has");
    }
    CYBELE_TRY(const std::string text,
               ask_key_server(session, call, "/pks/lookup?op=get&options=mr&search=0x" + wanted));
    CYBELE_TRY(const pgp::Keyring ring, pgp::Keyring::parse(text, "the answer of the key server"));
    CYBELE_TRY(const pgp::Certificate* const found,
               is_short ? find_by_end(session, ring, wanted) : find_sent(ring, wanted));
    pgp::Keyring only;
    only.add(*found);
    CYBELE_TRY(const auto imported, pgp::KeyDirectory::of(session.environment).import(only));
    const auto added = std::ranges::count_if(
        imported, [](const auto& one) { return one.added != pgp::Keyring::Added::kKnown; });
    Session::print(fmt::format("{} key(s) added to keyring of trust {}\n",
                               added,
                               pgp::KeyDirectory::of(session.environment).public_file().native()));
    return 0;
}

Result<int> push_key(const Session& session, const OtherCall& call) {
    CYBELE_TRY(const pgp::Keyring ring, pgp::KeyDirectory::of(session.environment).public_ring());
    if (ring.certificates().empty()) {
        return fail(ErrorCode::kInput,
                    problem("key-server-silent",
                            "push failed: no public keys in local store to choose from"));
    }
    CYBELE_TRY(const pgp::Certificate* const found, ring.choose(call.words.front()));
    pgp::Keyring only;
    only.add(found->public_half());
    const std::string text =
        pgp::write_armor("PUBLIC KEY BLOCK", only.packets(), pgp::Checksum::kCrc24);
    CYBELE_TRY(const std::string answer,
               ask_key_server(session, call, "/pks/add", "keytext=" + form_escaped(text)));
    const std::string line = answer.substr(0, answer.find('\n'));
    if (!line.empty()) {
        session.inform_as_apptainer("Key server response: " + printable(line));
    }
    Session::print("public key `" + found->fingerprint() + "' pushed to server successfully\n");
    return 0;
}

/// A table of the keys that a server found; `is_long`: with complete fingerprints.
std::string found_keys(const std::string& index, bool is_long) {
    constexpr std::size_t kShortDigits = 8;
    struct Found {
        std::string id;
        std::string bits;
        std::vector<std::string> names;
    };
    std::vector<Found> all;
    std::size_t id_width = std::string_view("KEY ID").size();
    std::size_t bits_width = std::string_view("BITS").size();
    for (const std::string_view line : text::split_terminated(index, '\n')) {
        const auto fields = text::split_terminated(line, ':');
        if (fields.size() > 1 && fields[0] == "pub") {
            const std::string id = printable(std::string(fields[1]));
            all.push_back(
                {is_long || id.size() < kShortDigits ? id : id.substr(id.size() - kShortDigits),
                 fields.size() > 3 ? printable(std::string(fields[3])) : std::string(),
                 {}});
            id_width = std::max(id_width, all.back().id.size());
            bits_width = std::max(bits_width, all.back().bits.size());
        } else if (fields.size() > 1 && fields[0] == "uid" && !all.empty()) {
            all.back().names.push_back(printable(form_unescaped(fields[1])));
        }
    }
    std::string shown = fmt::format("Showing {} results\n\n{:<{}}  {:<{}}  NAME/EMAIL\n",
                                    all.size(),
                                    "KEY ID",
                                    id_width,
                                    "BITS",
                                    bits_width);
    for (const Found& one : all) {
        shown += fmt::format("{:<{}}  {:<{}}  {}\n",
                             one.id,
                             id_width,
                             one.bits,
                             bits_width,
                             one.names.empty() ? "" : one.names.front());
        for (std::size_t i = 1; i < one.names.size(); ++i) {
            shown += std::string(id_width + bits_width + 4, ' ') + one.names[i] + "\n";
        }
    }
    return shown;
}

/// The machine-readable index: pub:FINGERPRINT:ALGORITHM:BITS:CREATED:…, uid:NAME:…
Result<int> search_keys(const Session& session, const OtherCall& call) {
    if (call.words.front().empty()) {
        return fail(ErrorCode::kInput,
                    problem("key-search-empty", "`key search` has no text to search for"),
                    "a key server does not list all its keys",
                    "give a name, an email address or a fingerprint");
    }
    CYBELE_TRY(const std::string text,
               ask_key_server(session,
                              call,
                              "/pks/lookup?op=index&options=mr&fingerprint=on&search=" +
                                  form_escaped(call.words.front())));
    Session::print(found_keys(text, call.has("--long-list")));
    return 0;
}

Result<int> remove_key(const Session& session, const OtherCall& call) {
    const bool is_both = call.has("--both");
    const bool is_secret = is_both || call.has("--secret");
    const bool is_public = is_both || call.has("--public") || !is_secret;
    constexpr std::size_t kFingerprintDigits = 40; // Apptainer removes nothing by a key id
    if (pgp::normal_key_id(call.words.front()).size() < kFingerprintDigits) {
        return fail(ErrorCode::kInput,
                    problem("key-not-in-keyring",
                            "'" + printable(call.words.front()) + "' is not a fingerprint",
                            "public"),
                    "it has 40 hexadecimal digits: nothing was removed",
                    "`key list` shows the fingerprints");
    }
    CYBELE_TRY(const bool is_removed,
               pgp::KeyDirectory::of(session.environment)
                   .remove(call.words.front(), is_public, is_secret));
    if (!is_removed) {
        return fail(ErrorCode::kInput,
                    problem("key-not-in-keyring",
                            "the keyring has no key " + printable(call.words.front()),
                            is_public && is_secret ? "both"
                            : is_secret            ? "secret"
                                                   : "public"),
                    is_public && is_secret ? "neither half was removed"
                    : is_secret            ? "it has no private half, and nothing was removed"
                                           : "nothing was removed",
                    "`key list` shows the fingerprints");
    }
    return 0;
}

/// Why nothing came of it, in the words of Apptainer where it has some.
Fault worded_as_apptainer(std::string_view verb, const Fault& fault) {
    const bool is_missing = fault.id == "key-server-refused" && fault.detail == "404";
    const std::string_view words =
        is_missing && verb == "key pull"
            ? "pull failed: unable to pull key from server: no matching keys found for fingerprint"
        : is_missing && verb == "key search"
            ? "search failed: no matching keys found for fingerprint"
            : "";
    if (words.empty()) {
        return fault;
    }
    return Fault(fault.code, problem("key-server-silent", std::string(words)));
}

} // namespace

Result<int> key_verb(const Session& session, const OtherCall& call) {
    const std::string_view verb = call.verb->verb;
    if (verb == "key remove") {
        return remove_key(session, call);
    }
    session.doing("waiting for the key server");
    auto done = verb == "key pull"   ? pull_key(session, call)
                : verb == "key push" ? push_key(session, call)
                                     : search_keys(session, call);
    if (!done) {
        session.note({worded_as_apptainer(verb, done.error().faults().front())});
        return kServerFailed;
    }
    return done;
}

Result<std::string> key_at(const Session& session, const std::string& place) {
    CYBELE_TRY(const pgp::Keyring ring, pgp::KeyDirectory::of(session.environment).secret_ring());
    std::size_t number = 0;
    const auto read = std::from_chars(place.data(), place.data() + place.size(), number);
    const bool is_number = read.ec == std::errc() && read.ptr == place.data() + place.size();
    if (!is_number || number >= ring.certificates().size()) {
        return fail(ErrorCode::kInput,
                    problem("key-place-unknown",
                            "index out of range: the keyring has no private key number " +
                                printable(place)),
                    fmt::format("it has {}, counted from 0", ring.certificates().size()),
                    "`key list --secret` shows them");
    }
    return ring.certificates()[number].fingerprint();
}

bool is_locked(const Session& session, const std::string& fingerprint) {
    const auto ring = pgp::KeyDirectory::of(session.environment).secret_ring();
    const pgp::Certificate* const found = ring ? ring->find(fingerprint) : nullptr;
    const auto key = found == nullptr
                         ? std::nullopt
                         : std::optional(pgp::SecretKey::choose(*found, Session::clock()));
    return key && *key && (*key)->is_locked();
}

} // namespace cybele::cli
