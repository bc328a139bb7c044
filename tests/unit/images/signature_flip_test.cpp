// SPDX-License-Identifier: Apache-2.0
#include "signature_sample.hpp"

using namespace sample;

namespace {

enum class ByteKind { kFree, kCovered, kStructural };

/// One flipped bit (or a field set) in an image with objects 1 and 2 and the signature 3.
struct Flip {
    const char* name;
    ByteKind verdict;
    void (*apply)(std::string& bytes);
    const char* because = "";
};

void flip_byte(std::string& bytes, std::size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
}

const Flip kFlips[] = {
    {"launch script",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, 2); },
     "launch script or the id"},
    {"launch script's end",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, 31); },
     "launch script or"},
    {"magic", ByteKind::kStructural, [](auto& b) { flip_byte(b, 32); }, "not a SIF image"},
    {"version", ByteKind::kStructural, [](auto& b) { flip_byte(b, 42); }, "unknown version"},
    {"architecture", ByteKind::kStructural, [](auto& b) { flip_byte(b, 46); }, "architecture"},
    {"id", ByteKind::kCovered, [](auto& b) { flip_byte(b, 48); }, "launch script or the id"},
    {"created", ByteKind::kFree, [](auto& b) { flip_byte(b, 64); }},
    {"modified", ByteKind::kFree, [](auto& b) { flip_byte(b, 72); }},
    {"free", ByteKind::kStructural, [](auto& b) { flip_byte(b, kFree); }, "free descriptors"},
    {"total", ByteKind::kStructural, [](auto& b) { flip_byte(b, kTotal); }, "descriptors in"},
    {"table offset",
     ByteKind::kStructural,
     [](auto& b) { flip_byte(b, kTableOffset); },
     "data area overlaps"},
    {"table size", ByteKind::kStructural, [](auto& b) { flip_byte(b, kTableSize); }, "would need"},
    {"data offset",
     ByteKind::kStructural,
     [](auto& b) { flip_byte(b, kDataOffset); },
     "data area ends"},
    {"data size", ByteKind::kFree, [](auto& b) { put(b, kDataSize, 5); }},
    {"bytes before the table", ByteKind::kFree, [](auto& b) { flip_byte(b, 128); }},
    {"last byte before the table", ByteKind::kFree, [](auto& b) { flip_byte(b, 4095); }},
    {"unused descriptor", ByteKind::kFree, [](auto& b) { flip_byte(b, entry(7) + kName); }},
    {"gap before the partition", ByteKind::kFree, [](auto& b) { flip_byte(b, 32200); }},
    {"type", ByteKind::kCovered, [](auto& b) { flip_byte(b, entry(1)); }, "descriptor of object 1"},
    {"used",
     ByteKind::kStructural,
     [](auto& b) { flip_byte(b, entry(1) + kUsed); },
     "free descriptors"},
    {"used 2", ByteKind::kFree, [](auto& b) { b[entry(1) + kUsed] = 2; }},
    {"id of an object",
     ByteKind::kStructural,
     [](auto& b) { flip_byte(b, entry(1) + kId); },
     "id 0"},
    {"group",
     ByteKind::kCovered,
     [](auto& b) { put(b, entry(1) + kGroup, 0xF0000002, 4); },
     "group 2 is not signed"},
    {"group of the last",
     ByteKind::kCovered,
     [](auto& b) { put(b, entry(2) + kGroup, 0xF0000002, 4); },
     "object 2 was signed, but is not there"},
    {"no group",
     ByteKind::kCovered,
     [](auto& b) { put(b, entry(1) + kGroup, 0xF0000000, 4); },
     "object 1 belongs to no group"},
    {"group's mark",
     ByteKind::kStructural,
     [](auto& b) { put(b, entry(1) + kGroup, 0x70000001, 4); },
     "lacks its mark"},
    {"link",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, entry(1) + kLink); },
     "descriptor of object 1"},
    {"offset",
     ByteKind::kCovered,
     [](auto& b) { put(b, entry(1) + kOffset, 32177); },
     "content of object 1"},
    {"size",
     ByteKind::kCovered,
     [](auto& b) { put(b, entry(1) + kSize, 18); },
     "descriptor of object 1"},
    {"padding size", ByteKind::kFree, [](auto& b) { flip_byte(b, entry(1) + kPadded); }},
    {"object created",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, entry(1) + 41); },
     "descriptor of object 1"},
    {"object modified", ByteKind::kFree, [](auto& b) { flip_byte(b, entry(1) + 49); }},
    {"uid",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, entry(1) + 57); },
     "descriptor of object 1"},
    {"gid",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, entry(1) + 65); },
     "descriptor of object 1"},
    {"name",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, entry(2) + kName); },
     "descriptor of object 2"},
    {"behind the name",
     ByteKind::kStructural,
     [](auto& b) { flip_byte(b, entry(2) + kName + 100); },
     "control"},
    {"file system type",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, entry(2) + kExtra); },
     "descriptor of object 2"},
    {"architecture of the partition",
     ByteKind::kStructural,
     [](auto& b) { flip_byte(b, entry(2) + kExtra + 9); },
     "architecture"},
    {"both architectures",
     ByteKind::kCovered,
     [](auto& b) {
         flip_byte(b, entry(2) + kExtra + 9);
         flip_byte(b, 46);
     },
     "descriptor of object 2"},
    {"extra's end",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, entry(2) + 584); },
     "descriptor of object 2"},
    {"first byte of an object",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, 32176); },
     "content of object 1"},
    {"last byte of an object",
     ByteKind::kCovered,
     [](auto& b) { flip_byte(b, 32768 + 4999); },
     "content of object 2"},
    {"signature's type",
     ByteKind::kCovered,
     [](auto& b) { put(b, entry(3), 0x4007, 4); },
     "object 3 belongs to no group"},
    {"signature's group", ByteKind::kFree, [](auto& b) { flip_byte(b, entry(3) + kGroup); }},
    {"signature's link",
     ByteKind::kCovered,
     [](auto& b) { put(b, entry(3) + kLink, 0xF0000002, 4); },
     "group 2 has no objects"},
    {"signature's link to an object",
     ByteKind::kCovered,
     [](auto& b) { put(b, entry(3) + kLink, 2, 4); },
     "it is linked to object 2, not to a group"},
    {"signature's created", ByteKind::kFree, [](auto& b) { flip_byte(b, entry(3) + 41); }},
    {"signature's uid", ByteKind::kFree, [](auto& b) { flip_byte(b, entry(3) + 57); }},
    {"signature's name", ByteKind::kFree, [](auto& b) { b[entry(3) + kName] = 'x'; }},
    {"signature's hash type",
     ByteKind::kCovered,
     [](auto& b) { b[entry(3) + kExtra] = 2; },
     "another hash"},
    {"signature's entity", ByteKind::kFree, [](auto& b) { flip_byte(b, entry(3) + kExtra + 30); }},
    {"signature cut",
     ByteKind::kCovered,
     [](auto& b) { put(b, entry(3) + kSize, 100); },
     "not a DSSE envelope"},
};

} // namespace

TEST_CASE("each flipped bit is covered, structural or free, as the table says") {
    const Signed signed_image;
    const std::string whole = content(signed_image.path);
    for (const Flip& one : kFlips) {
        CAPTURE(one.name);
        std::string bytes = whole;
        one.apply(bytes);
        REQUIRE(bytes != whole);
        REQUIRE(write_file(signed_image.path, bytes).has_value());
        const auto verification = verify_image(signed_image.path, {signed_image.open});
        CHECK(verification.has_value() == (one.verdict != ByteKind::kStructural));
        std::string said;
        if (verification) {
            said = verification->because;
            CHECK(verification->is_verified == (one.verdict == ByteKind::kFree));
            CHECK(verification->is_verified == said.empty());
        } else {
            said = words(verification.error());
            CHECK(verification.error().code() == ErrorCode::kInput);
        }
        CAPTURE(said);
        CHECK(said.find(one.because) != std::string::npos);
    }
}
