// SPDX-License-Identifier: Apache-2.0
#include "signature_sample.hpp"

using namespace sample;

namespace {

enum class Verdict { kFree, kCovered, kStructural };

/// One flipped bit (or a field set) in an image with objects 1 and 2 and the signature 3.
struct Flip {
    const char* name;
    Verdict verdict;
    void (*apply)(std::string& bytes);
    const char* because = "";
};

void flip(std::string& bytes, std::size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
}

const Flip kFlips[] = {
    {"launch script", Verdict::kCovered, [](auto& b) { flip(b, 2); }, "launch script or the id"},
    {"launch script's end", Verdict::kCovered, [](auto& b) { flip(b, 31); }, "launch script or"},
    {"magic", Verdict::kStructural, [](auto& b) { flip(b, 32); }, "no SIF image"},
    {"version", Verdict::kStructural, [](auto& b) { flip(b, 42); }, "unknown version"},
    {"architecture", Verdict::kStructural, [](auto& b) { flip(b, 46); }, "architecture"},
    {"id", Verdict::kCovered, [](auto& b) { flip(b, 48); }, "launch script or the id"},
    {"created", Verdict::kFree, [](auto& b) { flip(b, 64); }},
    {"modified", Verdict::kFree, [](auto& b) { flip(b, 72); }},
    {"free", Verdict::kStructural, [](auto& b) { flip(b, kFree); }, "free descriptors"},
    {"total", Verdict::kStructural, [](auto& b) { flip(b, kTotal); }, "descriptors in"},
    {"table offset",
     Verdict::kStructural,
     [](auto& b) { flip(b, kTableOffset); },
     "data area overlaps"},
    {"table size", Verdict::kStructural, [](auto& b) { flip(b, kTableSize); }, "would take"},
    {"data offset", Verdict::kStructural, [](auto& b) { flip(b, kDataOffset); }, "data area ends"},
    {"data size", Verdict::kFree, [](auto& b) { put(b, kDataSize, 5); }},
    {"bytes before the table", Verdict::kFree, [](auto& b) { flip(b, 128); }},
    {"last byte before the table", Verdict::kFree, [](auto& b) { flip(b, 4095); }},
    {"unused descriptor", Verdict::kFree, [](auto& b) { flip(b, entry(7) + kName); }},
    {"gap before the partition", Verdict::kFree, [](auto& b) { flip(b, 32200); }},
    {"type", Verdict::kCovered, [](auto& b) { flip(b, entry(1)); }, "descriptor of object 1"},
    {"used", Verdict::kStructural, [](auto& b) { flip(b, entry(1) + kUsed); }, "free descriptors"},
    {"used 2", Verdict::kFree, [](auto& b) { b[entry(1) + kUsed] = 2; }},
    {"id of an object", Verdict::kStructural, [](auto& b) { flip(b, entry(1) + kId); }, "id 0"},
    {"group",
     Verdict::kCovered,
     [](auto& b) { put(b, entry(1) + kGroup, 0xF0000002, 4); },
     "group 2 is not signed"},
    {"group of the last",
     Verdict::kCovered,
     [](auto& b) { put(b, entry(2) + kGroup, 0xF0000002, 4); },
     "object 2 was signed, but is not there"},
    {"no group",
     Verdict::kCovered,
     [](auto& b) { put(b, entry(1) + kGroup, 0xF0000000, 4); },
     "object 1 belongs to no group"},
    {"group's mark",
     Verdict::kStructural,
     [](auto& b) { put(b, entry(1) + kGroup, 0x70000001, 4); },
     "lacks its mark"},
    {"link",
     Verdict::kCovered,
     [](auto& b) { flip(b, entry(1) + kLink); },
     "descriptor of object 1"},
    {"offset",
     Verdict::kCovered,
     [](auto& b) { put(b, entry(1) + kOffset, 32177); },
     "content of object 1"},
    {"size",
     Verdict::kCovered,
     [](auto& b) { put(b, entry(1) + kSize, 18); },
     "descriptor of object 1"},
    {"padding size", Verdict::kFree, [](auto& b) { flip(b, entry(1) + kPadded); }},
    {"object created",
     Verdict::kCovered,
     [](auto& b) { flip(b, entry(1) + 41); },
     "descriptor of object 1"},
    {"object modified", Verdict::kFree, [](auto& b) { flip(b, entry(1) + 49); }},
    {"uid", Verdict::kCovered, [](auto& b) { flip(b, entry(1) + 57); }, "descriptor of object 1"},
    {"gid", Verdict::kCovered, [](auto& b) { flip(b, entry(1) + 65); }, "descriptor of object 1"},
    {"name",
     Verdict::kCovered,
     [](auto& b) { flip(b, entry(2) + kName); },
     "descriptor of object 2"},
    {"behind the name",
     Verdict::kStructural,
     [](auto& b) { flip(b, entry(2) + kName + 100); },
     "control"},
    {"file system type",
     Verdict::kCovered,
     [](auto& b) { flip(b, entry(2) + kExtra); },
     "descriptor of object 2"},
    {"architecture of the partition",
     Verdict::kStructural,
     [](auto& b) { flip(b, entry(2) + kExtra + 9); },
     "architecture"},
    {"both architectures",
     Verdict::kCovered,
     [](auto& b) {
         flip(b, entry(2) + kExtra + 9);
         flip(b, 46);
     },
     "descriptor of object 2"},
    {"extra's end",
     Verdict::kCovered,
     [](auto& b) { flip(b, entry(2) + 584); },
     "descriptor of object 2"},
    {"first byte of an object",
     Verdict::kCovered,
     [](auto& b) { flip(b, 32176); },
     "content of object 1"},
    {"last byte of an object",
     Verdict::kCovered,
     [](auto& b) { flip(b, 32768 + 4999); },
     "content of object 2"},
    {"signature's type",
     Verdict::kCovered,
     [](auto& b) { put(b, entry(3), 0x4007, 4); },
     "object 3 belongs to no group"},
    {"signature's group", Verdict::kFree, [](auto& b) { flip(b, entry(3) + kGroup); }},
    {"signature's link",
     Verdict::kCovered,
     [](auto& b) { put(b, entry(3) + kLink, 0xF0000002, 4); },
     "group 2 has no objects"},
    {"signature's link to an object",
     Verdict::kCovered,
     [](auto& b) { put(b, entry(3) + kLink, 2, 4); },
     "it is linked to object 2, not to a group"},
    {"signature's created", Verdict::kFree, [](auto& b) { flip(b, entry(3) + 41); }},
    {"signature's uid", Verdict::kFree, [](auto& b) { flip(b, entry(3) + 57); }},
    {"signature's name", Verdict::kFree, [](auto& b) { b[entry(3) + kName] = 'x'; }},
    {"signature's hash type",
     Verdict::kCovered,
     [](auto& b) { b[entry(3) + kExtra] = 2; },
     "another hash"},
    {"signature's entity", Verdict::kFree, [](auto& b) { flip(b, entry(3) + kExtra + 30); }},
    {"signature cut",
     Verdict::kCovered,
     [](auto& b) { put(b, entry(3) + kSize, 100); },
     "no DSSE envelope"},
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
        CHECK(verification.has_value() == (one.verdict != Verdict::kStructural));
        std::string said;
        if (verification) {
            said = verification->because;
            CHECK(verification->is_verified == (one.verdict == Verdict::kFree));
            CHECK(verification->is_verified == said.empty());
        } else {
            said = words(verification.error());
            CHECK(verification.error().code() == ErrorCode::kInput);
        }
        CAPTURE(said);
        CHECK(said.find(one.because) != std::string::npos);
    }
}
