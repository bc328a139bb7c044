// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/dsse.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace cybele;
using namespace cybele::images;

TEST_CASE("the signed bytes are those of the protocol's own example") {
    CHECK(pre_authentication_encoding("http://example.com/HelloWorld", "hello world") ==
          "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    CHECK(pre_authentication_encoding("", "") == "DSSEv1 0  0 ");
}

TEST_CASE("an envelope is written in Apptainer's order, and read again") {
    Envelope envelope;
    envelope.payload_type = kSifMetadataType;
    envelope.payload = "{}";
    envelope.signatures = {{"SHA256:a/b+c", "sig"}, {"", std::string("\0\xff", 2)}};
    const std::string text = write_envelope(envelope);
    CHECK(text ==
          R"({"payloadType":"application/vnd.sylabs.sif-metadata+json","payload":"e30=",)"
          R"("signatures":[{"keyid":"SHA256:a/b+c","sig":"c2ln"},{"keyid":"","sig":"AP8="}]})");
    const auto parsed = parse_envelope(text + " \n");
    REQUIRE(parsed.has_value());
    CHECK(parsed->payload == "{}");
    CHECK(parsed->payload_type == kSifMetadataType);
    REQUIRE(parsed->signatures.size() == 2);
    CHECK(parsed->signatures[0].key_id == "SHA256:a/b+c");
    CHECK(parsed->signatures[1].bytes == std::string("\0\xff", 2));
}

TEST_CASE("URL-safe base64 and a missing keyid are read") {
    const auto parsed =
        parse_envelope(R"({"payload":"_-8","payloadType":"t","signatures":[{"sig":"AP8"}]})");
    REQUIRE(parsed.has_value());
    CHECK(parsed->payload == "\xff\xef");
    CHECK(parsed->signatures.at(0).key_id.empty());
    CHECK(parsed->signatures.at(0).bytes == std::string("\0\xff", 2));
}

TEST_CASE("what is no envelope is refused") {
    std::string many = R"({"payload":"","payloadType":"t","signatures":[{"sig":""})";
    for (int i = 0; i < 63; ++i) {
        many += R"(,{"sig":""})";
    }
    CHECK(parse_envelope(many + "]}")->signatures.size() == 64);
    many += R"(,{"sig":""})";
    const std::string cases[] = {
        "",
        "{",
        "[]",
        "null",
        R"({"payloadType":"t","signatures":[]})",
        R"({"payload":1,"payloadType":"t","signatures":[]})",
        R"({"payload":"","payloadType":"t","signatures":{}})",
        R"({"payload":"","payloadType":"t","signatures":[1]})",
        R"({"payload":"","payloadType":"t","signatures":[{"sig":null}]})",
        R"({"payload":"!","payloadType":"t","signatures":[]})",
        R"({"payload":"","payloadType":"t","signatures":[{"sig":"!"}]})",
        R"({"payload":"","payloadType":"t","signatures":[]} more)",
        many + "]}",
        std::string(100000, '['),
    };
    for (const std::string& text : cases) {
        CAPTURE(text.substr(0, 80));
        const auto parsed = parse_envelope(text);
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().code() == ErrorCode::kInput);
    }
}
