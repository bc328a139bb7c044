// SPDX-License-Identifier: Apache-2.0
#include "sif_sample.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"

#include <functional>
#include <sstream>
#include <string>

#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sample;

namespace {

NewObject object(DataType type, std::string bytes, std::vector<std::uint8_t> extra = {}) {
    NewObject made;
    made.type = type;
    made.bytes = std::move(bytes);
    made.extra = std::move(extra);
    return made;
}

std::vector<std::uint8_t> text_extra(const std::string& text) {
    return {text.begin(), text.end()};
}

/// As the generator of Apptainer's test images makes them.
NewImage reference(std::vector<NewObject> objects) {
    NewImage image;
    image.launch_script.clear();
    image.objects = std::move(objects);
    return image;
}

std::string digest_text(const fs::path& path) {
    const auto digest = sha256_file(path);
    REQUIRE(digest.has_value());
    return hex(*digest);
}

NewImage generic_json() {
    NewImage image = reference({object(DataType::kGenericJson, "{}")});
    image.objects[0].name = "data.json";
    return image;
}

NewImage one_group() {
    const auto signed_image = Image::open(data("one-group-signed-dsse.sif"));
    REQUIRE(signed_image.has_value());
    NewObject raw = object(DataType::kPartition,
                           "\xfa\xce\xfe\xed",
                           partition_extra(FsType::kRaw, PartType::kSystem, "386"));
    NewObject root = object(DataType::kPartition,
                            signed_image->read_object(signed_image->descriptors()[1]).value(),
                            partition_extra(FsType::kSquashfs, PartType::kPrimary, "386"));
    raw.alignment = 4096;
    root.alignment = 4096;
    return reference({raw, root});
}

/// Apptainer's ext3 file, of which nearly all is zero: its length, then runs of bytes, each
/// with its place and how often it is repeated; all in hexadecimal.
std::string ext3() {
    std::istringstream runs(content(data("root.ext3.runs")));
    std::size_t place = 0;
    std::size_t times = 0;
    std::string digits;
    runs >> std::hex >> place;
    std::string bytes(place, '\0');
    while (runs >> place >> times >> digits) {
        for (std::size_t i = 0; i < times * digits.size(); i += 2) {
            bytes.at(place++) =
                static_cast<char>(std::stoi(digits.substr(i % digits.size(), 2), nullptr, 16));
        }
    }
    return bytes;
}

NewImage two_written_groups() {
    NewImage image = one_group();
    NewObject other = object(
        DataType::kPartition, ext3(), partition_extra(FsType::kExt3, PartType::kSystem, "amd64"));
    other.alignment = 4096;
    other.group = 2;
    image.objects.push_back(std::move(other));
    return image;
}

NewImage with_digest(DataType type, const char* file) {
    const std::string bytes = content(data(file));
    return reference({object(type, bytes, text_extra("sha256:" + hex(sha256(bytes))))});
}

} // namespace

TEST_CASE("images come out as Apptainer writes them, to the byte") {
    const struct {
        const char* sha256;
        std::function<NewImage()> make;
    } images[] = {
        {"1987d6041b278a3a87810475ce3bbe5416bc0301471c29c1e2f020579a61f815",
         [] { return reference({}); }},
        {"e69ae87e8234646a5cea26af912dbdf40e28b8ac4917f591eb66f94af3073b6e",
         [] {
             NewImage image = reference({});
             image.id = {0x3f,
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
                         0xf8};
             return image;
         }},
        {"c403ae5756610316b5a138386ae6fbbf052e5c3d21579c1f0c77066ec84fc2a1",
         [] {
             NewImage image = reference({});
             image.launch_script = "#!/usr/bin/env run-script\n";
             return image;
         }},
        {"848041a0fab06236b18b55b4bf1f9df4763033b0494f80bcb566e1ba03476140",
         [] {
             NewImage image = generic_json();
             image.time = 1593475316;
             return image;
         }},
        {"710a9262f63f5fbde75973110767922d42fdf26673ed19c6093b44da0fcbbef9", generic_json},
        {"da3d848c3b6fe26ee6340cdc731865c9d273a233cddb62794aecd132bfea71a4",
         [] {
             return reference(
                 {object(DataType::kCryptoMessage, "\xfe\xfe\xf0\xf0", {1, 0, 0, 0, 0, 1, 0, 0})});
         }},
        {"dd96ee6f4c822a9c23fb9848f05e33eb84621d3dcce9373c75b347172eb61f5d",
         [] {
             return reference(
                 {object(DataType::kSbom, content(data("sbom.cdx.json")), {1, 0, 0, 0})});
         }},
        {"a44b8b35731441625bd635f49e241f2cbdd03a057a099074e9979ac7457b6a1a",
         [] { return with_digest(DataType::kOciRootIndex, "index.json"); }},
        {"47b14c86c8c292e197e5222c0107df283db91faec288710536727282f6fca09c",
         [] { return with_digest(DataType::kOciBlob, "oci-config.json"); }},
        {"92d82d3d26e2de3227b54b8dafe05aee9e4bdb2840e59847b51d34e3682cd7cc", one_group},
        {"e97e35b42f7d874b28f2a960850a5b451aaa81c4ec069c8c85d61bafeb4853dc", two_written_groups},
    };
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    for (const auto& image : images) {
        CAPTURE(image.sha256);
        write(path, image.make());
        CHECK(digest_text(path) == image.sha256);
    }
}

TEST_CASE("adding an object gives the bytes that Apptainer gives") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, one_group());
    const auto signed_image = Image::open(data("one-group-signed-dsse.sif"));
    REQUIRE(signed_image.has_value());
    const Descriptor& signature = signed_image->descriptors()[2];
    NewObject added;
    added.type = signature.type;
    added.group = 0;
    added.link = signature.link;
    added.extra.assign(signature.extra.begin(), signature.extra.end());
    added.bytes = signed_image->read_object(signature).value();
    const auto done = add_objects(path, {added}, 1700000000);
    REQUIRE(done.has_value());
    CHECK(content(path) == content(data("one-group-signed-dsse.sif")));
}

TEST_CASE("an object may write itself, at its place in the file") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    std::uint64_t asked = 0;
    wanted.objects[1].bytes.clear();
    wanted.objects[1].write = [&](int fd, std::uint64_t offset) -> Result<std::uint64_t> {
        asked = offset;
        const std::string bytes(10000, 'q'); // more than is said: the rest is cut off
        REQUIRE(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) == 10000);
        return 7777;
    };
    write(path, wanted);
    const auto opened = Image::open(path);
    REQUIRE(opened.has_value());
    CHECK(asked == 32768);
    CHECK(opened->descriptors()[1].offset == asked);
    CHECK(opened->read_object(opened->descriptors()[1]).value() == std::string(7777, 'q'));
    CHECK(fs::file_size(path) == asked + 7777);
    CHECK((fs::status(path).permissions() & fs::perms::owner_exec) != fs::perms::none);
}

TEST_CASE("a signer sees the image before it appears, and adds to it") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    bool is_there = true;
    wanted.finish = [&](const Image& seen) -> Result<std::vector<NewObject>> {
        is_there = fs::exists(path);
        CHECK(seen.path() == path);
        CHECK(seen.descriptors().size() == 2);
        CHECK(seen.read_object(seen.descriptors()[1]).value() == partition().bytes);
        NewObject signature = definition();
        signature.type = DataType::kSignature;
        signature.group = 0;
        signature.link = kGroupMask | 1U;
        return std::vector<NewObject>{signature};
    };
    write(path, wanted);
    CHECK_FALSE(is_there);
    const std::string in_one = content(path);
    CHECK(Image::open(path)->descriptors().size() == 3);
    NewImage later = image();
    write(path, later);
    REQUIRE(add_objects(path, wanted.finish(*Image::open(path)).value(), *later.time).has_value());
    CHECK(content(path) == in_one);
    wanted.finish = [](const Image&) -> Result<std::vector<NewObject>> {
        return fail(ErrorCode::kInput, problem("test", "no key"));
    };
    fs::remove(path);
    CHECK_FALSE(write_image(path, wanted).has_value());
    CHECK(fs::is_empty(place.path()));
}

TEST_CASE("a failing writer leaves nothing behind, and the old file as it was") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    REQUIRE(write_file(path, "old").has_value());
    NewImage wanted = image();
    wanted.objects[1].write = [](int, std::uint64_t) -> Result<std::uint64_t> {
        return fail(ErrorCode::kEnvironment, problem("test", "no space"));
    };
    const auto written = write_image(path, wanted);
    REQUIRE_FALSE(written.has_value());
    CHECK(written.error().message() == "no space");
    CHECK(content(path) == "old");
    CHECK(std::distance(fs::directory_iterator(place.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("what the reader would refuse is not written") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    const struct {
        const char* because;
        std::function<void(NewImage&)> change;
    } cases[] = {
        {"the launch script is too long", [](auto& i) { i.launch_script.assign(32, 'x'); }},
        {"its name has 129 bytes", [](auto& i) { i.objects[0].name.assign(129, 'x'); }},
        {"control characters", [](auto& i) { i.objects[0].name = "a\nb"; }},
        {"does not fit the SIF format", [](auto& i) { i.objects[0].extra.resize(385); }},
        {"does not fit the SIF format", [](auto& i) { i.objects[0].group = 1U << 28U; }},
        {"already contains a primary", [](auto& i) { i.objects.push_back(partition()); }},
        {"all 1 descriptors are in use", [](auto& i) { i.descriptors = 1; }},
        {"too many descriptors", [](auto& i) { i.descriptors = 65536; }},
    };
    for (const auto& one : cases) {
        CAPTURE(one.because);
        NewImage wanted = image();
        one.change(wanted);
        const auto written = write_image(path, wanted);
        REQUIRE_FALSE(written.has_value());
        CHECK(words(written.error()).find(one.because) != std::string::npos);
        CHECK(fs::is_empty(place.path()));
    }
}

TEST_CASE("added objects reuse a free entry, keep mode, link and times as the format asks") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    wanted.objects.push_back(definition());
    write(path, wanted);
    std::string bytes = content(path);
    bytes.replace(entry(1), 585, std::string(585, '\0')); // as `sif del` leaves it
    put(bytes, kFree, 46);
    REQUIRE(write_file(path, bytes + "stale bytes of a deleted object").has_value());
    REQUIRE(::chmod(path.c_str(), 0640) == 0);
    fs::create_symlink("a.sif", place.path() / "link");
    NewObject added = definition();
    added.bytes = "added";
    REQUIRE(add_objects(place.path() / "link", {added}, 1800000000).has_value());
    CHECK(fs::is_symlink(place.path() / "link"));
    CHECK((fs::status(path).permissions() & fs::perms::all) == fs::perms{0640});
    const auto opened = Image::open(path);
    REQUIRE(opened.has_value());
    REQUIRE(opened->descriptors().size() == 3);
    CHECK(opened->descriptors()[0].id == 1);
    CHECK(opened->read_object(opened->descriptors()[0]).value() == "added");
    CHECK(opened->descriptors()[0].created == 1800000000);
    CHECK(opened->header().modified == 1800000000);
    CHECK(opened->header().created == 1700000000);
    CHECK(opened->header().descriptors_free == 45);
    const Descriptor& last = opened->descriptors()[2];
    CHECK(opened->descriptors()[0].offset == last.offset + last.size);
    CHECK(fs::file_size(path) == bytes.size() + 31); // never truncated
    CHECK(std::distance(fs::directory_iterator(place.path()), fs::directory_iterator()) == 2);
}

TEST_CASE("a full table and a damaged image refuse another object, and stay as they are") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    wanted.descriptors = 2;
    write(path, wanted);
    const std::string before = content(path);
    const auto added = add_objects(path, {definition()}, 1);
    REQUIRE_FALSE(added.has_value());
    CHECK(words(added.error()).find("all 2 descriptors are in use") != std::string::npos);
    CHECK(content(path) == before);
    REQUIRE(write_file(path, "text").has_value());
    CHECK_FALSE(add_objects(path, {definition()}, 1).has_value());
    CHECK(content(path) == "text");
}

TEST_CASE("a random id is a UUID of version 4") {
    const auto id = random_image_id();
    CHECK((id[6] & 0xf0U) == 0x40U);
    CHECK((id[8] & 0xc0U) == 0x80U);
    CHECK(id != random_image_id());
}

TEST_CASE("what is written is what is read") {
    const auto place = quick_directory();
    const fs::path path = place.path() / "a.sif";
    const bool holds = rc::check("write, add, open", [&] {
        NewImage wanted = image();
        wanted.time = *rc::gen::arbitrary<std::int64_t>();
        wanted.objects.clear();
        const auto count = *rc::gen::inRange<std::size_t>(0, 6);
        for (std::size_t i = 0; i < count; ++i) {
            NewObject one;
            one.type = *rc::gen::element(
                DataType::kDefinition, DataType::kGeneric, DataType::kSbom, DataType::kOciBlob);
            one.group = *rc::gen::inRange<std::uint32_t>(0, 1U << 28U);
            one.link = *rc::gen::arbitrary<std::uint32_t>();
            one.name = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '\x7f'));
            one.extra = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
            one.alignment = *rc::gen::element<std::uint64_t>(1, 4096);
            one.bytes = *rc::gen::arbitrary<std::string>();
            wanted.objects.push_back(std::move(one));
        }
        const auto split =
            static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(0, count + 1));
        const std::vector<NewObject> later(wanted.objects.begin() + split, wanted.objects.end());
        NewImage first = wanted;
        first.objects.erase(first.objects.begin() + split, first.objects.end());
        RC_ASSERT(write_image(path, first).has_value());
        RC_ASSERT(add_objects(path, later, *wanted.time).has_value());
        const std::string in_two_steps = content(path);
        const auto opened = Image::open(path);
        RC_ASSERT(opened.has_value());
        RC_ASSERT(opened->descriptors().size() == count);
        for (std::size_t i = 0; i < count; ++i) {
            const Descriptor& found = opened->descriptors()[i];
            const NewObject& expected = wanted.objects[i];
            RC_ASSERT(found.type == expected.type);
            RC_ASSERT(found.group == expected.group);
            RC_ASSERT(found.link == expected.link);
            RC_ASSERT(found.name == expected.name);
            RC_ASSERT(found.created == *wanted.time);
            RC_ASSERT(found.offset % expected.alignment == 0U);
            RC_ASSERT(
                std::equal(expected.extra.begin(), expected.extra.end(), found.extra.begin()));
            RC_ASSERT(opened->read_object(found).value() == expected.bytes);
        }
        RC_ASSERT(write_image(path, wanted).has_value());
        RC_ASSERT(content(path) == in_two_steps);
    });
    CHECK(holds);
}
