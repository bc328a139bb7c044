// SPDX-License-Identifier: Apache-2.0
#include "images/keys/key.hpp"
#include "images/sif/format.hpp"
#include "images/signatures/dsse.hpp"
#include "images/signatures/message.hpp"
#include "images/signatures/sign.hpp"
#include "images/signatures/signature.hpp"
#include "images/signatures/signed.hpp"
#include "signature_sample.hpp"
#include "support/process.hpp"

#include <algorithm>

using namespace sample;

namespace {

NewImage two_signed_groups() {
    NewImage wanted = image();
    wanted.objects.push_back(definition());
    wanted.objects[2].group = 2;
    return wanted;
}

} // namespace

TEST_CASE("a signed image is verified, and what was signed is told") {
    for (const char* const algorithm : {"ed25519", "ecdsa", "rsa"}) {
        CAPTURE(algorithm);
        const Signed signed_image(image(), algorithm);
        const Verification verification = signed_image.verify();
        CHECK(verification.because == "");
        CHECK(verification.is_verified);
        REQUIRE(verification.signatures.size() == 1);
        const SignatureState& state = verification.signatures[0];
        CHECK(state.object == 3);
        CHECK(state.group == 1);
        CHECK(state.kind == SignatureKind::kDsse);
        CHECK(state.covers == std::vector<std::uint32_t>{1, 2});
        CHECK(state.key == PublicKey::read(signed_image.open)->fingerprint());
        CHECK(state.claimed_key == state.key);
        CHECK(state.key_file == signed_image.open.native());
        CHECK(state.is_valid);
    }
}

TEST_CASE("the first bytes of a file show whether the image is signed") {
    for (const auto& entry : fs::directory_iterator(data(""))) {
        if (entry.path().extension() != ".sif") {
            continue;
        }
        CAPTURE(entry.path().native());
        const auto opened = Image::open(entry.path());
        const std::string start = read_file(entry.path()).value().substr(0, kSignedStart);
        CHECK(is_signed(start) == (opened && is_signed(*opened)));
        CHECK_FALSE(is_signed(std::string_view(start).substr(0, 4096))); // without its table
    }
    CHECK(is_signed(read_file(data("one-group-signed-dsse.sif")).value()));
    CHECK_FALSE(is_signed(std::string_view()));
}

TEST_CASE("the first bytes show it from the last byte of a signature's entry on") {
    const std::string bytes = read_file(data("one-group-signed-dsse.sif")).value();
    const auto opened = Image::open(data("one-group-signed-dsse.sif"));
    const auto& all = opened->descriptors();
    const auto entry =
        std::ranges::find(all, DataType::kSignature, &Descriptor::type) - all.begin();
    const std::size_t end =
        opened->header().descriptors_offset + static_cast<std::size_t>(entry + 1) * kDescriptorSize;
    for (std::size_t size = 0; size < end + 2 * kDescriptorSize; ++size) {
        CAPTURE(size);
        CHECK(is_signed(std::string_view(bytes).substr(0, size)) == (size >= end));
    }
    for (std::uint64_t total = 0; total < all.size() + 2; ++total) { // behind them nothing counts
        Header header = opened->header();
        header.descriptors_total = total;
        const std::string head = encode_header(header);
        CHECK(is_signed(head + bytes.substr(head.size())) ==
              (total > static_cast<std::size_t>(entry)));
    }
}

TEST_CASE("the signed message is Apptainer's, to the byte") {
    const auto opened = Image::open(data("one-group-signed-dsse.sif"));
    REQUIRE(opened.has_value());
    const auto envelope = parse_envelope(opened->read_object(opened->descriptors()[2]).value());
    REQUIRE(envelope.has_value());
    ObjectDigests digests(*opened);
    CHECK(write_message(make_message(*opened, 1, digests).value()) == envelope->payload);
}

TEST_CASE("an image that Apptainer signed with two keys is verified with each") {
    const fs::path path = data("one-group-signed-dsse.sif");
    for (const char* const key : {"ed25519-public.pem", "rsa-public.pem"}) {
        const auto verification = verify_image(path, {data(key)});
        REQUIRE(verification.has_value());
        CHECK(verification->is_verified);
        REQUIRE(verification->signatures.size() == 2); // of one envelope, each on its own
        const bool is_first = verification->signatures[0].is_valid;
        CHECK(verification->signatures[is_first ? 0 : 1].key_file == data(key).native());
        CHECK(verification->signatures[is_first ? 1 : 0].because.find("made with another key") ==
              7);
    }
    const auto both = verify_image(
        path, {data("ecdsa-public.pem"), data("rsa-public.pem"), data("ed25519-public.pem")});
    REQUIRE(both.has_value());
    CHECK(both->is_verified);
    REQUIRE(both->signatures.size() == 2);
    CHECK(both->signatures[0].object == both->signatures[1].object);
    const auto neither = verify_image(path, {data("ecdsa-public.pem")});
    REQUIRE(neither.has_value());
    CHECK_FALSE(neither->is_verified);
    CHECK(remedy_of(*neither).starts_with("name the public key"));
    CHECK(neither->because.find("made with another key (SHA256:x6l8Z") != std::string::npos);
    const auto legacy = verify_image(data("one-group-signed-legacy.sif"), {data("rsa-public.pem")});
    REQUIRE(legacy.has_value());
    CHECK_FALSE(legacy->is_verified);
    CHECK(legacy->because.find("Singularity 3.0 to 3.5") != std::string::npos);
    CHECK(legacy->signatures.at(0).kind == SignatureKind::kLegacy);
}

TEST_CASE("the remedy for an image that is not verified is that of its cause") {
    const Signed signed_image(image());
    std::string bytes = content(signed_image.path);
    const auto at =
        static_cast<std::size_t>(Image::open(signed_image.path)->descriptors().front().offset);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    REQUIRE(write_file(signed_image.path, bytes).has_value());
    CHECK(remedy_of(signed_image.verify()).starts_with("get the image again"));

    write(signed_image.path, image());
    CHECK(remedy_of(signed_image.verify()).starts_with("sign it, if it is yours"));
}

TEST_CASE("the remedy for a certificate that does not count is the certificate's") {
    Verification verification;
    verification.groups.emplace_back();
    SignatureState& state = verification.signatures.emplace_back();
    state.because = "'CN=old' expired";
    CHECK(remedy_of(verification).starts_with("name the public key"));
    state.help = "ask the signer to sign again with a renewed certificate";
    CHECK(remedy_of(verification) == state.help);
    state.is_of_other_bytes = true;
    CHECK(remedy_of(verification).starts_with("get the image again"));
}

TEST_CASE("openssl verifies the signature in our envelope over the protocol's bytes") {
    for (const char* const algorithm : {"ed25519", "rsa"}) {
        CAPTURE(algorithm);
        const Signed signed_image(image(), algorithm);
        const auto opened = Image::open(signed_image.path);
        const auto envelope =
            parse_envelope(opened->read_object(opened->descriptors().at(2)).value());
        REQUIRE(envelope.has_value());
        const fs::path& here = signed_image.place.path();
        const std::string bytes = "DSSEv1 " + std::to_string(envelope->payload_type.size()) + " " +
                                  envelope->payload_type + " " +
                                  std::to_string(envelope->payload.size()) + " " +
                                  envelope->payload;
        REQUIRE(write_file(here / "bytes", bytes).has_value());
        REQUIRE(write_file(here / "sig", envelope->signatures.at(0).bytes).has_value());
        Command command;
        command.argv = {"openssl",
                        "pkeyutl",
                        "-verify",
                        "-pubin",
                        "-inkey",
                        "ours.pub",
                        "-rawin",
                        "-in",
                        "bytes",
                        "-sigfile",
                        "sig"};
        if (std::string(algorithm) == "rsa") {
            command.argv.insert(command.argv.end(), {"-digest", "sha256"});
        }
        command.directory = here;
        const auto outcome = run_process(command);
        REQUIRE(outcome.has_value());
        CHECK_MESSAGE(outcome->ok(), outcome->errors, outcome->output);
    }
}

TEST_CASE("signing the same deterministic image with Ed25519 gives the same bytes") {
    NewImage wanted = image();
    wanted.id.reset();
    wanted.time.reset();
    const Signed signed_image(wanted);
    const std::string once = content(signed_image.path);
    write(signed_image.path, wanted);
    REQUIRE(sign_image(signed_image.path, signed_image.secret, 5).has_value());
    CHECK(content(signed_image.path) == once);
    CHECK(Image::open(signed_image.path)->header().is_deterministic());
}

TEST_CASE("an image that is changed while it is signed is signed as it is then, or not at all") {
    const Signed signed_image;
    write(signed_image.path, image()); // unsigned
    Signers signers;
    signers.keys.push_back({*PrivateKey::read(signed_image.secret), {}});
    SignOptions options;
    options.now = 1700000100;
    NewObject more;
    more.type = DataType::kGeneric;
    more.group = 1;
    more.name = "more";
    more.bytes = "more";
    int left = 2; // changes, each at a time when the image was read
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
        if (done == total && left-- > 0) {
            REQUIRE(add_objects(signed_image.path, {more}, 1700000050).has_value());
        }
    };
    const auto done = sign_image(signed_image.path, signers, options);
    REQUIRE_MESSAGE(done.has_value(), (done ? "" : words(done.error())));
    CHECK(signed_image.verify().is_verified);
    const auto opened = Image::open(signed_image.path);
    CHECK(opened->descriptors().size() == image().objects.size() + 3);

    left = 1000;
    options.force = true;
    const auto never = sign_image(signed_image.path, signers, options);
    REQUIRE_FALSE(never.has_value());
    CHECK(never.error().code() == ErrorCode::kEnvironment);
}

TEST_CASE("a wrong key and no signature are told") {
    const Signed signed_image;
    const Verification wrong = signed_image.verify({signed_image.other});
    CHECK_FALSE(wrong.is_verified);
    CHECK(wrong.because.find("signature 3: it was made with another key (" +
                             PublicKey::read(signed_image.open)->fingerprint()) !=
          std::string::npos);
    CHECK(wrong.signatures.at(0).key.empty());
    write(signed_image.path, image());
    const Verification unsigned_image = signed_image.verify();
    CHECK_FALSE(unsigned_image.is_verified);
    CHECK(unsigned_image.because == "the image is not signed");
    CHECK(unsigned_image.signatures.empty());
}

TEST_CASE("two signers: either key is enough, each signature has its state") {
    const Signed signed_image;
    signed_image.sign(signed_image.other_secret);
    CHECK(signed_image.verify({signed_image.open}).is_verified);
    CHECK(signed_image.verify({signed_image.other}).is_verified);
    const Verification both = signed_image.verify({signed_image.open, signed_image.other});
    REQUIRE(both.signatures.size() == 2);
    CHECK(both.signatures[0].is_valid);
    CHECK(both.signatures[1].is_valid);
    CHECK(both.signatures[0].key != both.signatures[1].key);
    const Verification one = signed_image.verify({signed_image.open});
    CHECK_FALSE(one.signatures[1].is_valid);
    CHECK(one.signatures[1].because.find("another key") != std::string::npos);
    CHECK(signed_image.verify({signed_image.open, signed_image.open}).signatures.size() == 2);
}

TEST_CASE("every group with objects must be signed") {
    Signed signed_image(two_signed_groups());
    const Verification whole = signed_image.verify();
    CHECK(whole.is_verified);
    REQUIRE(whole.signatures.size() == 2);
    CHECK(whole.signatures[1].group == 2);
    CHECK(whole.signatures[1].covers == std::vector<std::uint32_t>{3});
    NewObject third = definition();
    third.group = 3;
    REQUIRE(add_objects(signed_image.path, {third}, 1).has_value());
    const Verification partly = signed_image.verify();
    CHECK_FALSE(partly.is_verified);
    CHECK(partly.because == "group 3 is not signed");
    CHECK(partly.signatures[0].is_valid);
}

TEST_CASE("objects that were added or taken away after signing are noticed") {
    Signed signed_image(two_signed_groups());
    const std::string whole = content(signed_image.path);
    REQUIRE(add_objects(signed_image.path, {definition()}, 1).has_value());
    const Verification more = signed_image.verify();
    CHECK(more.because == "object 6 of group 1 is not signed");
    CHECK(more.signatures[0].is_valid);
    CHECK(more.groups.at(0).unsigned_objects == std::vector<std::uint32_t>{6});

    std::string bytes = whole; // the only object of group 2, its signature stays
    bytes.replace(entry(3), 585, std::string(585, '\0'));
    put(bytes, kFree, 44);
    REQUIRE(write_file(signed_image.path, bytes).has_value());
    const Verification orphan = signed_image.verify();
    CHECK_FALSE(orphan.is_verified);
    CHECK(orphan.because == "signature 5: group 2 has no objects (any more)");
    CHECK(orphan.orphans == std::vector<std::uint32_t>{5});

    bytes = whole; // object 1 of group 1
    bytes.replace(entry(1), 585, std::string(585, '\0'));
    put(bytes, kFree, 44);
    REQUIRE(write_file(signed_image.path, bytes).has_value());
    CHECK_FALSE(signed_image.verify().is_verified);

    bytes = whole; // the signature of group 2
    bytes.replace(entry(5), 585, std::string(585, '\0'));
    put(bytes, kFree, 44);
    REQUIRE(write_file(signed_image.path, bytes).has_value());
    CHECK(signed_image.verify().because == "group 2 is not signed");
}

TEST_CASE("a signature over a part of its group does not verify the group") {
    const Signed signed_image;
    write(signed_image.path, image());
    const auto opened = Image::open(signed_image.path);
    ObjectDigests digests(*opened);
    SignedMessage message = make_message(*opened, 1, digests).value();
    message.objects.erase(message.objects.begin());
    Envelope envelope;
    envelope.payload_type = kSifMetadataType;
    envelope.payload = write_message(message);
    const auto key = PrivateKey::read(signed_image.secret);
    envelope.signatures.push_back(
        {"", key->sign(pre_authentication_encoding(kSifMetadataType, envelope.payload)).value()});
    NewObject object;
    object.type = DataType::kSignature;
    object.group = 0;
    object.link = kGroupMask | 1U;
    object.extra = {1, 0, 0, 0};
    object.bytes = write_envelope(envelope);
    REQUIRE(add_objects(signed_image.path, {object}, 1).has_value());
    CHECK(signed_image.verify().because == "object 1 of group 1 is not signed");
}

TEST_CASE("an envelope of another kind, an OpenPGP signature and rubbish do not verify") {
    const Signed signed_image;
    const std::string payload = "{}";
    const auto key = PrivateKey::read(signed_image.secret);
    const auto envelope = [&](const std::string& type, const std::string& text) {
        return write_envelope(
            {type, text, {{"", key->sign(pre_authentication_encoding(type, text)).value()}}});
    };
    const std::string metadata(kSifMetadataType);
    const struct {
        std::string bytes;
        const char* because;
    } cases[] = {
        {envelope("text/plain", payload), "it signs something else"},
        {envelope(metadata, payload), "the signed message is malformed: its version"},
        {envelope(metadata, "no json"), "it is not a JSON object"},
        {envelope(metadata, R"({"version":1,"header":{"digest":"md5:00"},"objects":[]})"),
         "unknown algorithm"},
        {envelope(metadata, R"({"version":1,"header":{"digest":"sha256:00"},"objects":[7]})"),
         "an entry of objects is not an object"},
        {envelope(metadata,
                  R"({"version":1,"header":{"digest":"sha256:00"},"objects":[{"relativeId":-1}]})"),
         "a relativeId is missing or no number"},
        {"-----BEGIN PGP SIGNED MESSAGE-----\n", "it is an OpenPGP signature, and no keyring"},
        {"", "not a DSSE envelope"},
        {std::string(1000, '\xff'), "not a DSSE envelope"},
    };
    for (const auto& one : cases) {
        CAPTURE(one.because);
        write(signed_image.path, image());
        NewObject object;
        object.type = DataType::kSignature;
        object.group = 0;
        object.link = kGroupMask | 1U;
        object.extra = {1, 0, 0, 0};
        object.bytes = one.bytes;
        REQUIRE(add_objects(signed_image.path, {object}, 1).has_value());
        const Verification verification = signed_image.verify();
        CHECK_FALSE(verification.is_verified);
        CAPTURE(verification.because);
        CHECK(verification.because.find(one.because) != std::string::npos);
    }
}

TEST_CASE("messages with other hashes of Apptainer are understood") {
    for (const char* const algorithm : {"sha224", "sha384", "sha512", "sha512_224", "sha512_256"}) {
        CAPTURE(algorithm);
        const auto opened = Image::open(data("one-group-signed-dsse.sif"));
        ObjectDigests digests(*opened);
        SignedMessage message;
        message.header_digest = digest_of(algorithm, covered_bytes(opened->header())).value();
        for (std::uint32_t i = 0; i < 2; ++i) {
            const Descriptor& object = opened->descriptors()[i];
            message.objects.push_back({i,
                                       digest_of(algorithm, covered_bytes(object, i)).value(),
                                       digests.of(object, algorithm).value()});
        }
        const auto parsed = parse_message(write_message(message));
        REQUIRE(parsed.has_value());
        std::vector<std::uint32_t> covers;
        CHECK(compare_message(*parsed, *opened, 1, digests, covers).value() == "");
        CHECK(covers == std::vector<std::uint32_t>{1, 2});
    }
}

TEST_CASE("an object is hashed once, however many signatures cover it") {
    const auto opened = Image::open(data("one-group-signed-dsse.sif"));
    REQUIRE(opened.has_value());
    ObjectDigests digests(*opened);
    for (int i = 0; i < 10; ++i) {
        REQUIRE(make_message(*opened, 1, digests).has_value());
    }
    CHECK(digests.bytes_read() == 4096 + 4);
}

TEST_CASE("what cannot be signed is told, and the image stays as it was") {
    const Signed signed_image;
    NewImage wanted = image();
    wanted.objects[0].group = 0;
    write(signed_image.path, wanted);
    const std::string before = content(signed_image.path);
    const auto loose = sign_image(signed_image.path, signed_image.secret, 1);
    REQUIRE_FALSE(loose.has_value());
    CHECK(words(loose.error()).find("object 1 belongs to no group") != std::string::npos);
    CHECK_FALSE(sign_image(signed_image.path, signed_image.open, 1).has_value());
    CHECK(content(signed_image.path) == before);
    wanted.objects.clear();
    write(signed_image.path, wanted);
    CHECK(words(sign_image(signed_image.path, signed_image.secret, 1).error())
              .find("no objects that could be signed") != std::string::npos);
    CHECK_FALSE(sign_image(signed_image.place.path() / "x", signed_image.secret, 1).has_value());
}

TEST_CASE("verifying needs a key, and one that is a public key") {
    const Signed signed_image;
    CHECK(verify_image(signed_image.path, {}).error().code() == ErrorCode::kUsage);
    const auto secret = verify_image(signed_image.path, {signed_image.open, signed_image.secret});
    REQUIRE_FALSE(secret.has_value());
    CHECK(words(secret.error()).find("it is a private key") != std::string::npos);
    CHECK_FALSE(verify_image(signed_image.path, {signed_image.place.path() / "x"}).has_value());
}
