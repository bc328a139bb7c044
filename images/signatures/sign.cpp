// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/sign.hpp"

#include "images/openpgp/clear_sign.hpp"
#include "images/sif/change.hpp"
#include "images/signatures/dsse.hpp"
#include "images/signatures/message.hpp"
#include "images/signatures/signature.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

namespace cybele::images {

namespace fs = std::filesystem;

namespace {

/// Hash type SHA-256, then the binary fingerprint of an OpenPGP primary key, or nothing (DSSE).
std::vector<std::uint8_t> signer_extra(std::string_view fingerprint) {
    std::vector<std::uint8_t> extra{1, 0, 0, 0};
    for (std::size_t i = 0; i + 1 < fingerprint.size(); i += 2) {
        const char* const digits = fingerprint.data() + i;
        std::from_chars(digits, digits + 2, extra.emplace_back(), 16);
    }
    return extra;
}

NewObject signature_object(std::uint32_t group, std::string bytes, std::string_view fingerprint) {
    NewObject object;
    object.type = DataType::kSignature;
    object.group = 0;
    object.link = kGroupMask | group;
    object.extra = signer_extra(fingerprint);
    object.bytes = std::move(bytes);
    return object;
}

/// The signatures of one group that are there, by kind, with the ids of their objects.
struct Present {
    std::vector<std::string> pgp;
    std::vector<std::uint32_t> pgp_ids;
    std::vector<Envelope> envelopes;
    std::vector<std::uint32_t> envelope_ids;
};

/// Whether a message names the same objects as another.
bool is_of_same_objects(std::string_view payload, const SignedMessage& message) {
    const auto other = parse_message(payload);
    const auto is_same = [](const SignedObject& left, const SignedObject& right) {
        return left.relative_id == right.relative_id;
    };
    return other && std::equal(other->objects.begin(),
                               other->objects.end(),
                               message.objects.begin(),
                               message.objects.end(),
                               is_same);
}

Result<std::map<std::uint32_t, Present>> present_signatures(const Image& image) {
    std::map<std::uint32_t, Present> found;
    for (const Descriptor& descriptor : image.descriptors()) {
        if (descriptor.type != DataType::kSignature || !descriptor.is_group_link()) {
            continue;
        }
        CYBELE_TRY(const std::string text, image.read_object(descriptor, kMaximumSignatureSize));
        Present& present = found[descriptor.link & ~kGroupMask];
        if (text.starts_with("-----BEGIN PGP") && text.find("SIFHASH:") == std::string::npos) {
            present.pgp.push_back(text);
            present.pgp_ids.push_back(descriptor.id);
        } else if (auto envelope = parse_envelope(text)) {
            present.envelopes.push_back(std::move(*envelope));
            present.envelope_ids.push_back(descriptor.id);
        }
    }
    return found;
}

/// Makes the signatures of one image.
class Signing {
public:
    Signing(const Image& image, const Signers& signers, const SignOptions& options)
        : image_(image), signers_(signers), options_(options), digests_(image, options.progress) {}

    Result<std::vector<NewObject>> run(SignReport& done) {
        CYBELE_CHECK(check());
        CYBELE_TRY(present_, present_signatures(image_));
        const std::vector<std::uint32_t> groups = chosen_groups();
        for (const std::uint32_t group : groups) {
            CYBELE_CHECK(check_kinds(group));
        }
        expect(groups);
        std::vector<NewObject> objects;
        for (const std::uint32_t group : groups) {
            const std::size_t before = objects.size();
            CYBELE_CHECK(sign_group(group, objects, done));
            (objects.size() == before ? done.already_signed : done.groups).push_back(group);
        }
        return objects;
    }

private:
    [[nodiscard]] tl::unexpected<Error> refused(std::string because, std::string help) const {
        return fail(ErrorCode::kInput,
                    problem("image-not-signable",
                            fmt::format("cannot sign {}", printable(image_.path().native()))),
                    std::move(because),
                    std::move(help));
    }

    [[nodiscard]] Result<void> check() const {
        if (signers_.keys.empty() && !signers_.pgp) {
            return fail(ErrorCode::kUsage,
                        problem("sign-without-key", "no key to sign with"),
                        {},
                        "give --key FILE.pem; `cybelectl key new FILE.pem` makes one");
        }
        CYBELE_CHECK(options_.selection.check(image_));
        for (const Descriptor& descriptor : image_.descriptors()) {
            if (options_.selection.is_whole() && descriptor.group == 0 &&
                descriptor.type != DataType::kSignature) {
                return refused(
                    fmt::format("object {} belongs to no group, so no signature can cover it",
                                descriptor.id),
                    "delete it, and add it again with a group");
            }
        }
        if (chosen_groups().empty()) {
            return refused("it has no objects that could be signed", "build the image again");
        }
        if (signers_.pgp && !signers_.keys.empty() && !options_.force) {
            return refused(
                "PEM and OpenPGP signatures on one group cannot be verified by Apptainer",
                "choose one kind, or give --force if only cybelectl will verify");
        }
        return {};
    }

    [[nodiscard]] std::vector<std::uint32_t> chosen_groups() const {
        std::vector<std::uint32_t> groups;
        for (const std::uint32_t group : signable_groups(image_)) {
            const auto& all = image_.descriptors();
            if (std::ranges::any_of(all, [&](const Descriptor& object) {
                    return object.group == group && options_.selection.has(object);
                })) {
                groups.push_back(group);
            }
        }
        return groups;
    }

    Result<void> check_kinds(std::uint32_t group) {
        const Present& present = present_[group];
        const bool is_mixed = (!present.pgp.empty() && !signers_.keys.empty()) ||
                              (!present.envelopes.empty() && signers_.pgp);
        if (is_mixed && !options_.force) {
            return refused(
                fmt::format("group {} has {} signature, and Apptainer cannot verify a group with "
                            "signatures of both kinds",
                            group,
                            present.pgp.empty() ? "a PEM" : "an OpenPGP"),
                "sign with the same kind, or give --force if only cybelectl will verify");
        }
        return {};
    }

    void expect(const std::vector<std::uint32_t>& groups) {
        for (const std::uint32_t group : groups) {
            for (const Descriptor* const object : group_objects(image_, group)) {
                if (options_.selection.objects.empty() || options_.selection.has(*object)) {
                    digests_.expect(*object, kWrittenAlgorithm);
                }
            }
        }
    }

    Result<void>
    sign_group(std::uint32_t group, std::vector<NewObject>& objects, SignReport& done) {
        CYBELE_TRY(const SignedMessage message,
                   make_message(image_, group, digests_, options_.selection.objects));
        const std::string payload = write_message(message);
        if (!signers_.keys.empty()) {
            CYBELE_TRY(const std::string envelope, make_envelope(group, payload));
            if (!envelope.empty()) {
                objects.push_back(signature_object(group, envelope, {}));
            }
        }
        if (signers_.pgp && (options_.force || !is_signed_by_pgp(group, payload))) {
            CYBELE_TRY(std::string text,
                       openpgp::clear_sign(
                           payload, *signers_.pgp, options_.now, random_bytes(openpgp::kSaltSize)));
            objects.push_back(
                signature_object(group, std::move(text), signers_.pgp->primary_fingerprint()));
        }
        if (options_.replaces) {
            add_all_signatures(group, done.superseded);
        } else if (options_.force && !options_.only_adds) {
            add_superseded(present_[group], message, done.superseded);
        }
        return {};
    }

    /// Every signature of the group and of its objects, readable or not.
    void add_all_signatures(std::uint32_t group, std::vector<std::uint32_t>& ids) const {
        for (const Descriptor& signature : image_.descriptors()) {
            const auto object = signature.linked_object();
            const bool is_of_group =
                signature.linked_group() == group ||
                (object && std::ranges::any_of(image_.descriptors(), [&](const Descriptor& other) {
                     return other.id == *object && other.group == group;
                 }));
            if (signature.type == DataType::kSignature && is_of_group) {
                ids.push_back(signature.id);
            }
        }
    }

    /// Signatures over the same objects by the keys that sign now and no others: `force` replaces
    /// them.
    void add_superseded(const Present& present,
                        const SignedMessage& message,
                        std::vector<std::uint32_t>& ids) const {
        for (std::size_t at = 0; at < present.envelopes.size(); ++at) {
            const Envelope& envelope = present.envelopes[at];
            const std::string bytes =
                pre_authentication_encoding(envelope.payload_type, envelope.payload);
            const auto is_own = [&](const EnvelopeSignature& signature) {
                return std::ranges::any_of(signers_.keys, [&](const EnvelopeSigner& signer) {
                    return signer.key.public_key().verifies(bytes, signature.bytes);
                });
            };
            if (is_of_same_objects(envelope.payload, message) &&
                std::ranges::all_of(envelope.signatures, is_own)) {
                ids.push_back(present.envelope_ids[at]);
            }
        }
        for (std::size_t at = 0; signers_.pgp && at < present.pgp.size(); ++at) {
            const auto read =
                openpgp::verify_clear_signed(present.pgp[at], signers_.pgp_ring, options_.now);
            if (read && read->is_valid &&
                read->primary_fingerprint == signers_.pgp->primary_fingerprint() &&
                is_of_same_objects(read->text, message)) {
                ids.push_back(present.pgp_ids[at]);
            }
        }
    }

    /// Whether a clear-signed message says the same already, by the key that is to sign.
    [[nodiscard]] bool is_signed_by_pgp(std::uint32_t group, std::string_view payload) {
        while (payload.ends_with('\n')) {
            payload.remove_suffix(1);
        }
        const std::vector<std::string>& present = present_[group].pgp;
        return std::ranges::any_of(present, [&](const std::string& message) {
            const auto read =
                openpgp::verify_clear_signed(message, signers_.pgp_ring, options_.now);
            return read && read->is_valid && read->text == payload &&
                   read->primary_fingerprint == signers_.pgp->primary_fingerprint();
        });
    }

    /// Whether an envelope says the same already, by this key.
    static bool is_signed(const Envelope& envelope,
                          const std::string& payload,
                          const std::string& bytes,
                          const PublicKey& key) {
        return envelope.payload_type == kSifMetadataType && envelope.payload == payload &&
               std::ranges::any_of(envelope.signatures, [&](const EnvelopeSignature& signature) {
                   return key.verifies(bytes, signature.bytes);
               });
    }

    /// Empty: every signer has signed this already.
    Result<std::string> make_envelope(std::uint32_t group, const std::string& payload) {
        Envelope envelope;
        envelope.payload_type = kSifMetadataType;
        envelope.payload = payload;
        const std::string bytes =
            pre_authentication_encoding(envelope.payload_type, envelope.payload);
        const std::vector<Envelope>& present = present_[group].envelopes;
        std::vector<std::string> known;
        for (const EnvelopeSigner& signer : signers_.keys) {
            const PublicKey& key = signer.key.public_key();
            const bool is_done = std::ranges::any_of(present, [&](const Envelope& other) {
                return is_signed(other, payload, bytes, key);
            });
            const bool is_twice = contains(known, key.fingerprint());
            known.push_back(key.fingerprint());
            if ((is_done && !options_.force) || is_twice) {
                continue;
            }
            CYBELE_TRY(EnvelopeSignature signature, sign_with(signer, bytes));
            envelope.signatures.push_back(std::move(signature));
        }
        if (envelope.signatures.empty()) {
            return std::string();
        }
        if (!present.empty() && !options_.force && options_.on_warning) {
            options_.on_warning(warning(
                ErrorCode::kInput,
                problem("group-signed-by-others",
                        fmt::format("group {} has signatures of other keys already", group)),
                "Apptainer requires every signature of a group to be by the one key "
                "that it is given, unless all of them are made together",
                "sign with all keys in one call, and drop the others: --key A --key B --replace"));
        }
        return write_envelope(envelope);
    }

    [[nodiscard]] Result<EnvelopeSignature> sign_with(const EnvelopeSigner& signer,
                                                      const std::string& bytes) const {
        EnvelopeSignature signature;
        signature.key_id = signer.key.public_key().envelope_id();
        CYBELE_TRY(signature.bytes, signer.key.sign(bytes));
        signature.chain = signer.chain;
        if (signers_.stamp && !signer.chain.empty()) {
            CYBELE_TRY(signature.timestamp, signers_.stamp(signature.bytes));
        }
        return signature;
    }

    const Image& image_;
    const Signers& signers_;
    const SignOptions& options_;
    ObjectDigests digests_;
    std::map<std::uint32_t, Present> present_;
};

} // namespace

Result<std::vector<NewObject>> make_signatures(const Image& image,
                                               const Signers& signers,
                                               const SignOptions& options,
                                               SignReport& done) {
    return Signing(image, signers, options).run(done);
}

namespace {

/// What shows that a file is the one that was read, as it was.
using FileState = std::array<std::int64_t, 7>;

FileState state_of(const struct stat& status) {
    return {static_cast<std::int64_t>(status.st_dev),
            static_cast<std::int64_t>(status.st_ino),
            static_cast<std::int64_t>(status.st_size),
            status.st_mtim.tv_sec,
            status.st_mtim.tv_nsec,
            status.st_ctim.tv_sec,
            status.st_ctim.tv_nsec};
}

/// Deletes signatures that new ones replace, if they are still what was read.
Result<void> delete_superseded(const fs::path& path,
                               const Image& before,
                               const std::vector<std::uint32_t>& ids,
                               std::int64_t now) {
    CYBELE_TRY(const Image image, Image::open(path));
    const auto text_of = [](const Image& of, std::uint32_t id) -> Result<std::string> {
        for (const Descriptor& descriptor : of.descriptors()) {
            if (descriptor.id == id && descriptor.type == DataType::kSignature) {
                return of.read_object(descriptor, kMaximumSignatureSize);
            }
        }
        return std::string();
    };
    std::vector<std::uint32_t> unchanged;
    for (const std::uint32_t id : ids) {
        CYBELE_TRY(const std::string old, text_of(before, id));
        CYBELE_TRY(const std::string text, text_of(image, id));
        if (!text.empty() && text == old) {
            unchanged.push_back(id);
        }
    }
    return unchanged.empty() ? Result<void>() : delete_objects(path, unchanged, {}, now);
}

} // namespace

Result<SignReport>
sign_image(const fs::path& path, const Signers& signers, const SignOptions& options) {
    constexpr int kTries = 8; // each reads the whole image
    CYBELE_CHECK(end_interrupted_change(path));
    for (int i = 0; i < kTries; ++i) {
        CYBELE_TRY(const Image image, Image::open(path));
        struct stat read {};
        if (::fstat(image.fd(), &read) != 0) {
            return fail(system_error("cannot examine " + printable(path.native()), errno));
        }
        SignReport done;
        CYBELE_TRY(const std::vector<NewObject> objects,
                   make_signatures(image, signers, options, done));
        if (objects.empty()) {
            return done;
        }
        CYBELE_TRY(const bool is_added, add_objects_if(path, objects, options.now, [&] {
                       struct stat named {};
                       return ::stat(path.c_str(), &named) == 0 &&
                              state_of(named) == state_of(read);
                   }));
        if (is_added) {
            CYBELE_CHECK(delete_superseded(path, image, done.superseded, options.now));
            return done;
        }
    }
    return fail(ErrorCode::kEnvironment,
                problem("image-changed-while-signing",
                        fmt::format("cannot sign {}", printable(path.native()))),
                "the file changed repeatedly while it was being signed",
                "sign it when it is finished");
}

Result<void> sign_image(const fs::path& path, const fs::path& key, std::int64_t now) {
    CYBELE_TRY(PrivateKey loaded, PrivateKey::read(key));
    Signers signers;
    signers.keys.push_back({std::move(loaded), {}});
    SignOptions options;
    options.now = now;
    CYBELE_CHECK(sign_image(path, signers, options));
    return {};
}

} // namespace cybele::images
