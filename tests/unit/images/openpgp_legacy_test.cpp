// SPDX-License-Identifier: Apache-2.0
#include "images/signatures/legacy.hpp"
#include "support/file.hpp"
#include "tests/unit/images/openpgp_sample.hpp"
#include "tests/unit/images/sif_sample.hpp"

#include <fstream>

using namespace cybele;
using namespace cybele::images;

namespace {

constexpr std::int64_t kLegacyNow = 1795300000;
const std::string kLegacySigner = "12045C8C0B1004D058DE4BEDA20C27EE7FF7BA84";

openpgp::Keyring signers() {
    return keyring_of(*read_file(sample::data("pgp-public.bin")));
}

std::vector<SignatureState> judged(const std::filesystem::path& path,
                                   const openpgp::Keyring& keyring) {
    const auto image = Image::open(path);
    REQUIRE_MESSAGE(image, image.error().message());
    std::vector<SignatureState> states;
    for (const Descriptor& signature : image->descriptors()) {
        const auto text = image->read_object(signature, std::size_t{1} << 20U);
        REQUIRE(text);
        if (signature.type == DataType::kSignature && is_legacy_signature(*text)) {
            SignatureState& state = states.emplace_back();
            state.object = signature.id;
            state.group = signature.is_group_link() ? signature.link & ~kGroupMask : 0;
            state.kind = SignatureKind::kLegacy;
            REQUIRE(judge_legacy(*image, signature, *text, {keyring, kLegacyNow}, state));
        }
    }
    return states;
}

struct Case {
    std::string name;
    std::vector<std::vector<std::uint32_t>> covers; ///< of each signature
};
const Case kCases[] = {
    {"one-group-signed-legacy.sif", {{2}}},
    {"one-group-signed-legacy-all.sif", {{1}, {2}}},
    {"one-group-signed-legacy-group.sif", {{1, 2}}},
    {"two-groups-signed-legacy.sif", {{2}}},
    {"two-groups-signed-legacy-all.sif", {{1}, {2}}},
    {"two-groups-signed-legacy-group.sif", {{1, 2}}},
};

/// Flips a bit of the copy of an image.
void flip_in_file(const std::filesystem::path& path, std::uint64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 1));
}

} // namespace

TEST_CASE("the six legacy images of Apptainer are judged as it does") {
    const openpgp::Keyring keyring = signers();
    for (const Case& known : kCases) {
        CAPTURE(known.name);
        std::vector<std::vector<std::uint32_t>> covers;
        for (const SignatureState& state : judged(sample::data(known.name), keyring)) {
            CHECK_MESSAGE(state.is_valid, state.because);
            CHECK(state.key == kLegacySigner);
            CHECK(state.user_id == "Unit Test <unit@test.com>");
            CHECK(state.kind == SignatureKind::kLegacy);
            CHECK(!state.warnings.empty());
            covers.push_back(state.covers);
        }
        CHECK(covers == known.covers);
    }
}

TEST_CASE("an unknown signer of a legacy signature is named") {
    const auto states = judged(sample::data("one-group-signed-legacy.sif"), {});
    REQUIRE(states.size() == 1);
    CHECK(!states[0].is_valid);
    CHECK(states[0].because == "it was made with a key that is not known: A20C27EE7FF7BA84");
}

TEST_CASE("a changed byte of an object breaks its legacy signature") {
    const openpgp::Keyring keyring = signers();
    auto folder = TempDirectory::make("/var/tmp", "cybele-legacy-");
    REQUIRE(folder);
    const auto path = folder->path() / "image.sif";
    std::filesystem::copy_file(sample::data("two-groups-signed-legacy-group.sif"), path);
    const auto image = Image::open(path);
    REQUIRE(image);
    const Descriptor second = image->descriptors()[1];
    flip_in_file(path, second.offset + second.size - 1);
    const auto states = judged(path, keyring);
    REQUIRE(states.size() == 1);
    CHECK(states[0].because == "an object of group 1 was changed");
}

TEST_CASE("a legacy signature whose descriptor names another signer does not count") {
    const openpgp::Keyring keyring = signers();
    auto folder = TempDirectory::make("/var/tmp", "cybele-legacy-");
    REQUIRE(folder);
    const auto path = folder->path() / "image.sif";
    std::filesystem::copy_file(sample::data("one-group-signed-legacy.sif"), path);
    const auto image = Image::open(path);
    REQUIRE(image);
    const auto& signature = image->descriptors().back();
    // The descriptor's `extra` is its last 384 bytes of 585; the fingerprint stands behind 4 bytes.
    flip_in_file(path, image->header().descriptors_offset + (signature.id - 1) * 585ULL + 201 + 4);
    const auto states = judged(path, keyring);
    REQUIRE(states.size() == 1);
    CHECK(states[0].because.starts_with("its descriptor names another signer: 13045C8C"));
}

TEST_CASE("a legacy signature whose descriptor names a hash that is not known does not count") {
    const openpgp::Keyring keyring = signers();
    auto folder = TempDirectory::make("/var/tmp", "cybele-legacy-");
    REQUIRE(folder);
    for (unsigned byte = 1; byte < 4; ++byte) { // behind the number of the hash
        CAPTURE(byte);
        const auto path = folder->path() / ("image" + std::to_string(byte) + ".sif");
        std::filesystem::copy_file(sample::data("one-group-signed-legacy.sif"), path);
        const auto image = Image::open(path);
        REQUIRE(image);
        const std::uint64_t entry = (image->descriptors().back().id - 1) * 585ULL;
        flip_in_file(path, image->header().descriptors_offset + entry + 201 + byte);
        const auto states = judged(path, keyring);
        REQUIRE(states.size() == 1);
        CHECK_FALSE(states[0].is_valid);
        CHECK(states[0].because.starts_with("its descriptor names another hash than"));
    }
}
