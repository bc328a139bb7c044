// SPDX-License-Identifier: Apache-2.0
// Who counts as a signer, and what a signature covers, where somebody arranged that it looks like
// more.
#include "images/openpgp/generate.hpp"
#include "images/sif/format.hpp"
#include "images/sif/judge.hpp"
#include "images/signatures/legacy.hpp"
#include "images/signatures/message.hpp"
#include "images/signatures/sign.hpp"
#include "images/signatures/verify.hpp"
#include "signature_sample.hpp"

using namespace sample;

namespace {

constexpr std::int64_t kNow = 1800000000;

PublicKey read_key(const fs::path& path) {
    auto key = PublicKey::read(path);
    REQUIRE(key.has_value());
    return std::move(*key);
}

Verification verified(const fs::path& path, const Trust& trust, const Selection& selection = {}) {
    const auto opened = Image::open(path);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : words(opened.error())));
    auto verification = verify_signatures(*opened, trust, selection);
    REQUIRE(verification.has_value());
    return std::move(*verification);
}

/// The envelope of object `id`, changed, as a further signature of group 1.
void add_changed_envelope(const fs::path& path,
                          std::uint32_t id,
                          const std::function<void(Envelope&)>& change) {
    const auto opened = Image::open(path);
    auto envelope = parse_envelope(opened->read_object(*opened->object(id)).value());
    REQUIRE(envelope.has_value());
    change(*envelope);
    NewObject object;
    object.type = DataType::kSignature;
    object.group = 0;
    object.link = kGroupMask | 1U;
    object.extra = signature_extra(HashType::kSha256, {});
    object.bytes = write_envelope(*envelope);
    REQUIRE(add_objects(path, {object}, kNow).has_value());
}

/// Takes every signature of `key` for one with a certificate; `leaf` says which certificate.
CertificateJudge certified_by(const PublicKey& key,
                              const std::function<std::string(const EnvelopeSignature&)>& leaf) {
    return [key,
            leaf](std::string_view bytes,
                  const EnvelopeSignature& signature) -> Result<std::optional<CertificateFinding>> {
        if (!key.verifies(bytes, signature.bytes)) {
            return std::optional<CertificateFinding>();
        }
        CertificateFinding finding;
        finding.fingerprint = leaf(signature);
        finding.key = key.fingerprint();
        finding.is_valid = true;
        return std::optional(finding);
    };
}

openpgp::Certificate new_pgp(const std::string& name) {
    auto made = openpgp::generate({name, "", "", "ed25519", kNow - 1000, {}, std::string(32, 'r')});
    REQUIRE(made.has_value());
    return std::move(*made);
}

} // namespace

TEST_CASE("a copy of a signature under another key id is tried with every key, and is one signer") {
    const Signed signed_image;
    add_changed_envelope(signed_image.path, 3, [](Envelope& envelope) {
        envelope.signatures[0].key_id = "SHA256:somebody-else";
    });
    Trust trust;
    trust.keys = {read_key(signed_image.open)};
    trust.certificate_judge =
        certified_by(trust.keys[0], [](const EnvelopeSignature&) { return std::string("leaf"); });
    trust.require = "2";
    const Verification found = verified(signed_image.path, trust);
    REQUIRE(found.signatures.size() == 2);
    for (const SignatureState& state : found.signatures) {
        CHECK(state.is_valid);
        CHECK(state.signer == "key:" + trust.keys[0].fingerprint());
    }
    CHECK_FALSE(found.is_verified);
    CHECK(found.because.starts_with("group 1: 1 of 2 required signers signed it"));
    trust.require = "any";
    CHECK(verified(signed_image.path, trust).is_verified);
}

TEST_CASE("two certificates of one key are one signer") {
    const Signed signed_image;
    add_changed_envelope(signed_image.path, 3, [](Envelope& envelope) {
        envelope.signatures[0].chain = "the other certificate";
    });
    Trust trust;
    trust.certificate_judge =
        certified_by(read_key(signed_image.open), [](const EnvelopeSignature& signature) {
            return signature.chain.empty() ? std::string("one") : std::string("other");
        });
    trust.require = "2";
    const Verification found = verified(signed_image.path, trust);
    REQUIRE(found.signatures.size() == 2);
    CHECK(found.signatures[0].signer != found.signatures[1].signer);
    CHECK(found.signatures[0].is_valid);
    CHECK(found.signatures[1].is_valid);
    CHECK_FALSE(found.is_verified);
    CHECK(found.groups.at(0).signers.size() == 1);
    // Named each, they are one whom `all` wants.
    const std::string key = read_key(signed_image.open).fingerprint();
    trust.certificates = {{"one", key}, {"other", key}};
    trust.require = "all";
    CHECK(verified(signed_image.path, trust).is_verified);
    trust.certificates.push_back({"third", "SHA256:another-key"});
    CHECK(verified(signed_image.path, trust).because.find("the certificate third is missing") !=
          std::string::npos);
}

TEST_CASE("roots of one subject and two keys are two of whom `all` wants") {
    const Signed signed_image;
    Trust trust;
    const PublicKey key = read_key(signed_image.open);
    trust.certificate_judge =
        [key](std::string_view bytes,
              const EnvelopeSignature& signature) -> Result<std::optional<CertificateFinding>> {
        CertificateFinding finding;
        finding.key = key.fingerprint();
        finding.root = "CN=Lab";
        finding.root_identity = "first";
        finding.is_valid = key.verifies(bytes, signature.bytes);
        return std::optional(finding);
    };
    trust.require = "all";
    trust.roots = {{"first", "CN=Lab"}};
    CHECK(verified(signed_image.path, trust).is_verified);
    trust.roots.push_back({"second", "CN=Lab"});
    CHECK_FALSE(verified(signed_image.path, trust).is_verified);
}

TEST_CASE("a group alone is verified, whatever became of another one; the whole image is not") {
    NewImage wanted = image();
    wanted.objects.push_back(definition());
    wanted.objects[2].group = 2;
    const Signed signed_image(wanted);
    std::string bytes =
        content(signed_image.path); // the only object of group 2, its signature stays
    bytes.replace(entry(3), 585, std::string(585, '\0'));
    put(bytes, kFree, 44);
    REQUIRE(write_file(signed_image.path, bytes).has_value());
    Trust trust;
    trust.keys = {read_key(signed_image.open)};
    CHECK(verified(signed_image.path, trust, {1, {}}).is_verified);
    CHECK(verified(signed_image.path, trust, {1, {}}).because.empty());
    const Verification whole = verified(signed_image.path, trust);
    CHECK_FALSE(whole.is_verified);
    CHECK(whole.groups.at(0).is_verified);
    CHECK(whole.because == "signature 5: group 2 has no objects (any more)");
}

TEST_CASE("of a refused certificate and a changed content, the content is told") {
    const Signed signed_image;
    Trust trust;
    const PublicKey key = read_key(signed_image.open);
    trust.certificate_judge =
        [key](std::string_view bytes,
              const EnvelopeSignature& signature) -> Result<std::optional<CertificateFinding>> {
        CertificateFinding finding;
        finding.key = key.fingerprint();
        finding.because =
            key.verifies(bytes, signature.bytes) ? "the certificate has expired" : "?";
        return std::optional(finding);
    };
    CHECK(verified(signed_image.path, trust).signatures.at(0).because ==
          "the certificate has expired");
    std::string bytes = content(signed_image.path);
    bytes[32176] ^= 1;
    REQUIRE(write_file(signed_image.path, bytes).has_value());
    const Verification both = verified(signed_image.path, trust);
    CHECK(both.signatures.at(0).because == "the content of object 1 was changed after signing");
    CHECK_FALSE(both.signatures.at(0).is_valid);
}

TEST_CASE("an OpenPGP signature whose descriptor names another key does not count") {
    const Signed signed_image;
    write(signed_image.path, image());
    const openpgp::Certificate certificate = new_pgp("Alice");
    Signers signers;
    auto secret = openpgp::SecretKey::choose(certificate, kNow);
    REQUIRE(secret.has_value());
    signers.pgp = std::move(*secret);
    SignOptions options;
    options.now = kNow;
    REQUIRE(sign_image(signed_image.path, signers, options).has_value());
    Trust trust;
    trust.now = kNow;
    trust.keyring.emplace();
    trust.keyring->add(certificate);
    CHECK(verified(signed_image.path, trust).is_verified);
    std::string bytes = content(signed_image.path);
    bytes[entry(3) + kExtra + 4 + 19] ^= 1; // the last byte of the fingerprint
    REQUIRE(write_file(signed_image.path, bytes).has_value());
    const Verification found = verified(signed_image.path, trust);
    CHECK_FALSE(found.is_verified);
    CHECK(found.signatures.at(0).because.starts_with("its descriptor names another key ("));
}

TEST_CASE("a signed message's numbers are of 32 bits") {
    const auto message = [](const std::string& id) {
        const std::string digest = "sha256:" + std::string(64, 'a');
        return R"({"version":1,"header":{"digest":")" + digest + R"("},"objects":[{"relativeId":)" +
               id + R"(,"descriptorDigest":")" + digest + R"(","objectDigest":")" + digest +
               "\"}]}";
    };
    CHECK(parse_message(message("4294967295"))->objects.at(0).relative_id == 4294967295U);
    for (const char* const id : {"4294967296", "8589934593", "-1", "1.5", "\"1\""}) {
        CAPTURE(id);
        CHECK(parse_message(message(id)).error().code() == ErrorCode::kInput);
    }
}

TEST_CASE("a time stamp is fetched for a signature with a chain, and for no other") {
    const Signed signed_image;
    int asked = 0;
    for (const std::string chain : {"", "-----BEGIN CERTIFICATE-----\n"}) {
        write(signed_image.path, image());
        Signers signers;
        signers.keys.push_back({*PrivateKey::read(signed_image.secret), chain});
        signers.stamp = [&](std::string_view signature) -> Result<std::string> {
            ++asked;
            CHECK(signature.size() == 64);
            return std::string("token");
        };
        REQUIRE(sign_image(signed_image.path, signers, {}).has_value());
        const auto opened = Image::open(signed_image.path);
        const auto envelope = parse_envelope(opened->read_object(*opened->object(3)).value());
        CHECK(envelope->signatures.at(0).timestamp == (chain.empty() ? "" : "token"));
        CHECK(asked == (chain.empty() ? 0 : 1));
    }
}

TEST_CASE("a signature object may have 1 MiB to the byte, and owners keep their places") {
    Header header;
    header.data_offset = 32176;
    Descriptor object;
    object.type = DataType::kSignature;
    object.group = kGroupMask;
    object.id = 7;
    object.offset = 40000;
    object.size = kMaximumSignatureSize;
    CHECK(judge_descriptor(object, header, std::uint64_t{1} << 30U).empty());
    object.size += 1;
    CHECK_FALSE(judge_descriptor(object, header, std::uint64_t{1} << 30U).empty());

    object.group = 5;
    object.link = 11;
    object.size = 13;
    object.size_with_padding = 17;
    object.created = 19;
    object.modified = 23;
    object.uid = 1009;
    object.gid = 2003;
    const std::string bytes = encode_descriptor(object);
    const auto number = [&](std::size_t at) {
        return decode_little_endian<std::uint64_t>(
            std::as_bytes(std::span<const char>(bytes)).subspan(at, 8));
    };
    CHECK(number(41) == 19);
    CHECK(number(49) == 23);
    CHECK(number(57) == 1009);
    CHECK(number(65) == 2003);
}

TEST_CASE("an old signature counts by the keys that a policy names, and covers no overlay") {
    const fs::path old = data("one-group-signed-legacy-group.sif");
    const auto ring = openpgp::Keyring::read(data("pgp-public.bin"));
    REQUIRE(ring.has_value());
    Trust trust;
    trust.now = kNow;
    trust.keyring = *ring;
    trust.legacy_judge = [&](const Image& image,
                             const Descriptor& signature,
                             std::string_view text,
                             SignatureState& state) {
        return judge_legacy(image, signature, text, LegacyTrust{*ring, kNow}, state);
    };
    CHECK(verified(old, trust, {1, {}}).is_verified);
    trust.pgp = {"12045C8C0B1004D058DE4BEDA20C27EE7FF7BA84"};
    CHECK(verified(old, trust, {1, {}}).is_verified);
    trust.pgp = {std::string(40, 'A')};
    const Verification stranger = verified(old, trust, {1, {}});
    CHECK_FALSE(stranger.is_verified);
    CHECK(stranger.signatures.at(0).because ==
          "the key of Unit Test <unit@test.com> is none of those that count");
    trust.pgp.clear();
    // The signed object 1, declared an overlay over the root, which no old signature forbids.
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    std::string bytes = content(old);
    const auto opened = Image::open(old);
    const std::size_t table = opened->header().descriptors_offset;
    put(bytes, table, static_cast<std::uint64_t>(DataType::kPartition), 4);
    put(bytes, table + kExtra, static_cast<std::uint64_t>(FsType::kSquashfs), 4);
    put(bytes, table + kExtra + 4, static_cast<std::uint64_t>(PartType::kOverlay), 4);
    REQUIRE(write_file(path, bytes).has_value());
    const Verification laid_over = verified(path, trust, {1, {}});
    CHECK_FALSE(laid_over.is_verified);
    CHECK(laid_over.signatures.at(0).covers == std::vector<std::uint32_t>{2});
    CHECK(laid_over.because == "object 1 of group 1 is not signed");
}
