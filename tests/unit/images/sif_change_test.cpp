// SPDX-License-Identifier: Apache-2.0
#include "sif_sample.hpp"

#include <functional>
#include <set>

#include <rapidcheck.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sample;

namespace {

constexpr std::int64_t kChangedAt = 1800000000;

/// A definition, the root, and an amd64 system partition beside an arm64 one.
NewImage three_partitions() {
    NewImage wanted = image();
    wanted.objects.push_back(partition(PartType::kSystem));
    wanted.objects.push_back(partition(PartType::kSystem));
    wanted.objects[3].extra = partition_extra(FsType::kSquashfs, PartType::kSystem, "arm64");
    return wanted;
}

Image opened_for_change(const fs::path& path) {
    auto image = Image::open(path);
    REQUIRE_MESSAGE(image.has_value(), (image ? "" : words(image.error())));
    return std::move(*image);
}

std::string change_refusal(const Result<void>& result) {
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code() == ErrorCode::kInput);
    return words(result.error());
}

} // namespace

TEST_CASE("deleting an object clears its entry, and no more") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, three_partitions());
    std::string expected = content(path);
    REQUIRE(delete_objects(path, {3}, {}, kChangedAt).has_value());
    expected.replace(entry(3), 585, std::string(585, '\0'));
    put(expected, kFree, 45);
    put(expected, 72, kChangedAt);
    CHECK(content(path) == expected); // the bytes of the object, data size and length stay
}

TEST_CASE("deleting the primary partition leaves the header without an architecture") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    REQUIRE(delete_objects(path, {2}, {}, kChangedAt).has_value());
    CHECK(content(path).substr(45, 3) == std::string("00\0", 3));
    CHECK(opened_for_change(path).header().arch == "unknown");
}

TEST_CASE("zero overwrites the bytes, compact cuts what no object needs") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, three_partitions());
    const Descriptor third = opened_for_change(path).descriptors()[2];
    const std::uint64_t length = fs::file_size(path);
    REQUIRE(delete_objects(path, {3}, {.zero = true, .compact = true}, kChangedAt).has_value());
    CHECK(fs::file_size(path) == length); // object 4 lies behind it
    CHECK(content(path).substr(third.offset, third.size) == std::string(third.size, '\0'));
    REQUIRE(delete_objects(path, {4}, {.zero = false, .compact = true}, kChangedAt).has_value());
    const Image left = opened_for_change(path);
    const Descriptor& root = left.descriptors()[1];
    CHECK(fs::file_size(path) == root.offset + root.size);
    CHECK(left.header().data_size == root.offset + root.size - left.header().data_offset);
    REQUIRE(delete_objects(path, {1, 2}, {.zero = true, .compact = true}, kChangedAt).has_value());
    CHECK(fs::file_size(path) == 32176);
    CHECK(opened_for_change(path).descriptors().empty());
    CHECK(opened_for_change(path).header().descriptors_free == 48);
}

TEST_CASE("several objects are deleted all or none") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, three_partitions());
    const std::string before = content(path);
    for (const std::vector<std::uint32_t>& ids :
         {std::vector<std::uint32_t>{1, 9}, {0}, {48}, {49}, {3, 3}}) {
        const std::string said =
            change_refusal(delete_objects(path, ids, {.zero = true}, kChangedAt));
        CHECK(said.find("no object") != std::string::npos);
        CHECK(content(path) == before);
    }
}

TEST_CASE("setprim exchanges the part types, the header's architecture and the times") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, three_partitions());
    std::string expected = content(path);
    REQUIRE(set_primary(path, 4, kChangedAt).has_value());
    put(expected, entry(2) + kExtra + 4, 1, 4);
    put(expected, entry(4) + kExtra + 4, 2, 4);
    put(expected, entry(2) + 49, kChangedAt);
    put(expected, entry(4) + 49, kChangedAt);
    put(expected, 72, kChangedAt);
    expected.replace(45, 3, std::string("04\0", 3));
    CHECK(content(path) == expected);
    CHECK(opened_for_change(path).primary_partition()->id == 4);
    REQUIRE(set_primary(path, 4, kChangedAt + 5).has_value());
    CHECK(content(path) == expected); // it is so already: nothing is written
}

TEST_CASE("an image without a primary partition gets one") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    wanted.objects[1] = partition(PartType::kSystem);
    write(path, wanted);
    REQUIRE(set_primary(path, 2, kChangedAt).has_value());
    CHECK(opened_for_change(path).header().arch == "amd64");
}

TEST_CASE("what cannot be the primary partition is told") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = image();
    wanted.objects.push_back(partition(PartType::kOverlay));
    write(path, wanted);
    const std::string before = content(path);
    CHECK(change_refusal(set_primary(path, 1, kChangedAt)).find("not a partition but Def.FILE") !=
          std::string::npos);
    CHECK(change_refusal(set_primary(path, 3, kChangedAt)).find("one of type Overlay") !=
          std::string::npos);
    CHECK(change_refusal(set_primary(path, 9, kChangedAt)).find("no object 9") !=
          std::string::npos);
    CHECK(content(path) == before);
}

TEST_CASE("a deterministic image stays one") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    NewImage wanted = three_partitions();
    wanted.id.reset();
    wanted.time.reset();
    write(path, wanted);
    REQUIRE(add_objects(path, {definition()}, kChangedAt).has_value());
    REQUIRE(set_primary(path, 3, kChangedAt).has_value());
    REQUIRE(delete_objects(path, {1}, {}, kChangedAt).has_value());
    const Image image = opened_for_change(path);
    CHECK(image.header().is_deterministic());
    for (const Descriptor& descriptor : image.descriptors()) {
        CHECK(descriptor.created == kDeterministicTime);
        CHECK(descriptor.modified == kDeterministicTime);
    }
}

TEST_CASE("an image of the old writer is changed: data from 32768, owners kept") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    fs::copy_file(data("one-group-signed-legacy.sif"), path);
    const Image before = opened_for_change(path);
    REQUIRE(add_objects(path, {definition()}, kChangedAt).has_value());
    REQUIRE(delete_objects(path, {3}, {}, kChangedAt).has_value());
    const Image after = opened_for_change(path);
    CHECK(after.header().data_offset == 32768);
    REQUIRE(after.descriptors().size() == 3);
    CHECK(after.descriptors()[2].id == 4);
    CHECK(after.descriptors()[2].offset ==
          before.descriptors()[2].offset + before.descriptors()[2].size);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(after.descriptors()[i].uid == before.descriptors()[i].uid);
        CHECK(after.descriptors()[i].name == before.descriptors()[i].name);
    }
}

TEST_CASE("entries that others left as they are keep their bytes") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    std::string bytes = content(path);
    bytes[entry(5) + kUsed] = 0; // an unused entry with something in it
    put(bytes, entry(5) + kId, 77, 4);
    bytes[entry(1) + kUsed] = 2; // used, in its own way
    REQUIRE(write_file(path, bytes).has_value());
    REQUIRE(set_primary(path, 2, kChangedAt).has_value());
    CHECK(content(path) == bytes);
    REQUIRE(add_objects(path, {definition()}, kChangedAt).has_value());
    CHECK(content(path).substr(entry(5), 585) == bytes.substr(entry(5), 585));
    CHECK(content(path)[entry(1) + kUsed] == 1); // as Apptainer writes it back
}

TEST_CASE("another hard link sees the change, the mode stays") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    REQUIRE(::chmod(path.c_str(), 0640) == 0);
    fs::create_hard_link(path, place.path() / "b.sif");
    REQUIRE(add_objects(path, {definition()}, kChangedAt).has_value());
    CHECK(opened_for_change(place.path() / "b.sif").descriptors().size() == 3);
    CHECK((fs::status(path).permissions() & fs::perms::all) == fs::perms{0640});
}

TEST_CASE("what cannot be changed is told: missing, a folder, no permission") {
    const auto place = directory();
    const auto missing = add_objects(place.path() / "no.sif", {definition()}, kChangedAt);
    CHECK(change_refusal(missing).starts_with("no such file"));
    CHECK(
        change_refusal(add_objects(place.path(), {definition()}, kChangedAt)).find("a directory") !=
        std::string::npos);
    if (::geteuid() != 0) {
        const fs::path path = place.path() / "a.sif";
        write(path, image());
        REQUIRE(::chmod(path.c_str(), 0444) == 0);
        const auto denied = add_objects(path, {definition()}, kChangedAt);
        REQUIRE_FALSE(denied.has_value());
        CHECK(denied.error().code() == ErrorCode::kEnvironment);
    }
}

TEST_CASE("many changers at once: each change is made, none is lost") {
    const auto place = directory();
    const fs::path path = place.path() / "a.sif";
    write(path, image());
    constexpr int kProcesses = 8;
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            NewObject object = definition();
            object.bytes = "of process " + std::to_string(i);
            ::_exit(add_objects(path, {object}, kChangedAt).has_value() ? 0 : 1);
        }
        children.push_back(child);
    }
    bool is_whole = true; // readers meanwhile see whole images
    std::size_t seen = 2;
    for (int round = 0; round < 200; ++round) {
        const auto image = Image::open(path);
        is_whole = is_whole && image.has_value() && image->descriptors().size() >= seen;
        seen = image ? image->descriptors().size() : seen;
    }
    CHECK(is_whole);
    for (const pid_t child : children) {
        int status = -1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    std::set<std::string> found;
    const Image image = opened_for_change(path);
    for (const Descriptor& descriptor : image.descriptors()) {
        found.insert(image.read_object(descriptor).value());
    }
    CHECK(found.size() == 2 + kProcesses);
    CHECK(std::distance(fs::directory_iterator(place.path()), fs::directory_iterator()) == 1);
}
