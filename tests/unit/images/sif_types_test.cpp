// SPDX-License-Identifier: Apache-2.0
#include "images/sif/format.hpp"
#include "sif_sample.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"

#include <vector>

using namespace sample;

namespace {

Descriptor with_extra(DataType type, const std::vector<std::uint8_t>& extra) {
    Descriptor descriptor;
    descriptor.type = type;
    std::copy(extra.begin(), extra.end(), descriptor.extra.begin());
    return descriptor;
}

constexpr Fingerprint kSifSigner = {0x43, 0x3f, 0xe9, 0x84, 0x15, 0x52, 0x06, 0xbd, 0x96, 0x27,
                                    0x25, 0xe2, 0x0e, 0x87, 0x13, 0x47, 0x2a, 0x87, 0x99, 0x43};

} // namespace

TEST_CASE("each type's extra fields are written and read back") {
    const auto partition = with_extra(
        DataType::kPartition, partition_extra(FsType::kGocryptfs, PartType::kOverlay, "riscv64"));
    CHECK(partition.fs_type() == FsType::kGocryptfs);
    CHECK(partition.part_type() == PartType::kOverlay);
    CHECK(partition.arch() == "riscv64");
    const auto pgp =
        with_extra(DataType::kSignature, signature_extra(HashType::kSha512, kSifSigner));
    CHECK(pgp.hash_type() == HashType::kSha512);
    REQUIRE(pgp.fingerprint().has_value());
    CHECK(*pgp.fingerprint() == kSifSigner);
    const auto dsse = with_extra(DataType::kSignature, signature_extra(HashType::kSha256, {}));
    CHECK(dsse.hash_type() == HashType::kSha256);
    CHECK_FALSE(dsse.fingerprint().has_value());
    const auto message =
        with_extra(DataType::kCryptoMessage, {2, 0, 0, 0, 0, 2, 0, 0}); // little-endian
    CHECK(message.message_format() == MessageFormat::kPem);
    CHECK(message.message_type() == MessageType::kRsaOaep);
    CHECK(with_extra(DataType::kSbom, sbom_extra(SbomFormat::kSyftJson)).sbom() ==
          SbomFormat::kSyftJson);
    const Digest digest = sha256("{}");
    CHECK(with_extra(DataType::kOciBlob, oci_digest_extra(digest)).oci_digest() ==
          "sha256:" + hex(digest));
}

TEST_CASE("an object of another type has none of them") {
    Descriptor generic;
    generic.type = DataType::kGeneric;
    generic.extra.fill(1);
    CHECK(generic.fs_type() == FsType::kNone);
    CHECK(generic.part_type() == PartType::kNone);
    CHECK(generic.arch().empty());
    CHECK(generic.hash_type() == HashType::kNone);
    CHECK_FALSE(generic.fingerprint().has_value());
    CHECK(generic.message_format() == MessageFormat::kNone);
    CHECK(generic.sbom() == SbomFormat::kNone);
    CHECK(generic.oci_digest().empty());
    generic.type = DataType::kOciBlob; // 384 bytes without an end
    CHECK(generic.oci_digest().empty());
}

TEST_CASE("a link is to an object, to a group, or to nothing") {
    const struct {
        std::uint32_t link;
        std::optional<std::uint32_t> object;
        std::optional<std::uint32_t> group;
    } links[] = {
        {0, {}, {}},
        {7, 7, {}},
        {0xF0000000U, {}, 0},
        {0xF0000002U, {}, 2},
        {0xE0000002U, 0xE0000002U, {}}, // one mark is missing: no group
    };
    for (const auto& link : links) {
        CAPTURE(link.link);
        Descriptor descriptor;
        descriptor.link = link.link;
        CHECK(descriptor.linked_object() == link.object);
        CHECK(descriptor.linked_group() == link.group);
    }
}

TEST_CASE("numbers have Apptainer's words, unknown ones too") {
    CHECK(data_type_name(DataType::kCryptoMessage) == "Cryptographic Message");
    CHECK(data_type_name(static_cast<DataType>(0x4fff)) == "Unknown");
    CHECK(fs_type_name(FsType::kEncryptedSquashfs) == "Encrypted squashfs");
    CHECK(fs_type_name(static_cast<FsType>(-1)) == "Unknown");
    CHECK(part_type_name(PartType::kPrimary) == "*System");
    CHECK(hash_type_name(HashType::kBlake2b) == "BLAKE2b-256");
    CHECK(message_format_name(MessageFormat::kOpenPgp) == "OpenPGP");
    CHECK(message_type_name(MessageType::kClearSignature) == "Clear Signature");
    for (std::int32_t number = 1; number <= 8; ++number) {
        const auto format = static_cast<SbomFormat>(number);
        CHECK(sbom_format_name(format) != "unknown");
        CHECK(sbom_format(sbom_format_name(format)) == format);
    }
    CHECK(sbom_format_name(static_cast<SbomFormat>(9)) == "unknown");
    CHECK(sbom_format("xml") == SbomFormat::kNone);
    CHECK(architecture_name(architecture_code("loong64")) == "loong64");
    CHECK(architecture_code("vax") == "00");
    CHECK(architecture_name("99") == "unknown");
    CHECK(image_id_text({0x3f,
                         0xa8,
                         0x02,
                         0xcc,
                         0x35,
                         0x8b,
                         0x45,
                         0xe3,
                         0xbc,
                         0xc0,
                         0x69,
                         0xdc,
                         0x7a,
                         0x45,
                         0xf9,
                         0xf8}) == "3fa802cc-358b-45e3-bcc0-69dc7a45f9f8");
}

TEST_CASE("an object of an unknown type is read, kept by a change, and written back") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    wanted.objects[0].type = static_cast<DataType>(0x4abc);
    wanted.objects[0].extra.assign(384, 0xee);
    write(path, wanted);
    const std::string entry_before = content(path).substr(entry(1), 585);
    REQUIRE(add_objects(path, {definition()}, 1800000000).has_value());
    CHECK(content(path).substr(entry(1), 585) == entry_before);
    const auto opened = Image::open(path);
    REQUIRE(opened.has_value());
    CHECK(opened->descriptors()[0].type == static_cast<DataType>(0x4abc));
}

TEST_CASE("an OCI object without a digest gets the one of its bytes") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    wanted.objects = {definition()};
    wanted.objects[0].type = DataType::kOciBlob;
    write(path, wanted);
    const auto opened = Image::open(path);
    REQUIRE(opened.has_value());
    CHECK(opened->descriptors()[0].oci_digest() == "sha256:" + hex(sha256(definition().bytes)));
}

TEST_CASE("a root that is no squashfs is named") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    const struct {
        FsType type;
        const char* is;
    } roots[] = {
        {FsType::kExt3, "ext3"},
        {FsType::kRaw, "raw data"},
        {FsType::kArchive, "archive"},
        {FsType::kEncryptedSquashfs, "encrypted (LUKS2)"},
        {FsType::kGocryptfs, "encrypted (gocryptfs)"},
        {static_cast<FsType>(77), "unknown type 77"},
    };
    for (const auto& root : roots) {
        CAPTURE(root.is);
        NewImage wanted = image();
        wanted.objects[1].extra = partition_extra(root.type, PartType::kPrimary, "amd64");
        write(path, wanted);
        const auto opened = Image::open(path);
        REQUIRE(opened.has_value());
        const auto found = opened->root_squashfs();
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().code() == ErrorCode::kInput);
        CHECK(words(found.error()).find(root.is) != std::string::npos);
        CHECK_FALSE(found.error().faults().front().help.empty());
    }
    write(path, image());
    CHECK(Image::open(path)->root_squashfs()->id == 2);
}

TEST_CASE("an object that is not there is told with those that are") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    const auto opened = Image::open(path);
    REQUIRE(opened.has_value());
    CHECK(opened->object(2)->name == "root");
    const auto missing = opened->object(3);
    REQUIRE_FALSE(missing.has_value());
    CHECK(words(missing.error()).find("its objects are 1, 2") != std::string::npos);
}
