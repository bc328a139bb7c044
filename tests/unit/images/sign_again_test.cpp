// SPDX-License-Identifier: Apache-2.0
// Signing what is signed already: by whom, of which kind, and by force; and what can be seen of
// signatures without a key.
#include "images/openpgp/generate.hpp"
#include "images/signatures/message.hpp"
#include "images/signatures/sign.hpp"
#include "images/signatures/signed.hpp"
#include "images/signatures/signer.hpp"
#include "images/signatures/verify.hpp"
#include "signature_sample.hpp"

using namespace sample;

namespace {

constexpr std::int64_t kSigningTime = 1800000000;
using ObjectIds = std::vector<std::uint32_t>;

/// Two people with PEM keys, one with an OpenPGP key, and an image with groups 1 and 2.
struct Signatories {
    TempDirectory place = directory();
    fs::path path = place.path() / "a.sif";
    openpgp::Certificate carol = *openpgp::generate(
        {"Carol", "", "", "ed25519", kSigningTime - 1000, {}, std::string(32, 'c')});
    std::vector<Fault> warnings;

    Signatories() {
        for (const char* const name : {"alice", "bob"}) {
            REQUIRE(new_key(place.path() / (std::string(name) + ".pem"), "ed25519"));
        }
        NewImage wanted = image();
        wanted.objects.push_back(definition());
        wanted.objects[2].group = 2;
        write(path, wanted);
    }
    [[nodiscard]] Signers signers(const std::vector<std::string>& names) const {
        Signers all;
        for (const std::string& name : names) {
            if (name == "carol") {
                all.pgp = *openpgp::SecretKey::choose(carol, kSigningTime);
                all.pgp_ring.add(carol);
                continue;
            }
            all.keys.push_back({*PrivateKey::read(place.path() / (name + ".pem")), {}});
        }
        return all;
    }
    Result<SignReport> sign(const std::vector<std::string>& names,
                            bool force = false,
                            const Selection& selection = {},
                            bool only_adds = false) {
        SignOptions options;
        options.now = kSigningTime;
        options.force = force;
        options.only_adds = only_adds;
        options.selection = selection;
        warnings.clear();
        options.on_warning = [&](Fault fault) { warnings.push_back(std::move(fault)); };
        return sign_image(path, signers(names), options);
    }
    [[nodiscard]] Image open() const {
        auto opened = Image::open(path);
        REQUIRE(opened);
        return std::move(*opened);
    }
    [[nodiscard]] ObjectIds signatures() const {
        ObjectIds ids;
        const Image opened = open();
        for (const Descriptor& object : opened.descriptors()) {
            if (object.type == DataType::kSignature) {
                ids.push_back(object.id);
            }
        }
        return ids;
    }
    [[nodiscard]] bool verifies(const std::string& name) const {
        Trust trust;
        trust.now = kSigningTime;
        if (name == "carol") {
            trust.keyring.emplace();
            trust.keyring->add(carol);
        } else {
            trust.keys = {*PublicKey::read(place.path() / (name + ".pub"))};
        }
        return verify_signatures(open(), trust, {})->is_verified;
    }
};

} // namespace

TEST_CASE("signing again: a further signer is warned of Apptainer, the first and a repeated not") {
    Signatories people;
    REQUIRE(people.sign({"alice"}));
    CHECK(people.warnings.empty());
    REQUIRE(people.sign({"alice"}));
    CHECK(people.warnings.empty());
    REQUIRE(people.sign({"bob"}));
    REQUIRE(people.warnings.size() == 2); // one for each group
    CHECK(people.warnings[1].message == "group 2 has signatures of other keys already");
    CHECK(people.warnings[1].is_warning);
    CHECK(people.signatures().size() == 4);
    CHECK(people.verifies("alice"));
    CHECK(people.verifies("bob"));
}

TEST_CASE("signing again: by force the signer's own signature is replaced, others stay") {
    Signatories people;
    REQUIRE(people.sign({"alice"}));
    REQUIRE(people.sign({"bob"}));
    CHECK(people.signatures() == ObjectIds{4, 5, 6, 7});
    const auto again = people.sign({"alice"}, true);
    REQUIRE(again);
    CHECK(again->groups == ObjectIds{1, 2});
    CHECK(again->superseded == ObjectIds{4, 5});
    CHECK(people.warnings.empty());
    CHECK(people.signatures().size() == 4);
    CHECK(people.verifies("alice"));
    CHECK(people.verifies("bob"));
    SUBCASE("a signature that only adds replaces none") {
        const auto more = people.sign({"alice"}, true, {}, true);
        REQUIRE(more);
        CHECK(more->superseded.empty());
        CHECK(people.signatures().size() == 6);
    }
    SUBCASE("an envelope with somebody else's signature is not the signer's own") {
        Signatories both;
        REQUIRE(both.sign({"alice", "bob"}));
        const auto one = both.sign({"alice"}, true);
        REQUIRE(one);
        CHECK(one->superseded.empty());
        CHECK(both.verifies("bob"));
        const auto two = both.sign({"bob", "alice"}, true);
        REQUIRE(two);
        CHECK(two->superseded.size() == 4);
        CHECK(both.signatures().size() == 2);
    }
    SUBCASE("a signature over other objects is not replaced") {
        Signatories parts;
        REQUIRE(parts.sign({"alice"}, false, {std::nullopt, {2}}));
        const auto whole = parts.sign({"alice"}, true);
        REQUIRE(whole);
        CHECK(whole->superseded.empty());
        CHECK(parts.signatures().size() == 3);
    }
}

TEST_CASE("signing again: an OpenPGP key signs once, and by force in the place of its own") {
    Signatories people;
    REQUIRE(people.sign({"carol"}));
    CHECK(people.verifies("carol"));
    CHECK(people.signatures() == ObjectIds{4, 5});
    const auto same = people.sign({"carol"});
    REQUIRE(same);
    CHECK(same->groups.empty());
    CHECK(same->already_signed == ObjectIds{1, 2});
    const auto again = people.sign({"carol"}, true, {1, {}});
    REQUIRE(again);
    CHECK(again->superseded == ObjectIds{4});
    CHECK(people.signatures().size() == 2);
    CHECK(people.verifies("carol"));

    // A message by another key over the same objects stays.
    Signatories others;
    REQUIRE(others.sign({"carol"}));
    others.carol = *openpgp::generate(
        {"Dave", "", "", "ed25519", kSigningTime - 500, {}, std::string(32, 'd')});
    const auto dave = others.sign({"carol"});
    REQUIRE(dave);
    CHECK(dave->groups == ObjectIds{1, 2});
    CHECK(others.signatures().size() == 4);
    const auto forced = others.sign({"carol"}, true);
    REQUIRE(forced);
    CHECK(forced->superseded == ObjectIds{6, 7});
}

TEST_CASE("signing again: kinds of signatures are mixed by force alone") {
    Signatories people;
    const auto both = people.sign({"alice", "carol"});
    REQUIRE_FALSE(both);
    CHECK(words(both.error()).find("PEM and OpenPGP signatures on one group") != std::string::npos);
    REQUIRE(people.sign({"alice"}, false, {1, {}}));
    const auto pgp = people.sign({"carol"});
    REQUIRE_FALSE(pgp);
    CHECK(words(pgp.error()).find("group 1 has a PEM signature") != std::string::npos);
    CHECK(people.signatures().size() == 1);
    REQUIRE(people.sign({"carol"}, false, {2, {}})); // the other group has none yet
    const auto pem = people.sign({"alice"}, false, {2, {}});
    REQUIRE_FALSE(pem);
    CHECK(words(pem.error()).find("group 2 has an OpenPGP signature") != std::string::npos);
    REQUIRE(people.sign({"alice", "carol"}, true));
    CHECK(people.verifies("alice"));
    CHECK(people.verifies("carol"));
}

TEST_CASE("signing some objects leaves those without a group alone") {
    Signatories people;
    NewImage wanted = image();
    wanted.objects.push_back(definition());
    wanted.objects[2].group = 0;
    write(people.path, wanted);
    CHECK(words(people.sign({"alice"}).error()).find("object 3 belongs to no group") !=
          std::string::npos);
    const auto part = people.sign({"alice"}, false, {std::nullopt, {1}});
    REQUIRE(part);
    CHECK(part->groups == ObjectIds{1});
    CHECK(people.sign({"alice"}, false, {9, {}}).error().code() == ErrorCode::kInput);
    CHECK_FALSE(Selection{0, {}}.check(people.open())); // what has no group is in none
    CHECK(people.sign({"alice"}, false, {std::nullopt, {3}}).error().code() == ErrorCode::kInput);
    for (const auto& [id, problem] : {std::pair(1U, ""),
                                      std::pair(2U, ""),
                                      std::pair(3U, "sif-object-unsigned"),
                                      std::pair(4U, "sif-object-unsigned"), // the signature
                                      std::pair(5U, "sif-object-missing")}) {
        CAPTURE(id);
        const auto checked = Selection{std::nullopt, {id}}.check(people.open());
        CHECK((checked ? "" : checked.error().faults().front().id) == problem);
    }
    CHECK(people.sign({}).error().code() == ErrorCode::kUsage);
}

TEST_CASE("without a key it is seen whether a signature can still fit") {
    Signatories people;
    CHECK_FALSE(is_signed(people.open()));
    CHECK(broken_signature(people.open()).value() == "");
    REQUIRE(people.sign({"alice"}));
    CHECK(is_signed(people.open()));
    CHECK(broken_signature(people.open()).value() == "");
    const auto changed = [&] {
        std::string bytes = content(people.path);
        const auto at =
            static_cast<std::size_t>(people.open().descriptors().front().offset); // of group 1
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
        return bytes;
    };
    const std::string whole = content(people.path);
    REQUIRE(write_file(people.path, changed()));
    CHECK(broken_signature(people.open()).value() ==
          "signature 4: the content of object 1 was changed after signing");
    // A further signature, over the image as it is now, fits again: either may come first.
    REQUIRE(people.sign({"bob"}));
    CHECK(broken_signature(people.open()).value() == "");
    REQUIRE(write_file(people.path, whole));
    REQUIRE(people.sign({"carol"}, true, {1, {}}));
    CHECK(broken_signature(people.open()).value() == "");
    REQUIRE(write_file(people.path, changed())); // whether Carol's fits is seen with her key only
    CHECK(broken_signature(people.open()).value() == "");
    std::string other = whole; // an object of group 2, whose only signature says what it signed
    const std::size_t at = people.open().object(3)->offset;
    other[at] = static_cast<char>(other[at] ^ 1);
    REQUIRE(write_file(people.path, other));
    CHECK(broken_signature(people.open()).value() ==
          "signature 5: the content of object 3 was changed after signing");
}

TEST_CASE("without a key a message that cannot be read is a broken signature") {
    Signatories people;
    Envelope envelope;
    envelope.payload_type = kSifMetadataType;
    envelope.payload = "{}";
    NewObject object;
    object.type = DataType::kSignature;
    object.group = 0;
    object.link = kGroupMask | 1U;
    object.extra = {1, 0, 0, 0};
    object.bytes = write_envelope(envelope);
    const auto with = [&](const NewObject& signature) {
        NewImage wanted = image();
        wanted.objects.push_back(signature);
        write(people.path, wanted);
        return broken_signature(people.open()).value();
    };
    CHECK(with(object) == "signature 3: the signed message is malformed");
    NewObject other = object; // of a group that is not there, or over something else
    other.link = kGroupMask | 7U;
    CHECK(with(other) == "");
    other.link = 1;
    CHECK(with(other) == "");
    envelope.payload_type = "text/plain";
    object.bytes = write_envelope(envelope);
    CHECK(with(object) == "");
}

TEST_CASE("a signed message without its parts is malformed, not read") {
    for (const char* const text :
         {R"({"version":1,"objects":[]})",
          R"({"version":1,"header":7,"objects":[]})",
          R"({"version":1,"header":{"digest":"sha256:00"}})",
          R"({"version":1,"header":{"digest":"sha256:00"},"objects":{}})"}) {
        CAPTURE(text);
        const auto message = parse_message(text);
        REQUIRE_FALSE(message);
        CHECK(words(message.error()).find("header or objects is missing") != std::string::npos);
    }
}

TEST_CASE("signatures next to files: each is by a given key, whatever its key is called") {
    Signatories people;
    Envelope envelope;
    envelope.payload_type = "text/plain";
    envelope.payload = "hello";
    const std::string bytes = pre_authentication_encoding("text/plain", "hello");
    for (const char* const name : {"alice", "bob"}) {
        const auto key = PrivateKey::read(people.place.path() / (std::string(name) + ".pem"));
        envelope.signatures.push_back({"called otherwise", key->sign(bytes).value(), "", ""});
    }
    Trust trust;
    trust.keys = {*PublicKey::read(people.place.path() / "bob.pub")};
    const auto states = judge_envelope(envelope, trust);
    REQUIRE(states);
    REQUIRE(states->size() == 2);
    CHECK_FALSE(states->at(0).is_valid);
    CHECK(states->at(0).because == "it does not match the given key");
    CHECK(states->at(0).gap == SignerGap::kNone);
    CHECK(states->at(1).is_valid);
    CHECK(states->at(1).key == trust.keys[0].fingerprint());
    CHECK(lacking_signers(*states, trust) == "");
    trust.require = "2";
    CHECK(lacking_signers(*states, trust) == "1 of 2 required signers signed it");
    trust.require = "1x";
    CHECK(lacking_signers(*states, trust) == "'1x' is not a number of signers");
    trust.require = "2";
    trust.keys.push_back(*PublicKey::read(people.place.path() / "alice.pub"));
    CHECK(lacking_signers(*judge_envelope(envelope, trust), trust) == "");
    trust.keys.clear();
    const auto unknown = judge_envelope(envelope, trust);
    CHECK(unknown->at(0).gap == SignerGap::kAnyPemKey);
    CHECK(unknown->at(0).because.ends_with("none to verify it with was given"));
}

TEST_CASE("a signer is shown by the name of a certificate, of an OpenPGP key, or by a key's file") {
    SignatureState state;
    state.key = "SHA256:abc";
    state.key_file = "centre.pub";
    CHECK(signer_text(state) == "centre.pub (SHA256:abc)");
    state.user_id = "Carol <carol@site.example>";
    CHECK(signer_text(state) == "Carol <carol@site.example> (SHA256:abc)");
    state.subject = "O=Lab, CN=good";
    CHECK(signer_text(state) == "O=Lab, CN=good");
    CHECK(name_of(SignatureKind::kDsse) == "dsse");
    CHECK(name_of(SignatureKind::kPgp) == "pgp");
    CHECK(name_of(SignatureKind::kLegacy) == "legacy");
    CHECK(name_of(SignatureKind::kUnknown) == "unknown");
}

TEST_CASE("what to do about an image without a group, without objects or with too few signers") {
    Verification verification;
    CHECK(remedy_of(verification).starts_with("build the image again"));
    verification.without_group = {1};
    CHECK(remedy_of(verification).starts_with("`cybelectl sif del` what has no group"));

    SignatureState valid;
    valid.group = 1;
    valid.is_valid = true;
    valid.covers = {1};
    verification.signatures = {valid};
    GroupState group;
    group.group = 1;
    group.is_verified = true;
    verification.groups = {group};
    CHECK(remedy_of(verification).starts_with("delete what has no group"));
    verification.groups[0].is_verified = false; // it wants further signers
    CHECK(remedy_of(verification).starts_with("ask the missing signers"));
    verification.without_group.clear();
    CHECK(remedy_of(verification).starts_with("ask the missing signers"));
    verification.groups[0].unsigned_objects = {2}; // came after the signature
    CHECK(remedy_of(verification).starts_with("get the image again"));
    verification.signatures[0].covers.clear();
    CHECK(remedy_of(verification).starts_with("name the public key"));
    verification.signatures[0].group = 2;
    verification.signatures[0].covers = {1};
    CHECK(remedy_of(verification).starts_with("name the public key"));
}
