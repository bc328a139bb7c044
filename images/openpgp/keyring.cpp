// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/keyring.hpp"

#include "images/openpgp/armor.hpp"
#include "images/openpgp/packet.hpp"
#include "support/file.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"
#include "support/secret.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace cybele::images::openpgp {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kFingerprintDigits = 40;
constexpr std::size_t kKeyIdDigits = 16;

bool is_primary_tag(std::uint8_t tag) {
    return tag == static_cast<std::uint8_t>(Tag::kPublicKey) ||
           tag == static_cast<std::uint8_t>(Tag::kSecretKey);
}

/// Puts packets together to certificates (RFC 9580, section 10).
class Assembler {
public:
    Result<void> add(const Packet& packet) {
        if (is_primary_tag(packet.tag)) {
            finish();
            is_skipping_ = packet.body.empty() || packet.body[0] != '\4';
            if (is_skipping_) {
                skipped.push_back(fmt::format(
                    "a key of version {}",
                    packet.body.empty() ? 0 : static_cast<unsigned char>(packet.body[0])));
                return {};
            }
        }
        switch (static_cast<Tag>(packet.tag)) {
        case Tag::kPublicKey:
        case Tag::kSecretKey:
        case Tag::kPublicSubkey:
        case Tag::kSecretSubkey:
        case Tag::kUserId:
        case Tag::kUserAttribute:
            return begin_component(packet);
        case Tag::kSignature:
            return add_signature(packet);
        case Tag::kMarker:
        case Tag::kTrust:
        case Tag::kPadding:
            return {};
        }
        return out_of_place(fmt::format("it has a packet of kind {}", packet.tag));
    }

    void finish() {
        if (!components_.empty()) {
            certificates.emplace_back(std::move(components_));
        }
        components_.clear();
    }

    std::vector<Certificate> certificates;
    std::vector<std::string> skipped;

private:
    static tl::unexpected<Error> out_of_place(const std::string& because) {
        return fail(ErrorCode::kInput,
                    problem("openpgp-key-malformed", "it is not an OpenPGP key"),
                    because,
                    "export one: gpg --export KEY, or cybelectl key export KEY");
    }

    Result<void> begin_component(const Packet& packet) {
        if (is_skipping_) {
            return {};
        }
        if (components_.empty() && !is_primary_tag(packet.tag)) {
            return out_of_place("a user id or subkey stands before every key");
        }
        components_.push_back({static_cast<Tag>(packet.tag), std::string(packet.body), {}});
        return {};
    }

    Result<void> add_signature(const Packet& packet) {
        if (is_skipping_) {
            return {};
        }
        if (components_.empty()) {
            return out_of_place("it is a signature");
        }
        components_.back().signatures.emplace_back(packet.body);
        return {};
    }

    std::vector<Component> components_;
    bool is_skipping_ = false;
};

Result<void> read_packets(Assembler& assembler, std::string_view bytes) {
    while (!bytes.empty()) {
        CYBELE_TRY(const Packet packet, take_packet(bytes));
        CYBELE_CHECK(assembler.add(packet));
    }
    assembler.finish();
    return {};
}

Result<void> read_blocks(Assembler& assembler, std::string_view text) {
    while (has_armor(text)) {
        CYBELE_TRY(const ArmorBlock block, take_armor(text));
        if (block.label != "PUBLIC KEY BLOCK" && block.label != "PRIVATE KEY BLOCK") {
            return fail(ErrorCode::kInput,
                        problem("openpgp-wrong-block", "it is not an OpenPGP key"),
                        fmt::format("it is a PGP {}", printable(block.label)),
                        "export one: gpg --export KEY, or cybelectl key export KEY");
        }
        CYBELE_CHECK(read_packets(assembler, block.bytes));
    }
    return {};
}

/// The message names the file, the reason what is wrong in it.
tl::unexpected<Error> unusable(std::string_view from, const Error& error) {
    const Fault& fault = error.faults().front();
    return fail(ErrorCode::kInput,
                problem("openpgp-keyring-malformed",
                        fmt::format("{} is not an OpenPGP keyring", printable(std::string(from))))
                    .about(std::string(from)),
                fault.because.empty() ? fault.message
                                      : fmt::format("{}: {}", fault.message, fault.because),
                fault.help);
}

/// First of the user ids, unverified: for finding a key by its name.
std::string names_of(const Certificate& certificate) {
    std::string names;
    for (const Component& component : certificate.components()) {
        if (component.tag == Tag::kUserId) {
            names += component.body + '\n';
        }
    }
    return names;
}

} // namespace

std::string normal_key_id(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) {
        text.remove_prefix(2);
    }
    std::string digits;
    for (const char c : text) {
        if (std::isxdigit(static_cast<unsigned char>(c)) != 0) {
            digits += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        } else if (c != ' ' && c != ':') {
            return {};
        }
    }
    return digits.size() == kFingerprintDigits || digits.size() == kKeyIdDigits ? digits : "";
}

Result<Keyring> Keyring::parse(std::string_view bytes, std::string_view from) {
    Keyring keyring;
    if (bytes.empty()) {
        return keyring;
    }
    const bool is_binary = (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0;
    Assembler assembler;
    if (!is_binary && !has_armor(bytes)) {
        const auto other = recognize_file(bytes);
        return unusable(
            from,
            Error(ErrorCode::kInput,
                  problem("openpgp-data-missing",
                          "it has neither OpenPGP packets nor a block -----BEGIN PGP …-----"),
                  {},
                  other && !other->command.empty()
                      ? help_for_other_file(*other, from)
                      : "export one: gpg --export KEY, or cybelectl key export KEY"));
    }
    const auto read = is_binary ? read_packets(assembler, bytes) : read_blocks(assembler, bytes);
    if (!read) {
        return unusable(from, read.error());
    }
    for (const Certificate& certificate : assembler.certificates) {
        keyring.add(certificate);
    }
    keyring.skipped_ = std::move(assembler.skipped);
    if (keyring.certificates_.empty()) {
        return unusable(from,
                        Error(ErrorCode::kInput,
                              problem("openpgp-no-usable-key", "it has no key of version 4"),
                              text::joined(keyring.skipped_, ", "),
                              "make one: cybelectl key new --pgp, or gpg --quick-gen-key"));
    }
    return keyring;
}

Result<Keyring> Keyring::read(const fs::path& path) {
    CYBELE_TRY(std::string bytes,
               read_file(path, kMaximumKeyring).map_error(during("reading the OpenPGP keyring")));
    auto keyring = parse(bytes, path.native());
    wipe(bytes);
    return keyring;
}

const Certificate* Keyring::find(std::string_view id) const {
    const std::string digits = normal_key_id(id);
    const Certificate* found = nullptr;
    for (const Certificate& certificate : certificates_) {
        const auto& all = certificate.fingerprints();
        const bool has_it =
            !digits.empty() &&
            std::ranges::any_of(all, [&](const std::string& own) { return own.ends_with(digits); });
        if (has_it && found != nullptr) {
            return nullptr;
        }
        found = has_it ? &certificate : found;
    }
    return found;
}

Result<const Certificate*> Keyring::choose(std::string_view wanted) const {
    std::vector<const Certificate*> found;
    if (const Certificate* const named = find(wanted); named != nullptr) {
        return named;
    }
    for (const Certificate& certificate : certificates_) {
        if (names_of(certificate).find(wanted) != std::string::npos) {
            found.push_back(&certificate);
        }
    }
    if (found.size() == 1) {
        return found.front();
    }
    if (found.empty()) {
        return fail(
            ErrorCode::kInput,
            problem("openpgp-key-not-found",
                    wanted.empty()
                        ? std::string("the keyring is empty")
                        : fmt::format("the keyring has no key {}", printable(std::string(wanted)))),
            {},
            "`cybelectl key list` shows the keys; `key import` and `key new --pgp` add one");
    }
    std::vector<std::string> ids;
    ids.reserve(found.size());
    for (const Certificate* const certificate : found) {
        ids.push_back(certificate->fingerprint());
    }
    return fail(ErrorCode::kInput,
                problem("openpgp-key-ambiguous",
                        wanted.empty()
                            ? std::string("the keyring has several keys")
                            : fmt::format("{} names several keys", printable(std::string(wanted)))),
                text::joined(ids, ", "),
                "give a fingerprint");
}

Keyring::Added Keyring::add(const Certificate& certificate) {
    for (Certificate& known : certificates_) {
        if (known.fingerprint() == certificate.fingerprint()) {
            return known.merge(certificate) ? Added::kMerged : Added::kKnown;
        }
    }
    certificates_.push_back(certificate);
    return Added::kNew;
}

std::string Keyring::packets() const {
    std::string bytes;
    for (const Certificate& certificate : certificates_) {
        bytes += certificate.packets();
    }
    return bytes;
}

} // namespace cybele::images::openpgp
