// SPDX-License-Identifier: Apache-2.0
// What is attached to an image in its registry, and whether a base is verified by it.
#include "images/keys/key.hpp"
#include "images/keys/new.hpp"
#include "images/signatures/dsse.hpp"
#include "registry/oci/attached.hpp"
#include "tests/unit/registry/registry_server.hpp"

#include <string>

#include <doctest/doctest.h>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kEnvelopeType = "application/vnd.dsse.envelope.v1+json";

struct Attaching {
    RegistryServer at;
    std::string subject;

    Attaching() {
        const auto pushed = at.push_text("one", "group/app:1");
        REQUIRE(pushed);
        subject = pushed->manifest;
        at.transport.environment.set("TMPDIR", at.shop.folder.path().native());
        (void)at.seen();
    }
    [[nodiscard]] Result<Attached>
    attach_text(const std::string& type, const std::string& text, std::int64_t now = 0) const {
        return attach(at.transport,
                      {at.reference("group/app:1"), type, "document.json", text, now});
    }
    [[nodiscard]] std::vector<Referrer> list(const std::string& type = "") const {
        const auto found = referrers(at.transport, at.reference("group/app:1"), type);
        REQUIRE(found);
        return *found;
    }
};

std::string statement_of(const std::string& digest) {
    return Json{{"_type", "https://in-toto.io/Statement/v1"},
                {"subject", {{{"name", "app"}, {"digest", {{"sha256", digest.substr(7)}}}}}}}
        .dump();
}

} // namespace

TEST_CASE("a document is attached once, listed by its type, and comes back") {
    for (const bool has_list : {true, false}) {
        CAPTURE(has_list);
        Attaching at;
        at.at.set({{"referrers", has_list}, {"page", 1}});
        CHECK(at.list().empty());
        const auto first = at.attach_text("application/spdx+json", "{\"a\":1}", 1'800'000'000);
        REQUIRE(first);
        CHECK(first->subject == at.subject);
        CHECK(first->is_listed == has_list);
        const auto second = at.attach_text(kEnvelopeType, "{}");
        REQUIRE(second);
        REQUIRE(at.attach_text(kEnvelopeType, "{}"));
        const auto all = at.list();
        REQUIRE(all.size() == 2);
        CHECK(all[0].digest == first->manifest);
        CHECK(all[1].digest == second->manifest);
        const auto envelopes = at.list(kEnvelopeType);
        REQUIRE(envelopes.size() == 1);
        CHECK(envelopes[0].type == kEnvelopeType);
        CHECK(*attached_document(at.at.transport, at.at.reference("group/app:1"), all[0]) ==
              "{\"a\":1}");
        const auto manifest = at.at.registry("group/app").manifest(first->manifest);
        REQUIRE(manifest);
        CHECK(
            manifest->bytes.find("\"org.opencontainers.image.created\":\"2027-01-15T08:00:00Z\"") !=
            std::string::npos);
        CHECK(manifest->subject == at.subject);
        CHECK(manifest->layers.front().title == "document.json");
        CHECK(at.at.registry("group/app").manifest(second->manifest)->bytes.find("created") ==
              std::string::npos);
    }
}

TEST_CASE("a list that another client writes at the same time is written again") {
    Attaching at;
    at.at.set({{"referrers", false}});
    REQUIRE(at.attach_text("type/one", "1"));
    // The list is not changed by what the registry says it took.
    const auto lose = [&](int times) {
        at.at.spoil({{"match", "PUT .*/manifests/sha256-.*"}, {"status", 201}, {"times", times}});
    };
    lose(7);
    CHECK(at.attach_text("type/two", "2"));
    CHECK(at.list().size() == 2);
    lose(8);
    CHECK(id_of(at.attach_text("type/three", "3")) == "referrers-changed");
    CHECK(at.list().size() == 2);
}

TEST_CASE("what is attached in several parts, or is too large, is not read") {
    Attaching at;
    Registry registry = at.at.registry("group/app");
    Json manifest = Json::parse(registry.manifest("1")->bytes);
    manifest["layers"].push_back(manifest["layers"][0]);
    Manifest two;
    two.media_type = std::string(kManifestType);
    two.bytes = manifest.dump();
    two.digest = sha256_text(two.bytes);
    REQUIRE(registry.put_manifest(two, two.digest));
    const Reference reference = at.at.reference("group/app:1");
    CHECK(id_of(attached_document(at.at.transport, reference, {two.digest, "", 0, ""})) ==
          "attachment-not-one");
    const std::pair<std::uint64_t, const char*> sizes[] = {
        {(std::uint64_t{64} << 20U) + 1, "attachment-too-big"},
        {std::uint64_t{64} << 20U, "registry-name-unknown"}}; // it is asked for
    for (const auto& [size, id] : sizes) {
        manifest["layers"] = Json::array(
            {{{"mediaType", "x"}, {"size", size}, {"digest", "sha256:" + std::string(64, 'd')}}});
        const std::string bytes = manifest.dump();
        at.at.spoil({{"match", "GET .*/manifests/sha256:.*"},
                     {"status", 200},
                     {"body", bytes},
                     {"headers", {{"Content-Type", std::string(kManifestType)}}}});
        CHECK(id_of(attached_document(
                  at.at.transport, reference, {sha256_text(bytes), "", 0, ""})) == id);
    }
}

TEST_CASE("a statement speaks of the digests that it names") {
    const std::string digest = "sha256:" + std::string(64, 'a');
    CHECK(names_subject(statement_of(digest), digest));
    CHECK_FALSE(names_subject(statement_of(digest), "sha256:" + std::string(64, 'b')));
    for (const char* none : {"",
                             "[]",
                             "{}",
                             R"({"subject":{}})",
                             R"({"subject":[]})",
                             R"({"subject":[5,{"digest":"x"},{"digest":{"sha256":5}}]})"}) {
        CHECK_MESSAGE(!names_subject(none, digest), none);
    }
}

TEST_CASE("a base is verified by a statement of its digest, signed by who is trusted") {
    Attaching at;
    const fs::path folder = at.at.shop.folder.path();
    images::Trust trust;
    const auto key = [&](const std::string& name) {
        REQUIRE(images::new_key(folder / (name + ".pem"), "ed25519"));
        return images::PrivateKey::read(folder / (name + ".pem"));
    };
    const auto ours = key("ours");
    const auto other = key("other");
    REQUIRE(ours);
    REQUIRE(other);
    trust.keys.push_back(ours->public_key());
    OciRequest image;
    image.transport = "docker";
    image.from = at.at.host() + "/group/app:1";
    const auto because = [&] {
        return because_of(verify_attached(at.at.transport, image, at.subject, trust));
    };
    const auto attach_signed = [&](const images::PrivateKey& signer, const std::string& digest) {
        images::Envelope envelope;
        envelope.payload_type = "application/vnd.in-toto+json";
        envelope.payload = statement_of(digest);
        const auto bytes = signer.sign(
            images::pre_authentication_encoding(envelope.payload_type, envelope.payload));
        REQUIRE(bytes);
        envelope.signatures = {{signer.public_key().envelope_id(), *bytes}};
        REQUIRE(at.attach_text(kEnvelopeType, images::write_envelope(envelope)));
    };
    CHECK(because() == "no signed statement is attached to it");
    REQUIRE(at.attach_text("application/spdx+json", "{}"));
    CHECK(because() == "no signed statement is attached to it");
    attach_signed(*other, at.subject);
    CHECK(because().starts_with("of 1 signed statements attached to it, 1 speak of this digest: "));
    attach_signed(*ours, "sha256:" + std::string(64, 'b'));
    CHECK(because().starts_with("of 2 signed statements attached to it, 1 speak of this digest: "));
    attach_signed(*ours, at.subject);
    CHECK(because() == "");
    trust.keys.push_back(other->public_key());
    trust.require = "all";
    CHECK(because() == "");
    trust.require = "3";
    CHECK(because() != "");
    image.transport = "oci";
    CHECK(because().starts_with("signatures are attached in registries"));
    CHECK(verify_attached(at.at.transport, image, at.subject, trust).error().code() ==
          ErrorCode::kVerification);
}

} // namespace cybele::registry
