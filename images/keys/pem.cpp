// SPDX-License-Identifier: Apache-2.0
#include "images/keys/pem.hpp"

#include "support/other_file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

enum class ContentKind { kPrivate, kPublic, kForeign, kOther };

/// What a file holds, by the label of its PEM block or by its first bytes.
struct Content {
    std::string_view mark;
    ContentKind kind;
    std::string_view is;
    std::string_view help;
    KeyForm form = KeyForm::kPlain;
};

constexpr std::string_view kFromCosign = "give cosign.pub, which cosign wrote next to it";
constexpr std::string_view kOwn = "give a PEM file, as `cybelectl key new NAME.pem` makes it";

constexpr Content kLabels[] = {
    {"PRIVATE KEY", ContentKind::kPrivate, "a private key", {}},
    {"RSA PRIVATE KEY", ContentKind::kPrivate, "a private RSA key", {}},
    {"EC PRIVATE KEY", ContentKind::kPrivate, "a private EC key", {}},
    {"PUBLIC KEY", ContentKind::kPublic, "a public key", {}},
    {"RSA PUBLIC KEY", ContentKind::kPublic, "a public RSA key", {}},
    {"ENCRYPTED PRIVATE KEY", ContentKind::kPrivate, "a private key", {}, KeyForm::kPkcs8},
    {"ENCRYPTED COSIGN PRIVATE KEY",
     ContentKind::kPrivate,
     "a private key",
     kFromCosign,
     KeyForm::kCosign},
    {"ENCRYPTED SIGSTORE PRIVATE KEY",
     ContentKind::kPrivate,
     "a private key",
     kFromCosign,
     KeyForm::kCosign},
    {"OPENSSH PRIVATE KEY",
     ContentKind::kForeign,
     "a private key of OpenSSH",
     "convert a copy of it: ssh-keygen -p -m PKCS8 -N '' -f COPY"},
    {"CERTIFICATE",
     ContentKind::kOther,
     "a certificate",
     "use its key: openssl x509 -in FILE -noout -pubkey > NAME.pub"},
    {"CERTIFICATE REQUEST", ContentKind::kOther, "a request for a certificate", kOwn},
    {"DSA PRIVATE KEY", ContentKind::kOther, "a DSA key, which SIF signatures do not use", kOwn},
    {"SSH2 PUBLIC KEY", ContentKind::kOther, "a key of SSH", "convert it: ssh-keygen -i -f FILE"},
    {"PGP PUBLIC KEY BLOCK", ContentKind::kOther, "an OpenPGP key", "give it by --pgp-keyring"},
    {"PGP PRIVATE KEY BLOCK",
     ContentKind::kOther,
     "an OpenPGP key",
     "sign with it by --pgp --pgp-keyring FILE"},
};

constexpr std::string_view kFromSsh =
    "convert it: ssh-keygen -e -m PKCS8 -f FILE > NAME.pub (not for ed25519)";

constexpr Content kStarts[] = {
    {"\x30",
     ContentKind::kOther,
     "a DER file",
     "convert it to PEM: openssl pkey -inform DER -in FILE"},
    {"ssh-", ContentKind::kOther, "a public key of OpenSSH", kFromSsh},
    {"ecdsa-sha2-", ContentKind::kOther, "a public key of OpenSSH", kFromSsh},
    {"{", ContentKind::kOther, "JSON", kOwn},
};

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr std::string_view kEnd = "-----END ";
constexpr std::string_view kDashes = "-----";

/// Parameters of a curve stand before the key in what `openssl ecparam -genkey` writes.
constexpr std::string_view kSkipped = "EC PARAMETERS";

/// A block inside of a text; an empty label: no complete one.
struct Found {
    std::string_view label;
    std::string_view text;
};

Found first_block(std::string_view text) {
    for (std::size_t at = 0; (at = text.find(kBegin, at)) != std::string_view::npos;) {
        const std::size_t label_at = at + kBegin.size();
        const std::size_t label_end = text.find(kDashes, label_at);
        if (label_end == std::string_view::npos) {
            break;
        }
        const std::string_view label = text.substr(label_at, label_end - label_at);
        const std::string closing = fmt::format("{}{}{}", kEnd, label, kDashes);
        const std::size_t end = text.find(closing, label_end);
        if (end == std::string_view::npos || label.find('\n') != std::string_view::npos) {
            break;
        }
        if (label != kSkipped) {
            return {label, text.substr(at, end + closing.size() - at)};
        }
        at = end;
    }
    return {};
}

Content describe(const Found& block, std::string_view text) {
    if (block.label.empty()) {
        const auto* const start = std::ranges::find_if(
            kStarts, [&](const Content& content) { return text.starts_with(content.mark); });
        if (start != std::end(kStarts)) {
            return *start;
        }
        return {{},
                ContentKind::kOther,
                text.empty() ? "empty" : "a file without a complete PEM block",
                kOwn};
    }
    const auto* const label = std::ranges::find(kLabels, block.label, &Content::mark);
    if (label == std::end(kLabels)) {
        return {{}, ContentKind::kOther, "another kind of PEM file", kOwn};
    }
    if (label->kind == ContentKind::kPrivate &&
        block.text.find("Proc-Type: 4,ENCRYPTED") != std::string::npos) {
        Content encrypted = *label;
        encrypted.form = KeyForm::kProcType;
        return encrypted;
    }
    return *label;
}

std::string_view behind(const Found& block, std::string_view text) {
    return text.substr(text.find(block.text) + block.text.size());
}

/// Whether a text has a key of this kind, behind whatever else.
bool has_kind(std::string_view text, ContentKind kind) {
    for (Found block = first_block(text); !block.label.empty(); block = first_block(text)) {
        if (describe(block, text).kind == kind) {
            return true;
        }
        text = behind(block, text);
    }
    return false;
}

} // namespace

Result<PemBlock> read_pem(const fs::path& path, KeyUse use) {
    constexpr std::size_t kLimit = std::size_t{64} << 10U;
    CYBELE_TRY(const Secret text, read_secret(path, kLimit));
    return find_pem(text.view(), path, use);
}

Result<PemBlock> find_pem(std::string_view text, const fs::path& path, KeyUse use) {
    const Found block = first_block(text);
    const Content content = describe(block, text);
    const ContentKind wanted =
        use == KeyUse::kPrivate ? ContentKind::kPrivate : ContentKind::kPublic;
    if (content.kind == wanted) {
        if (has_kind(behind(block, text), wanted)) {
            return fail(
                ErrorCode::kInput,
                problem("several-keys-in-file", printable(path.native()) + " holds several keys"),
                "only the first one would be used",
                "put each key into a file of its own");
        }
        PemBlock found;
        found.label = block.label;
        found.text.append(block.text);
        found.text.append("\n");
        found.form = content.form;
        return found;
    }
    std::string help(content.help);
    const bool is_extracted = content.kind == ContentKind::kForeign ||
                              (help.empty() && content.kind == ContentKind::kPrivate);
    if (use == KeyUse::kPublic && is_extracted) {
        const std::string half = path.stem().native() + ".pub";
        const fs::path other_half = path.parent_path() / half;
        std::error_code error;
        help = fs::exists(other_half, error) && content.kind == ContentKind::kPrivate
                   ? "give `" + printable(other_half.native()) + "` in place of `" +
                         printable(path.native()) + "`"
                   : "openssl pkey -in " + shell_quote(path.native()) + " -pubout -out " +
                         shell_quote(half);
    } else if (use == KeyUse::kPrivate && content.kind == ContentKind::kPublic) {
        const fs::path other_half = path.parent_path() / (path.stem().native() + ".pem");
        std::error_code error;
        help = fs::exists(other_half, error)
                   ? "give `" + printable(other_half.native()) + "` in place of `" +
                         printable(path.native()) + "`"
                   : "give the private half of the pair";
    }
    if (use == KeyUse::kPrivate && block.label == "CERTIFICATE") {
        help = "give the private key that belongs to this certificate, and the certificate by "
               "--certificate";
    }
    const auto other = block.label.empty() ? recognize_file(text) : std::nullopt;
    if (other && !other->command.empty()) {
        help = help_for_other_file(*other, path.native());
    }
    return fail(
        ErrorCode::kInput,
        problem("key-wrong-kind",
                fmt::format("{} is not a {} key to {} with",
                            printable(path.native()),
                            use == KeyUse::kPrivate ? "private" : "public",
                            use == KeyUse::kPrivate ? "sign" : "verify")),
        fmt::format("it is {}", other && !other->command.empty() ? other->what : content.is),
        std::move(help));
}

} // namespace cybele::images
