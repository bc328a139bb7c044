// SPDX-License-Identifier: Apache-2.0
#include "cli/common/session.hpp"
#include "cli/key/key.hpp"
#include "images/keys/key.hpp"
#include "images/keys/pem.hpp"
#include "images/openpgp/armor.hpp"
#include "images/openpgp/key_directory.hpp"
#include "support/file.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace cybele::cli {

namespace pgp = images::openpgp;

namespace {

/// One line of the list.
struct KeyRow {
    nlohmann::json json;
    std::string text;
};

std::string key_date(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    return ::gmtime_r(&time, &parts) == nullptr ? "?" : fmt::format("{:%Y-%m-%d}", parts);
}

std::string_view secret_word(pgp::SecretPart part) {
    switch (part) {
    case pgp::SecretPart::kNone:
        return "none";
    case pgp::SecretPart::kClear:
        return "clear";
    case pgp::SecretPart::kLocked:
        return "encrypted";
    case pgp::SecretPart::kElsewhere:
        return "elsewhere";
    }
    return "none";
}

nlohmann::json key_json(const pgp::KeyState& key, std::int64_t now) {
    nlohmann::json json{{"fingerprint", key.fingerprint},
                        {"algorithm", key.algorithm},
                        {"created", key.created},
                        {"signs", key.can_sign},
                        {"certifies", key.can_certify},
                        {"private", secret_word(key.secret)},
                        {"revoked", key.is_revoked}};
    if (key.expires) {
        json["expires"] = *key.expires;
    }
    const std::string because = why_unusable(key, now);
    json["usable"] = because.empty();
    if (!because.empty()) {
        json["because"] = because;
    }
    return json;
}

KeyRow key_row(const pgp::CertificateState& state, pgp::SecretPart secret, std::int64_t now) {
    KeyRow row;
    pgp::KeyState primary = state.keys.front();
    primary.secret = secret;
    row.json = key_json(primary, now);
    row.json["kind"] = "pgp";
    row.json["user-ids"] = state.user_ids;
    row.json["subkeys"] = nlohmann::json::array();
    for (std::size_t i = 1; i < state.keys.size(); ++i) {
        row.json["subkeys"].push_back(key_json(state.keys[i], now));
    }
    const std::string because = why_unusable(primary, now);
    row.text = fmt::format("{}  {:<10}  {}  {:<8}  {}\n",
                           primary.fingerprint,
                           primary.algorithm,
                           key_date(primary.created),
                           secret == pgp::SecretPart::kNone ? "public" : "private",
                           printable(state.name()));
    if (!because.empty()) {
        row.text += fmt::format("    not usable: {}\n", because);
    } else if (primary.expires) {
        row.text += fmt::format("    expires on {}\n", key_date(*primary.expires));
    }
    return row;
}

/// The certificates of a ring; private parts may lie in another.
void add_rows(std::vector<KeyRow>& rows,
              const pgp::Keyring& ring,
              const pgp::Keyring& secrets,
              std::int64_t now) {
    for (const pgp::Certificate& certificate : ring.certificates()) {
        const pgp::CertificateState state = certificate.state(now);
        if (state.keys.empty()) {
            continue;
        }
        pgp::SecretPart secret = state.keys.front().secret;
        if (const pgp::Certificate* const pair = secrets.find(certificate.fingerprint());
            pair != nullptr && secret == pgp::SecretPart::kNone) {
            const pgp::CertificateState other = pair->state(now);
            secret = other.keys.empty() ? secret : other.keys.front().secret;
        }
        rows.push_back(key_row(state, secret, now));
    }
}

KeyRow key_row(const std::string& file, std::string_view secret, const images::PublicKey* key) {
    KeyRow row;
    row.json = {{"kind", "pem"}, {"file", file}, {"private", secret}};
    if (key != nullptr) {
        row.json["fingerprint"] = key->fingerprint();
        row.json["algorithm"] = key->algorithm();
    }
    row.text = fmt::format("{}  {:<10}  {:<8}  {}\n",
                           key != nullptr ? key->fingerprint() : "encrypted",
                           key != nullptr ? key->algorithm() : "?",
                           secret == "none" ? "public" : "private",
                           printable(file));
    return row;
}

/// A PEM file. An encrypted key is told as such: nothing is asked.
Result<KeyRow> read_pem_row(const std::string& file) {
    const auto block = images::read_pem(file, images::KeyUse::kPrivate);
    if (!block) {
        CYBELE_TRY(const images::PublicKey key, images::PublicKey::read(file));
        return key_row(file, "none", &key);
    }
    if (block->form != images::KeyForm::kPlain) {
        return key_row(file, "encrypted", nullptr);
    }
    CYBELE_TRY(const images::PrivateKey key, images::PrivateKey::read(file));
    return key_row(file, "clear", &key.public_key());
}

Result<void> add_file(std::vector<KeyRow>& rows, const std::string& file, std::int64_t now) {
    CYBELE_TRY(std::string bytes,
               read_file(file, pgp::kMaximumKeyring).map_error(during("reading the keyring")));
    const bool is_pgp = pgp::has_armor(bytes) ||
                        (!bytes.empty() && (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0);
    auto ring = is_pgp ? pgp::Keyring::parse(bytes, file) : pgp::Keyring();
    wipe(bytes);
    if (!ring) {
        return fail(std::move(ring).error());
    }
    if (is_pgp) {
        add_rows(rows, *ring, {}, now);
        return {};
    }
    CYBELE_TRY(KeyRow row, read_pem_row(file));
    rows.push_back(std::move(row));
    return {};
}

} // namespace

std::string why_unusable(const pgp::KeyState& key, std::int64_t now) {
    if (!key.because.empty()) {
        return key.because;
    }
    return key.expires && *key.expires <= now
               ? fmt::format("it expired on {}", key_date(*key.expires))
               : "";
}

Result<int> list_keys(const Session& session, const std::vector<std::string>& files) {
    std::vector<KeyRow> rows;
    const auto directory = pgp::KeyDirectory::of(session.environment);
    if (files.empty()) {
        CYBELE_TRY(const pgp::Keyring open, directory.public_ring());
        CYBELE_TRY(const pgp::Keyring secret, directory.secret_ring());
        add_rows(rows, open, secret, Session::clock());
    }
    for (const std::string& file : files) {
        CYBELE_CHECK(add_file(rows, file, Session::clock()));
    }
    nlohmann::json document{{"format", 1}, {"keys", nlohmann::json::array()}};
    std::string text;
    for (KeyRow& row : rows) {
        text += row.text;
        document["keys"].push_back(std::move(row.json));
    }
    if (files.empty()) {
        document["keyring"] = directory.path().native();
    }
    if (rows.empty()) {
        session.say(fmt::format("no key in {}", printable(directory.path().native())));
    }
    Session::print(session.is_json() ? json_text(document) + "\n" : text);
    return 0;
}

} // namespace cybele::cli
