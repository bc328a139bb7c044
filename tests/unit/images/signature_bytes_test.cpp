// SPDX-License-Identifier: Apache-2.0
#include "signature_sample.hpp"

#include <array>

#include <fcntl.h>
#include <unistd.h>

using namespace sample;

namespace {

/// What becomes of an image whose byte was changed. Which of two refusals it is may depend on the
/// byte: a size that grows leaves its place, one that shrinks only what was signed.
enum Verifies : unsigned {
    kUncovered = 1,  ///< verified
    kCovered = 2,    ///< not verified: exit code 4
    kStructural = 4, ///< no image any more: exit code 3
    kRefused = kCovered | kStructural,
};

struct Field {
    const char* name;
    std::size_t at;
    std::size_t size;
    unsigned header = 0;    ///< verdicts that may be
    unsigned object = 0;    ///< of a signed object's descriptor
    unsigned signature = 0; ///< of the signature's
};

constexpr Field kHeader[] = {
    {"launch script", 0, 32, kCovered},
    {"magic", 32, 10, kStructural},
    {"version", 42, 3, kStructural},
    {"architecture", 45, 3, kStructural},
    {"id", 48, 16, kCovered},
    {"created", 64, 8, kUncovered},
    {"modified", 72, 8, kUncovered},
    {"free", 80, 8, kStructural},
    {"total", 88, 8, kStructural},
    {"table offset", 96, 8, kStructural},
    {"table size", 104, 8, kStructural},
    {"data offset", 112, 8, kStructural},
    {"data size", 120, 8, kUncovered | kStructural}, // larger than the file, or smaller
};

constexpr Field kDescriptor[] = {
    {"type", 0, 4, 0, kRefused, kRefused},
    {"used", 4, 1, 0, kUncovered | kStructural, kUncovered | kStructural},
    {"id", 5, 4, 0, kStructural, kStructural},
    {"group", 9, 3, 0, kCovered, kUncovered},
    {"group and its mark", 12, 1, 0, kRefused, kUncovered | kStructural},
    {"link", 13, 4, 0, kCovered, kCovered},
    {"offset", 17, 8, 0, kRefused, kRefused},
    {"size", 25, 8, 0, kRefused, kRefused},
    {"size with padding", 33, 8, 0, kUncovered, kUncovered},
    {"created", 41, 8, 0, kCovered, kUncovered},
    {"modified", 49, 8, 0, kUncovered, kUncovered},
    {"uid", 57, 8, 0, kCovered, kUncovered},
    {"gid", 65, 8, 0, kCovered, kUncovered},
    {"name", 73, 128, 0, kRefused, kUncovered | kStructural}, // control characters are no name
    {"hash type, or kind of partition", 201, 4, 0, kRefused, kCovered},
    {"extra", 205, 380, 0, kRefused, kUncovered},
};

/// A signed image whose bytes are changed one at a time, in the file itself.
class Bytes {
public:
    Bytes() : whole_(content(image_.path)) {
        file_ = UniqueFd(::open(image_.path.c_str(), O_RDWR | O_CLOEXEC));
        REQUIRE(file_.valid());
    }
    /// What verification says of the image with this byte changed, and why.
    std::pair<Verifies, std::string> with(std::size_t at, unsigned bits) {
        put(at, static_cast<char>(static_cast<unsigned char>(whole_[at]) ^ bits));
        const auto verification = verify_image(image_.path, {image_.open});
        put(at, whole_[at]);
        if (!verification) {
            CHECK(verification.error().code() == ErrorCode::kInput);
            return {kStructural, words(verification.error())};
        }
        return {verification->is_verified ? kUncovered : kCovered, verification->because};
    }
    [[nodiscard]] const std::string& whole() const {
        return whole_;
    }

private:
    void put(std::size_t at, char byte) {
        REQUIRE(::pwrite(file_.get(), &byte, 1, static_cast<off_t>(at)) == 1);
    }

    Signed image_;
    std::string whole_;
    UniqueFd file_;
};

/// Changes each byte of a field; the reason of a covered one must name `what`.
void check_field(Bytes& bytes,
                 const Field& field,
                 std::size_t at,
                 unsigned allowed,
                 std::initializer_list<const char*> what) {
    for (std::size_t i = 0; i < field.size; ++i) {
        for (const unsigned bits : {1U, 0x40U}) {
            const auto [verdict, because] = bytes.with(at + field.at + i, bits);
            CAPTURE(field.name);
            CAPTURE(i);
            CAPTURE(bits);
            CAPTURE(because);
            CHECK((verdict & allowed) != 0);
            if (verdict == kCovered && what.size() != 0) {
                CHECK(std::any_of(what.begin(), what.end(), [&](const char* word) {
                    return because.find(word) != std::string::npos;
                }));
            }
        }
    }
}

void check_free(Bytes& bytes, std::size_t from, std::size_t to, std::size_t step) {
    for (std::size_t at = from; at < to; at += step) {
        const auto [verdict, because] = bytes.with(at, 1);
        CAPTURE(at);
        CAPTURE(because);
        CHECK(verdict == kUncovered);
    }
}

} // namespace

TEST_CASE("every byte of header and descriptors is covered, structural or free") {
    Bytes bytes;
    for (const Field& field : kHeader) {
        check_field(bytes, field, 0, field.header, {"the launch script or the id"});
    }
    for (const Field& field : kDescriptor) {
        check_field(bytes,
                    field,
                    entry(1),
                    field.object,
                    {"object 1 ", "object 1 (", "objects 1", "group"});
        check_field(bytes, field, entry(2), field.object, {"object 2 ", "objects 2", "group"});
        check_field(
            bytes, field, entry(3), field.signature, {"signature 3", "object 3", "group 1"});
    }
}

TEST_CASE("what lies between is free, what is signed is not") {
    Bytes bytes;
    check_free(bytes, 128, 4096, 61);
    check_free(bytes, entry(4) + 5, entry(5), 97);         // of an unused entry, but its mark
    check_free(bytes, entry(48) + 5, 4096 + 48 * 585, 97); // the last one
    check_free(bytes, 32176 + 19, 32768, 53);              // the gap before the partition
    for (std::size_t at = 32176; at < 32176 + 19; ++at) {
        CHECK(bytes.with(at, 1) ==
              std::pair<Verifies, std::string>(
                  kCovered, "signature 3: the content of object 1 was changed after signing"));
    }
    for (std::size_t at = 32768; at < 32768 + 5000; at += at % 500 == 0 ? 499 : 1) {
        CHECK(bytes.with(at, 0x80) ==
              std::pair<Verifies, std::string>(
                  kCovered, "signature 3: the content of object 2 was changed after signing"));
        at += 250;
    }
    CHECK(bytes.with(32768 + 4999, 1).first == kCovered);
    // The signature's own bytes, up to the unused bits of its base64. The name of the key is a hint
    // that may be missing or wrong, so what its member is called and says is free.
    constexpr std::size_t kName = 5;                 // keyid
    constexpr std::size_t kValue = kName + 3;        // ":"
    constexpr std::size_t kBehind = kValue + 7 + 43; // SHA256: and base64
    const std::string whole = bytes.whole();
    const std::size_t hint = whole.find("keyid");
    for (std::size_t at = 37768; at + 12 < whole.size(); at += 11) {
        CAPTURE(at);
        const bool is_value = at >= hint + kValue && at < hint + kBehind;
        if (is_value && whole[at] == 'X') {
            continue; // becomes a backslash, which may or may not begin an escape
        }
        const bool is_hint = is_value || (at >= hint && at < hint + kName);
        CHECK(bytes.with(at, 4).first == (is_hint ? Verifies::kUncovered : Verifies::kCovered));
    }
}
