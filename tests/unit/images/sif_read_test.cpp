// SPDX-License-Identifier: Apache-2.0
#include "sif_sample.hpp"

#include <chrono>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sample;

namespace {

/// A change that makes a whole image a damaged one, and a part of what is said of it.
struct Damage {
    const char* name;
    void (*apply)(std::string& bytes);
    const char* because;
};

constexpr std::uint64_t kNegative = UINT64_MAX;

const Damage kDamages[] = {
    {"total negative",
     [](auto& b) { put(b, kTotal, kNegative); },
     "negative number of descriptors"},
    {"total huge", [](auto& b) { put(b, kTotal, 1ULL << 57U); }, "at most 65535"},
    {"total beyond the limit", [](auto& b) { put(b, kTotal, 65536); }, "claims 65536 descriptors"},
    {"total one more", [](auto& b) { put(b, kTotal, 49); }, "49 descriptors in 28080 bytes"},
    {"free negative", [](auto& b) { put(b, kFree, kNegative); }, "negative number of free"},
    {"free equals total", [](auto& b) { put(b, kFree, 48); }, "claims 48 free descriptors, but 46"},
    {"table size", [](auto& b) { put(b, kTableSize, 28081); }, "in 28081 bytes; they would need"},
    {"table size negative", [](auto& b) { put(b, kTableSize, kNegative); }, "negative number of"},
    {"table at 0", [](auto& b) { put(b, kTableOffset, 0); }, "table overlaps its header"},
    {"table in the header", [](auto& b) { put(b, kTableOffset, 127); }, "overlaps its header"},
    {"table negative", [](auto& b) { put(b, kTableOffset, kNegative); }, "negative number of"},
    {"table beyond", [](auto& b) { put(b, kTableOffset, 1U << 20U); }, "table ends beyond the end"},
    {"table far beyond",
     [](auto& b) { put(b, kTableOffset, INT64_MAX); },
     "table ends beyond the end"},
    {"data over the table", [](auto& b) { put(b, kDataOffset, 32175); }, "data area overlaps its"},
    {"data offset negative", [](auto& b) { put(b, kDataOffset, kNegative); }, "number of data off"},
    {"data offset beyond",
     [](auto& b) { put(b, kDataOffset, 1U << 20U); },
     "data area ends beyond"},
    {"data size negative", [](auto& b) { put(b, kDataSize, kNegative); }, "number of data size"},
    {"data size beyond", [](auto& b) { put(b, kDataSize, 1U << 20U); }, "data area ends beyond"},
    {"data size overflows", [](auto& b) { put(b, kDataSize, INT64_MAX); }, "data area ends beyond"},
    {"architecture of another", [](auto& b) { b[46] = '4'; }, "architecture arm64, its primary"},
    {"architecture unknown", [](auto& b) { b[45] = '9'; }, "architecture unknown, its primary"},
    {"entry unused", [](auto& b) { b[entry(1) + kUsed] = 0; }, "46 free descriptors, but 47"},
    {"id 0", [](auto& b) { put(b, entry(1) + kId, 0, 4); }, "entry 1 of its descriptor table has"},
    {"id twice", [](auto& b) { put(b, entry(2) + kId, 1, 4); }, "entry 2 of its descriptor table"},
    {"group 0", [](auto& b) { put(b, entry(1) + kGroup, 0, 4); }, "group of object 1 lacks its"},
    {"group without a bit",
     [](auto& b) { put(b, entry(1) + kGroup, 0xE0000001, 4); },
     "group of object 1 lacks its mark"},
    {"object at 0", [](auto& b) { put(b, entry(2) + kOffset, 0); }, "object 2 starts before the"},
    {"object negative", [](auto& b) { put(b, entry(2) + kOffset, kNegative); }, "negative offset"},
    {"object beyond",
     [](auto& b) { put(b, entry(2) + kOffset, 1U << 20U); },
     "object 2 ends beyond"},
    {"size beyond",
     [](auto& b) { put(b, entry(2) + kSize, 5001); },
     "object 2 ends beyond the end"},
    {"size overflows",
     [](auto& b) { put(b, entry(2) + kSize, INT64_MAX); },
     "object 2 ends beyond"},
    {"size negative", [](auto& b) { put(b, entry(2) + kSize, kNegative); }, "negative offset or s"},
    {"padding negative", [](auto& b) { put(b, entry(2) + kPadded, kNegative); }, "negative offset"},
    {"overlap", [](auto& b) { put(b, entry(1) + kSize, 4097); }, "objects 1 and 2 overlap"},
    {"escape in a name", [](auto& b) { b[entry(1) + kName] = '\x1b'; }, "control characters"},
    {"text behind a name", [](auto& b) { b[entry(2) + kName + 5] = 'x'; }, "control characters"},
    {"C1 in a name",
     [](auto& b) { b.replace(entry(1) + kName, 2, "\xc2\x9b"); },
     "the name of object 1 has control"},
    {"no UTF-8 in a name", [](auto& b) { b[entry(1) + kName] = '\xff'; }, "or is not UTF-8"},
    {"two primaries",
     [](auto& b) {
         put(b, entry(1), 0x4004, 4);
         put(b, entry(1) + kExtra + 4, 2, 4);
     },
     "objects 1 and 2 are both its primary"},
    {"cut within an object", [](auto& b) { b.pop_back(); }, "ends beyond the end of the file"},
    {"cut within the table", [](auto& b) { b.resize(20000); }, "table ends beyond the end"},
    {"cut within the header",
     [](auto& b) { b.resize(100); },
     "ends within its header, at byte 100"},
};

Error read_refusal(const fs::path& path) {
    const auto image = Image::open(path);
    REQUIRE_FALSE(image.has_value());
    CHECK(image.error().code() == ErrorCode::kInput);
    CHECK(image.error().faults().size() == 1);
    CHECK_FALSE(image.error().faults().front().because.empty());
    CHECK_FALSE(image.error().faults().front().help.empty());
    return image.error();
}

} // namespace

TEST_CASE("every kind of damage is refused, and named") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    REQUIRE(Image::open(path).has_value());
    const std::string whole = content(path);
    for (const Damage& damage : kDamages) {
        CAPTURE(damage.name);
        std::string bytes = whole;
        damage.apply(bytes);
        REQUIRE(write_file(path, bytes).has_value());
        const std::string said = words(read_refusal(path));
        CAPTURE(said);
        CHECK(said.find("a.sif is damaged") != std::string::npos);
        CHECK(said.find(damage.because) != std::string::npos);
    }
}

TEST_CASE("a signature object of more than 1 MiB is refused") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    wanted.objects[0].bytes.assign(kMaximumSignatureSize + 1, 's');
    write(path, wanted);
    std::string bytes = content(path);
    put(bytes, entry(1), 0x4005, 4);
    REQUIRE(write_file(path, bytes).has_value());
    CHECK(words(read_refusal(path)).find("signature object 1 has 1048577 bytes") !=
          std::string::npos);
}

TEST_CASE("what is harmless is read") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    std::string bytes = content(path);
    const struct {
        const char* name;
        void (*apply)(std::string& bytes);
    } changes[] = {
        {"trailing bytes", [](auto& b) { b += "more"; }},
        {"used is 2", [](auto& b) { b[entry(1) + kUsed] = 2; }},
        {"data size smaller", [](auto& b) { put(b, kDataSize, 1); }},
        {"padding size", [](auto& b) { put(b, entry(2) + kPadded, 1); }},
        {"bytes between header and table", [](auto& b) { b[3000] = 'x'; }},
    };
    for (const auto& change : changes) {
        CAPTURE(change.name);
        std::string changed = bytes;
        change.apply(changed);
        REQUIRE(write_file(path, changed).has_value());
        const auto opened = Image::open(path);
        REQUIRE(opened.has_value());
        CHECK(opened->descriptors().size() == 2);
    }
}

TEST_CASE("what is not a SIF is told by name") {
    const auto place = directory();
    const fs::path path = place.path() / "a.img";
    const std::string run = "#!/usr/bin/env run-singularity\n";
    const struct {
        std::string bytes;
        const char* is;
    } files[] = {
        {"", "an empty file"},
        {"hello\n", "a text file"},
        {std::string(4000, 'x'), "a text file"},
        {std::string(5, '\1'), "too short for a header"},
        {std::string(4096, '\1'), "the magic word SIF_MAGIC is missing"},
        {std::string("\x7f") + "ELF" + std::string(200, '\0'), "a program or library (ELF)"},
        {"hsqs" + std::string(200, '\0'), "a bare squashfs file"},
        {run + "hsqs" + std::string(200, '\0'), "a bare squashfs file with a launch script"},
        {std::string(257, '\0') + "ustar" + std::string(300, '\0'), "a tar archive"},
        {std::string("\x1f\x8b\x08") + std::string(200, '\0'), "a gzip file"},
        {run, "a script"},
        {std::string(32, '\0') + "SIF_MAGI", "too short for a header"},
    };
    for (const auto& file : files) {
        CAPTURE(file.is);
        REQUIRE(write_file(path, file.bytes).has_value());
        const std::string said = words(read_refusal(path));
        CAPTURE(said);
        CHECK(said.find("a.img is not a SIF image | it is ") != std::string::npos);
        CHECK(said.find(file.is) != std::string::npos);
    }
}

TEST_CASE("a version of the format that is not known is told") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    std::string bytes = content(path);
    bytes[43] = '2';
    REQUIRE(write_file(path, bytes).has_value());
    CHECK(words(read_refusal(path)).find("unknown version of the SIF format") != std::string::npos);
}

TEST_CASE("names that are no files are told, links are followed") {
    const auto place = directory();
    CHECK(words(read_refusal(place.path())).find("it is a directory") != std::string::npos);
    const fs::path pipe = place.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(words(read_refusal(pipe)).find("it is a pipe") != std::string::npos);
    const auto missing = Image::open(place.path() / "missing.sif");
    REQUIRE_FALSE(missing.has_value());
    CHECK(missing.error().code() == ErrorCode::kInput);
    CHECK(missing.error().message().starts_with("no such file"));
    write(place.path() / "a.sif", image());
    fs::create_symlink("a.sif", place.path() / "link");
    CHECK(Image::open(place.path() / "link").has_value());
}

TEST_CASE("the largest table, and a huge sparse file, cost little time") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    wanted.descriptors = 65535;
    write(path, wanted);
    REQUIRE(::truncate(path.c_str(), 1LL << 40U) == 0);
    const auto start = std::chrono::steady_clock::now();
    const auto opened = Image::open(path);
    REQUIRE(opened.has_value());
    CHECK(opened->descriptors().size() == 2);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("an image of the old writer is read: data from 32768, owners kept") {
    const auto image = Image::open(data("one-group-signed-legacy.sif"));
    REQUIRE(image.has_value());
    CHECK(image->header().data_offset == 32768);
    CHECK(image->header().descriptors_total == 48);
    CHECK(image->descriptors().size() == 3);
    CHECK(image->primary_partition().has_value());
}

TEST_CASE("the fields of an image come out") {
    const auto opened = Image::open(data("one-group-signed-dsse.sif"));
    REQUIRE(opened.has_value());
    CHECK(opened->header().is_deterministic());
    CHECK(opened->header().arch == "386");
    CHECK(opened->header().descriptors_free == 45);
    const auto root = opened->primary_partition();
    REQUIRE(root.has_value());
    CHECK(root->id == 2);
    CHECK(root->group == 1);
    CHECK(root->fs_type() == FsType::kSquashfs);
    CHECK(root->arch() == "386");
    CHECK(root->size == 4096);
    CHECK(opened->descriptors()[0].part_type() == PartType::kSystem);
    CHECK(opened->read_object(opened->descriptors()[0]).value() == "\xfa\xce\xfe\xed");
    const Descriptor& signature = opened->descriptors()[2];
    CHECK(signature.type == DataType::kSignature);
    CHECK(signature.group == 0);
    CHECK(signature.is_group_link());
    CHECK(signature.link == (kGroupMask | 1U));
}

TEST_CASE("an image without a root file system says so, an OCI-SIF by name") {
    const auto place = directory();
    NewImage wanted = image();
    wanted.objects = {definition(), partition(PartType::kData)};
    write(place.path() / "a.sif", wanted);
    const auto plain = Image::open(place.path() / "a.sif");
    REQUIRE(plain.has_value());
    REQUIRE_FALSE(plain->primary_partition().has_value());
    CHECK(plain->primary_partition().error().message().starts_with("no root file system"));
    CHECK(plain->primary_partition().error().code() == ErrorCode::kInput);
    wanted.objects = {definition()};
    wanted.objects[0].type = DataType::kOciRootIndex;
    write(place.path() / "b.sif", wanted);
    const auto oci = Image::open(place.path() / "b.sif");
    REQUIRE(oci.has_value());
    CHECK(words(oci->primary_partition().error()).find("OCI-SIF") != std::string::npos);
}

TEST_CASE("an object is read up to a limit only") {
    const auto place = directory();
    write(place.path() / "a.sif", image());
    const auto opened = Image::open(place.path() / "a.sif");
    REQUIRE(opened.has_value());
    CHECK(opened->read_object(opened->descriptors()[1]).value() == std::string(5000, 'p'));
    const auto refused = opened->read_object(opened->descriptors()[1], 4999);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == ErrorCode::kInput);
}
