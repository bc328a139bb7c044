// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/legacy.hpp"

#include "images/openpgp/clear_sign.hpp"
#include "images/openpgp/clear_text.hpp"
#include "images/openpgp/packet.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace cybele::images {

namespace {

constexpr std::string_view kMark = "SIFHASH:\n";
constexpr std::size_t kSignerAt = 4; ///< in a signature's `extra`, behind the hash type
constexpr std::size_t kSignerSize = 20;

/// Hash types of a signature's descriptor (sif, HashType) that Apptainer takes.
struct HashRow {
    std::uint8_t number;
    const EVP_MD* (*get)();
};
constexpr HashRow kHashRows[] = {{1, EVP_sha256}, {2, EVP_sha384}, {3, EVP_sha512}};

const EVP_MD* signature_hash(const Descriptor& signature) {
    const auto* const row = std::ranges::find_if(kHashRows, [&](const HashRow& known) {
        return known.number == signature.extra[0] && signature.extra[1] == 0 &&
               signature.extra[2] == 0 && signature.extra[3] == 0;
    });
    return row == std::end(kHashRows) ? nullptr : row->get();
}

/// Digest of the bytes of several objects, one behind the other; in hexadecimal.
Result<std::string> digest_of_objects(const Image& image,
                                      const std::vector<const Descriptor*>& objects,
                                      const EVP_MD* hash) {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
    using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
    const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    bool is_whole = context != nullptr && EVP_DigestInit_ex(context.get(), hash, nullptr) == 1;
    std::vector<std::byte> buffer(kPiece);
    for (const Descriptor* const object : objects) {
        for (std::uint64_t done = 0; is_whole && done < object->size;) {
            const std::span<std::byte> piece(
                buffer.data(), static_cast<std::size_t>(std::min(kPiece, object->size - done)));
            CYBELE_CHECK(read_at(image.fd(), object->offset + done, piece, image.path()));
            is_whole = EVP_DigestUpdate(context.get(), piece.data(), piece.size()) == 1;
            done += piece.size();
        }
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (!is_whole || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) {
        return fail(ErrorCode::kInternal,
                    problem("hash-failed", "cannot hash an image"),
                    "OpenSSL refuses it");
    }
    return hex(std::span<const std::uint8_t>(digest.data(), size));
}

/// What the signature is linked to, in the table's order; empty: nothing that is there.
std::vector<const Descriptor*> signed_objects(const Image& image, const Descriptor& signature) {
    std::vector<const Descriptor*> objects;
    for (const Descriptor& object : image.descriptors()) {
        const bool is_linked = signature.is_group_link()
                                   ? object.group == (signature.link & ~kGroupMask)
                                   : object.id == signature.link;
        if (is_linked && object.type != DataType::kSignature && object.group != 0) {
            objects.push_back(&object);
        }
    }
    return objects;
}

/// The fingerprint that the descriptor names.
std::string named_signer(const Descriptor& signature) {
    return openpgp::upper_hex(
        {reinterpret_cast<const char*>(signature.extra.data()) + kSignerAt, kSignerSize});
}

Result<void> judge_objects(const Image& image,
                           const Descriptor& signature,
                           const openpgp::ClearSigned& message,
                           SignatureState& state) {
    const std::vector<const Descriptor*> objects = signed_objects(image, signature);
    const EVP_MD* const hash = signature_hash(signature);
    if (objects.empty()) {
        state.because = "what it signed is not there (any more)";
        return {};
    }
    if (hash == nullptr) {
        state.because = "its descriptor names another hash than SHA-256, SHA-384 or SHA-512";
        return {};
    }
    if (named_signer(signature) != message.primary_fingerprint) {
        state.because = "its descriptor names another signer: " + named_signer(signature);
        return {};
    }
    CYBELE_TRY(const std::string digest, digest_of_objects(image, objects, hash));
    for (const Descriptor* const object : objects) {
        state.covers.push_back(object->id);
    }
    if (message.text.substr(kMark.size()) != digest) {
        state.because = objects.size() == 1
                            ? fmt::format("object {} was changed", objects.front()->id)
                            : fmt::format("an object of group {} was changed", state.group);
        return {};
    }
    state.is_valid = true;
    state.warnings.emplace_back("it covers bytes alone: header, names, types and arguments of the "
                                "objects are not protected");
    return {};
}

} // namespace

bool is_legacy_signature(std::string_view text) {
    const auto message = openpgp::read_clear_message(text);
    return message && message->text.starts_with(kMark);
}

Result<void> judge_legacy(const Image& image,
                          const Descriptor& signature,
                          std::string_view text,
                          const LegacyTrust& trust,
                          SignatureState& state) {
    const auto message = openpgp::verify_clear_signed(text, trust.keyring, trust.now);
    if (!message || !message->text.starts_with(kMark)) {
        state.because = message ? "it signs something else than the bytes of objects"
                                : message.error().faults().front().because;
        return {};
    }
    state.claimed_key = message->issuer;
    state.because = message->because;
    state.gap = message->lacks_key ? SignerGap::kPgpKey : SignerGap::kNone;
    if (!message->is_valid) {
        return {};
    }
    state.signer = "pgp:" + message->primary_fingerprint;
    state.key = message->primary_fingerprint;
    state.user_id = message->user_id;
    return judge_objects(image, signature, *message, state);
}

} // namespace cybele::images
