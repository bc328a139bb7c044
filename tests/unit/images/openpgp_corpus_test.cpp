// SPDX-License-Identifier: Apache-2.0
#include "images/openpgp/armor.hpp"
#include "images/openpgp/packet.hpp"
#include "support/file.hpp"
#include "tests/fuzz/openpgp_fuzz.hpp"
#include "tests/unit/images/openpgp_sample.hpp"

#include <rapidcheck.h>

using namespace cybele;
using namespace cybele::images::openpgp;

TEST_CASE("the corpus of the fuzzer is taken without a crash, whole and cut at every byte") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(CYBELE_TESTS_DIR) / "fuzz/corpus/openpgp")) {
        CAPTURE(entry.path().native());
        const std::string bytes = *read_file(entry.path());
        const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
        for (std::size_t size = 0; size <= bytes.size(); size += size < 64 ? 1 : 61) {
            fuzz_openpgp::one(data, size);
        }
        fuzz_openpgp::one(data, bytes.size());
        ++files;
    }
    CHECK(files > 20);
}

TEST_CASE("a packet is read as it was written") {
    rc::check([](const std::string& body) {
        std::string bytes;
        append_packet(bytes, Tag::kUserId, body);
        bytes += "more";
        std::string_view rest = bytes;
        const auto packet = take_packet(rest);
        RC_ASSERT(packet.has_value());
        RC_ASSERT(packet->body == body);
        RC_ASSERT(rest == "more");
    });
    for (const std::size_t size : {191U, 192U, 8383U, 8384U, 70000U}) {
        std::string bytes;
        append_packet(bytes, Tag::kUserId, std::string(size, 'x'));
        std::string_view rest = bytes;
        const auto packet = take_packet(rest);
        REQUIRE(packet);
        CHECK(packet->body.size() == size);
    }
}

TEST_CASE("armor is read with and without padding, checksum and a last line's end") {
    for (std::size_t size = 1; size <= 100; ++size) {
        const std::string bytes(size, '\xa5');
        for (const Checksum checksum : {Checksum::kNone, Checksum::kCrc24}) {
            for (const char* end : {"", "\n", "\r\n"}) {
                const std::string text = write_armor("SIGNATURE", bytes, checksum) + end;
                std::string_view rest = text;
                const auto block = take_armor(rest);
                REQUIRE(block);
                CHECK(block->bytes == bytes);
                CHECK(!has_armor(rest));
            }
        }
    }
}

TEST_CASE("what is no key or message is refused with a sentence") {
    using namespace std::string_literals;
    struct Row {
        std::string bytes;
        std::string because;
    };
    const Row rows[] = {
        {"hello", "it has neither OpenPGP packets nor a block"},
        {"\xc6\x05\x06\0\0\0\1"s, "it has no key of version 4: a key of version 6"},
        {"\x98\x05\x03\0\0\0\1"s, "it has no key of version 4: a key of version 3"},
        {"\xc2\x01\x04"s, "it is a signature"},
        {"\xc6\xff\x7f\xff\xff\xff"s, "it claims 2147483647 bytes"},
        {"\xc6\xe1"s, "it comes in pieces"},
        {"\xc6\x20\x04"s, "it is cut short"},
        {"\xc1\x01\x03"s, "it has a packet of kind 1"},
        {"-----BEGIN PGP MESSAGE-----\n\n\n-----END PGP MESSAGE-----\n", "it is a PGP MESSAGE"},
        {"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nx!\n-----END PGP PUBLIC KEY BLOCK-----\n",
         "its lines are not base64"},
    };
    for (const Row& row : rows) {
        const auto ring = Keyring::parse(row.bytes, "file");
        REQUIRE(!ring);
        CHECK(ring.error().code() == ErrorCode::kInput);
        CHECK(ring.error().message() == "file is not an OpenPGP keyring");
        CHECK_MESSAGE(ring.error().faults().front().because.find(row.because) != std::string::npos,
                      ring.error().faults().front().because);
    }
    for (const char* const text :
         {"",
          "text",
          "-----BEGIN PGP SIGNED MESSAGE-----\n",
          "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\ntext\n",
          "-----BEGIN PGP SIGNED MESSAGE-----\nComment: not signed\n\ntext\n-----BEGIN PGP "
          "SIGNATURE-----\n"
          "\nwsA=\n-----END PGP SIGNATURE-----\n",
          "-----BEGIN PGP SIGNED MESSAGE-----\n\n-text\n-----BEGIN PGP SIGNATURE-----\n\nwsA=\n"
          "-----END PGP SIGNATURE-----\n",
          "-----BEGIN PGP SIGNED MESSAGE-----\n\ntext\n-----BEGIN PGP SIGNATURE-----\n\n\n"
          "-----END PGP SIGNATURE-----\nmore"}) {
        CAPTURE(text);
        const auto judged = verify_clear_signed(text, {}, 0);
        REQUIRE(!judged);
        CHECK(judged.error().code() == ErrorCode::kInput);
        CHECK(!judged.error().faults().front().help.empty());
    }
}

TEST_CASE("a key id is found however it is written") {
    CHECK(normal_key_id("0xa20c27ee7ff7ba84") == "A20C27EE7FF7BA84");
    CHECK(normal_key_id("1204 5C8C 0B10 04D0 58DE  4BED A20C 27EE 7FF7 BA84") ==
          "12045C8C0B1004D058DE4BEDA20C27EE7FF7BA84");
    CHECK(normal_key_id("7FF7BA84").empty());
    CHECK(normal_key_id("somebody").empty());
}
