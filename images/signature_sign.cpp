// SPDX-License-Identifier: Apache-2.0
#include "images/dsse.hpp"
#include "images/key.hpp"
#include "images/sif.hpp"
#include "images/signature.hpp"
#include "images/signature_message.hpp"
#include "support/quote.hpp"

#include <fmt/format.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// Hash type SHA-256, then room for an OpenPGP fingerprint, which a DSSE signature leaves empty.
std::vector<std::uint8_t> signature_extra() {
    std::vector<std::uint8_t> extra(4 + 256);
    extra[0] = 1;
    return extra;
}

Result<NewObject>
sign_group(const Image& image, std::uint32_t group, const PrivateKey& key, ObjectDigests& digests) {
    CYBELE_TRY(const SignedMessage message, make_message(image, group, digests));
    Envelope envelope;
    envelope.payload_type = kSifMetadataType;
    envelope.payload = write_message(message);
    CYBELE_TRY(std::string signature,
               key.sign(pre_authentication_encoding(envelope.payload_type, envelope.payload)));
    envelope.signatures.push_back({key.public_key().envelope_id(), std::move(signature)});
    NewObject object;
    object.type = DataType::kSignature;
    object.group = 0;
    object.link = kGroupMask | group;
    object.extra = signature_extra();
    object.bytes = write_envelope(envelope);
    return object;
}

} // namespace

Result<void> check_signing_key(const fs::path& key) {
    CYBELE_TRY(const PrivateKey loaded, PrivateKey::read(key));
    CYBELE_TRY(const std::string signature, loaded.sign("trial"));
    if (!loaded.public_key().verifies("trial", signature)) {
        return fail(ErrorCode::kInput,
                    fmt::format("cannot sign with {}", printable(key.native())),
                    "its private and public parts do not belong together",
                    "make a key pair: cybelectl key new");
    }
    return {};
}

Result<void> sign_image(const fs::path& path, const fs::path& key, std::int64_t now) {
    CYBELE_TRY(const PrivateKey loaded, PrivateKey::read(key));
    CYBELE_TRY(const Image image, Image::open(path));
    for (const Descriptor& descriptor : image.descriptors()) {
        if (descriptor.group == 0 && descriptor.type != DataType::kSignature) {
            return fail(ErrorCode::kInput,
                        fmt::format("cannot sign {}", printable(path.native())),
                        fmt::format("object {} belongs to no group, so no signature can cover it",
                                    descriptor.id),
                        "delete it, and add it again with a group");
        }
    }
    ObjectDigests digests(image);
    std::vector<NewObject> signatures;
    for (const std::uint32_t group : signable_groups(image)) {
        CYBELE_TRY(NewObject signature, sign_group(image, group, loaded, digests));
        signatures.push_back(std::move(signature));
    }
    if (signatures.empty()) {
        return fail(ErrorCode::kInput,
                    fmt::format("cannot sign {}", printable(path.native())),
                    "it has no objects that could be signed",
                    "build the image again");
    }
    return add_objects(path, signatures, now);
}

} // namespace cybele::images
