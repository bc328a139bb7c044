// SPDX-License-Identifier: Apache-2.0
// Keys of the keyring, and of key servers (HKP: draft-gallagher-openpgp-hkp).
#include "cli/apptainer/key_verbs.hpp"

#include "images/openpgp/armor.hpp"
#include "images/openpgp/key_directory.hpp"
#include "images/openpgp/secret_key.hpp"
#include "support/http.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <charconv>
#include <cstdio>

#include <fmt/format.h>

namespace cybele::cli {

namespace pgp = images::openpgp;

namespace {

constexpr const char* kUsualServer = "https://keys.openpgp.org";
constexpr int kServerFailed = 2; // the reference's code

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
        return fail(
            ErrorCode::kEnvironment,
            problem("key-server-refused", "the key server " + printable(server) + " has no answer"),
            fmt::format("it answers with status {}", answer.status),
            "check the fingerprint, or name another server by --url");
    }
    return answer.body;
}

Result<int> pull_key(const Session& session, const OtherCall& call) {
    const std::string wanted = pgp::normal_key_id(call.words.front());
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
    if (ring.find(wanted) == nullptr) {
        return fail(ErrorCode::kVerification,
                    problem("key-server-other-key", "the key server sent another key"),
                    "its fingerprint is not " + wanted,
                    "name another server by --url");
    }
    pgp::Keyring only;
    only.add(*ring.find(wanted));
    CYBELE_TRY(const auto imported, pgp::KeyDirectory::of(session.environment).import(only));
    Session::print(fmt::format("{} key(s) added to keyring of trust {}\n",
                               imported.size(),
                               pgp::KeyDirectory::of(session.environment).public_file().native()));
    return 0;
}

Result<int> push_key(const Session& session, const OtherCall& call) {
    CYBELE_TRY(const pgp::Keyring ring, pgp::KeyDirectory::of(session.environment).public_ring());
    CYBELE_TRY(const pgp::Certificate* const found, ring.choose(call.words.front()));
    pgp::Keyring only;
    only.add(found->public_half());
    const std::string text =
        pgp::write_armor("PUBLIC KEY BLOCK", only.packets(), pgp::Checksum::kCrc24);
    CYBELE_CHECK(ask_key_server(session, call, "/pks/add", "keytext=" + form_escaped(text)));
    Session::print("public key `" + found->fingerprint() + "' pushed to server successfully\n");
    return 0;
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
    std::string rows;
    std::size_t count = 0;
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        const auto fields = text::split_terminated(line, ':');
        if (fields.size() > 1 && fields[0] == "pub") {
            ++count;
            rows += printable(std::string(fields[1]));
            rows += fields.size() > 3 ? "  " + printable(std::string(fields[3])) : std::string();
            rows += "  ";
        } else if (fields.size() > 1 && fields[0] == "uid") {
            rows += printable(form_unescaped(fields[1])) + "\n";
        }
    }
    Session::print(fmt::format("Showing {} results\n\n{}\n", count, rows));
    return 0;
}

Result<int> remove_key(const Session& session, const OtherCall& call) {
    const bool is_both = call.has("--both");
    const bool is_secret = is_both || call.has("--secret");
    const bool is_public = is_both || call.has("--public") || !is_secret;
    constexpr std::size_t kFingerprintDigits = 40; // the reference removes nothing by a key id
    if (pgp::normal_key_id(call.words.front()).size() < kFingerprintDigits) {
        return fail(ErrorCode::kInput,
                    problem("key-not-in-keyring",
                            "'" + printable(call.words.front()) + "' is not a fingerprint"),
                    "it has 40 hexadecimal digits: nothing was removed",
                    "`key list` shows the fingerprints");
    }
    CYBELE_TRY(const bool is_removed,
               pgp::KeyDirectory::of(session.environment)
                   .remove(call.words.front(), is_public, is_secret));
    if (!is_removed) {
        return fail(ErrorCode::kInput,
                    problem("key-not-in-keyring",
                            "the keyring has no key " + printable(call.words.front())),
                    "nothing was removed",
                    "`key list` shows the fingerprints");
    }
    return 0;
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
        session.note(done.error().faults());
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
