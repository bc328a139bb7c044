// SPDX-License-Identifier: Apache-2.0
#include "registry/cache/known_files.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
using registry::KnownFiles;
namespace fs = std::filesystem;

namespace {

using What = KnownFiles::What;

/// Of a content that no file here has: where it is given, the file was not read.
const Digest kMark = sha256("mark");

struct Known {
    TempDirectory directory = [] {
        auto made = TempDirectory::make(fs::temp_directory_path(), "known-test");
        REQUIRE(made);
        return std::move(*made);
    }();
    fs::path cache = directory.path() / "cache";
    fs::path file = directory.path() / "file";
    Known() {
        fs::create_directory(cache);
        write("one");
    }
    void write(const std::string& text) const {
        std::ofstream(file) << text;
    }
    [[nodiscard]] UniqueFd open() const {
        auto fd = open_for_reading(file);
        REQUIRE(fd);
        return std::move(*fd);
    }
    [[nodiscard]] FileStamp stamp() const {
        const auto stamp = stamp_of(open().get());
        REQUIRE(stamp);
        return stamp.value_or(FileStamp{});
    }
    /// Says that the file as it is now has the marked digest.
    void mark() const {
        auto files = KnownFiles::open(cache, true);
        files.remember(What::kContent, stamp(), kMark);
        files.save();
    }
    [[nodiscard]] Digest content(bool reads = true) const {
        auto files = KnownFiles::open(cache, reads);
        const auto digest = files.content_of(open().get(), file);
        REQUIRE(digest);
        files.save();
        return *digest;
    }
    void touch(std::int64_t seconds) const {
        const timespec time{seconds, 0};
        const timespec times[] = {time, time};
        REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
    }
};

} // namespace

TEST_CASE("a file that nobody touched is not read again") {
    const Known at;
    at.mark();
    CHECK(at.content() == kMark);
    CHECK(at.content(false) == sha256("one"));
    struct stat status {};
    REQUIRE(::stat((at.cache / "known-files").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600);
}

TEST_CASE("a change is seen whatever was done to hide it") {
    const Known at;
    at.touch(1'700'000'000);
    at.mark();
    REQUIRE(at.content() == kMark);
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // more than a tick of the kernel
    SUBCASE("another content of the same size and time") {
        at.write("two");
        at.touch(1'700'000'000);
        CHECK(at.content() == sha256("two"));
    }
    SUBCASE("another file in its place, as old and as big") {
        const fs::path other = at.directory.path() / "other";
        std::ofstream(other) << "two";
        fs::rename(other, at.file);
        at.touch(1'700'000'000);
        CHECK(at.content() == sha256("two"));
    }
    SUBCASE("through another name of it") {
        const fs::path other = at.directory.path() / "other";
        fs::create_hard_link(at.file, other);
        std::ofstream(other) << "two";
        at.touch(1'700'000'000);
        CHECK(at.content() == sha256("two"));
    }
    SUBCASE("a new time alone is read again, and the same") {
        at.touch(1'700'000'001);
        CHECK(at.content() == sha256("one"));
    }
}

TEST_CASE("what could be written to unseen is not remembered") {
    const Known at;
    auto files = KnownFiles::open(at.cache, true);
    REQUIRE(files.content_of(at.open().get(), at.file));
    CHECK_FALSE(files.find(What::kContent, at.stamp()));
    // Old by its time, but the kernel changed it just now.
    at.touch(1'700'000'000);
    REQUIRE(files.content_of(at.open().get(), at.file));
    CHECK_FALSE(files.find(What::kContent, at.stamp()));
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
    REQUIRE(files.content_of(at.open().get(), at.file));
    CHECK(files.find(What::kContent, at.stamp()) == sha256("one"));
    // Later than the clock: it could be given the same time once more.
    const FileStamp stamp = at.stamp();
    CHECK(stamp.is_settled(stamp.changed + 2'000'000'000));
    CHECK_FALSE(stamp.is_settled(stamp.changed + 1'999'999'999));
    FileStamp future = stamp;
    future.modified = stamp.changed + 3'000'000'000;
    CHECK_FALSE(future.is_settled(stamp.changed + 2'000'000'000));
}

TEST_CASE("files of systems that keep no time of change have no stamp") {
    // proc(5) is one; FUSE and mounted images are treated alike.
    const auto fd = open_for_reading("/proc/self/status");
    REQUIRE(fd);
    CHECK_FALSE(stamp_of(fd->get()));
    const auto folder = open_for_reading(fs::temp_directory_path());
    REQUIRE(folder);
    CHECK_FALSE(stamp_of(folder->get()));
}

TEST_CASE("several at once lose nothing, damage is no knowledge") {
    const Known at;
    auto one = KnownFiles::open(at.cache, true);
    auto other = KnownFiles::open(at.cache, true);
    FileStamp stamp = at.stamp();
    one.remember(What::kMade, stamp, kMark);
    stamp.inode += 1;
    other.remember(What::kContent, stamp, kMark);
    one.save();
    other.save();
    auto both = KnownFiles::open(at.cache, true);
    CHECK(both.find(What::kContent, stamp) == kMark);
    CHECK_FALSE(both.find(What::kMade, stamp));
    CHECK(both.find(What::kMade, at.stamp()) == kMark);

    const auto text = read_file(at.cache / "known-files");
    REQUIRE(text);
    for (std::size_t length = 0; length < text->size(); ++length) {
        REQUIRE(write_file(at.cache / "known-files", text->substr(0, length)));
        auto cut = KnownFiles::open(at.cache, true);
        const auto found = cut.find(What::kContent, stamp);
        CHECK((!found || *found == kMark));
    }
    std::string damaged = *text;
    damaged[damaged.size() / 2] = '\0';
    REQUIRE(write_file(at.cache / "known-files", damaged));
    auto rest = KnownFiles::open(at.cache, true);
    CHECK((!rest.find(What::kContent, stamp) || !rest.find(What::kMade, at.stamp())));
}

TEST_CASE("it forgets what nobody asked for, and never grows without end") {
    const Known at;
    auto files = KnownFiles::open(at.cache, true);
    FileStamp stamp = at.stamp();
    for (std::size_t i = 0; i < KnownFiles::kMost + 3; ++i) {
        stamp.inode = i;
        files.remember(What::kContent, stamp, kMark);
    }
    files.save();
    const auto text = read_file(at.cache / "known-files");
    REQUIRE(text);
    CHECK(std::count(text->begin(), text->end(), '\n') ==
          static_cast<std::ptrdiff_t>(KnownFiles::kMost) + 1);
    const std::int64_t today = nanoseconds_now() / 86'400'000'000'000;
    CHECK(KnownFiles::forget(at.cache, today) == 0);
    CHECK(KnownFiles::forget(at.cache, today + 1) == KnownFiles::kMost);
    CHECK(KnownFiles::forget(at.cache, std::nullopt) == 0);
    auto none = KnownFiles::open(at.cache, true);
    CHECK_FALSE(none.find(What::kContent, stamp));
}
