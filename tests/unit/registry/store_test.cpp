// SPDX-License-Identifier: Apache-2.0
#include "registry/store/layers.hpp"
#include "registry/store/lease.hpp"
#include "support/digest.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "tests/unit/registry/shop.hpp"

#include <atomic>
#include <ctime>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::registry;
namespace fs = std::filesystem;

namespace {

constexpr cybele::DatabaseUse kIndex{"the index", "make room", "look", "look again"};

void flip_byte(const fs::path& file) {
    auto bytes = *read_file(file);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    REQUIRE(::chmod(file.c_str(), 0644) == 0);
    REQUIRE(write_file(file, bytes));
}

} // namespace

TEST_CASE("names of images") {
    CHECK(read_store_reference("store:a")->text() == "a:latest");
    CHECK(read_store_reference("store:group/a.b_c:1.0-x")->text() == "group/a.b_c:1.0-x");
    const std::string digest = "sha256:" + std::string(64, 'a');
    CHECK(read_store_reference("store:a:1@" + digest)->digest == digest);
    CHECK(read_store_argument(digest)->digest == digest);
    CHECK(read_store_argument("store:@" + digest)->digest == digest);
    CHECK(read_store_argument("sha256:abcdef")->digest == "sha256:abcdef");
    CHECK(read_store_argument("a:1")->text() == "a:1");
    for (const char* bad :
         {"store:", "store:a:", "store:a b", "store:a@sha256:12", "store:a:b/c"}) {
        CAPTURE(bad);
        CHECK_FALSE(read_store_reference(bad));
    }
    for (const char* bad : {"sha256:abc", "sha256:xyzxyzxyz", ""}) {
        CAPTURE(bad);
        CHECK_FALSE(read_store_argument(bad));
    }
    CHECK_FALSE(read_new_name("a@" + digest));
}

TEST_CASE("an image goes in once and is found by name, digest and its beginning") {
    Shop shop;
    const StoredImage first = shop.add("one", "one:1");
    const StoredImage again = shop.add("one", "other");
    CHECK(first.record.digest == again.record.digest);
    CHECK(again.record.names == std::vector<std::string>{"one:1", "other:latest"});
    CHECK(shop.digests() == std::vector{first.record.digest});
    CHECK(first.record.digest == *digest_of_file(shop.image("one")));
    const StoreName prefix{"", "", first.record.digest.substr(0, 15)};
    CHECK(shop.store.find(prefix)->record.digest == first.record.digest);
    const auto path = shop.store.use(first, kNow);
    REQUIRE(path);
    CHECK(*read_file(*path) == *read_file(shop.image("one")));
    struct stat status {};
    REQUIRE(::stat(path->c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0444);
    const auto missing = shop.store.find(*read_store_argument("oen:1"));
    REQUIRE_FALSE(missing);
    CHECK(missing.error().faults().front().help == "did you mean 'one:1'?");
}

TEST_CASE("a name moves to the image that took it last") {
    Shop shop;
    const auto one = shop.add("one", "app");
    const auto two = shop.add("two", "app");
    CHECK(shop.store.find(*read_store_argument("app"))->record.digest == two.record.digest);
    CHECK(shop.store.find_digest(one.record.digest)->value().record.names.empty());
    REQUIRE(shop.store.tag(one, *read_new_name("app:old")));
    CHECK(shop.store.find(*read_store_argument("app:old"))->record.digest == one.record.digest);
    REQUIRE(shop.store.untag(*read_new_name("app:old")));
    CHECK_FALSE(shop.store.find(*read_store_argument("app:old")));
}

TEST_CASE("a name that moved is the later image's also in an index that is made again") {
    // Both ways, for the order of their digests must not decide.
    for (const bool is_back : {false, true}) {
        Shop shop;
        const std::vector<fs::path> files{shop.image("one"), shop.image("two")};
        const auto put = [&](const fs::path& file) {
            Arrival arrival;
            arrival.now = kNow;
            arrival.name = *read_new_name("app");
            return shop.store.add(file, arrival)->record.digest;
        };
        const bool is_sorted = *digest_of_file(files[0]) < *digest_of_file(files[1]);
        const std::string earlier = put(files[is_sorted == is_back ? 1 : 0]);
        const std::string later = put(files[is_sorted == is_back ? 0 : 1]);
        CHECK((earlier < later) == !is_back);
        fs::remove(shop.root / "index.sqlite");
        const auto store = Store::open(shop.root);
        REQUIRE(store);
        CHECK(store->find(*read_store_argument("app"))->record.digest == later);
        CHECK(store->find_digest(earlier)->value().record.names.empty());
    }
}

TEST_CASE("what is no image, or another one than asked for, stays outside") {
    Shop shop;
    const fs::path file = shop.folder.path() / "text";
    REQUIRE(write_file(file, "no image\n"));
    Arrival arrival;
    arrival.origin = "text";
    auto refused = shop.store.add(file, arrival);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kInput);
    CHECK(shop.store.add(shop.folder.path(), arrival).error().code() == ErrorCode::kInput);
    arrival.digest = "sha256:" + std::string(64, '0');
    refused = shop.store.add(shop.image("one"), arrival);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kVerification);
    arrival.digest.clear();
    arrival.check = [](const fs::path&) {
        return fail(ErrorCode::kVerification, problem("test", "unsigned"));
    };
    CHECK(shop.store.add(shop.image("one"), arrival).error().message() == "unsigned");
    CHECK(shop.digests().empty());
    CHECK(fs::is_empty(shop.root / "tmp"));
}

TEST_CASE("a changed file is never handed out, and comes again whole") {
    Shop shop;
    const auto image = shop.add("one", "one");
    SUBCASE("changed in place") {
        flip_byte(image.path);
    }
    SUBCASE("cut") {
        REQUIRE(::chmod(image.path.c_str(), 0644) == 0);
        REQUIRE(::truncate(image.path.c_str(), 100) == 0);
    }
    SUBCASE("gone") {
        REQUIRE(fs::remove(image.path));
    }
    const auto used = shop.store.use(image, kNow);
    REQUIRE_FALSE(used);
    CHECK(used.error().code() == ErrorCode::kVerification);
    CHECK(shop.store.verify({image}, {})->size() == 1);
    const auto again = shop.add("one", "");
    CHECK(again.record.names == std::vector<std::string>{"one:latest"});
    CHECK(shop.store.use(again, kNow));
    CHECK(shop.store.verify({again}, {})->empty());
}

TEST_CASE("new times alone are hashed again, and good") {
    Shop shop;
    const auto image = shop.add("one", "one");
    REQUIRE(::utimensat(AT_FDCWD, image.path.c_str(), nullptr, 0) == 0);
    CHECK(shop.store.use(image, kNow));
}

TEST_CASE("the index is made again from what lies beside the images") {
    Shop shop;
    const auto one = shop.add("one", "one:1");
    const auto two = shop.add("two", "group/two");
    const fs::path index = shop.root / "index.sqlite";
    SUBCASE("lost") {
        fs::remove(index);
    }
    SUBCASE("empty") {
        REQUIRE(::truncate(index.c_str(), 0) == 0);
    }
    SUBCASE("no database") {
        REQUIRE(write_file(index, std::string(8192, 'x')));
    }
    SUBCASE("damaged within") {
        auto bytes = *read_file(index);
        for (std::size_t at = 4096; at < 4196; ++at) {
            bytes[at] = 'x';
        }
        REQUIRE(write_file(index, bytes));
    }
    SUBCASE("its names lost with a sidecar") {
        fs::remove(index);
        fs::remove(two.path.native() + ".json");
        const auto store = Store::open(shop.root);
        REQUIRE(store);
        CHECK(store->find(*read_store_argument("one:1")));
        CHECK(store->find_digest(two.record.digest)->value().record.names.empty());
        return;
    }
    const auto read = Store::open_for_reading(shop.root);
    REQUIRE(read);
    CHECK(read->find(*read_store_argument("one:1"))->record.digest == one.record.digest);
    const auto store = Store::open(shop.root);
    REQUIRE(store);
    const auto found = store->find(*read_store_argument("group/two"));
    REQUIRE(found);
    CHECK(found->record.digest == two.record.digest);
    CHECK(found->record.created == kNow);
    CHECK(store->use(*found, kNow));
}

TEST_CASE("a store of a later version, a folder of other things: refused, untouched") {
    const TempDirectory folder = *TempDirectory::make("/var/tmp", "cybele-store");
    const fs::path root = folder.path() / "store";
    REQUIRE(make_directories(root));
    SUBCASE("later") {
        REQUIRE(write_file(root / "format", "2\n"));
        const auto opened = Store::open(root);
        REQUIRE_FALSE(opened);
        CHECK(opened.error().message().ends_with("is of version 2"));
        CHECK_FALSE(Store::open_for_reading(root));
        CHECK_FALSE(fs::exists(root / "index.sqlite"));
    }
    SUBCASE("later index") {
        REQUIRE(Store::open(root));
        const auto database =
            Database::open(root / "index.sqlite", Database::Mode::kChange, kIndex);
        REQUIRE(database->run("PRAGMA user_version=7"));
        CHECK(Store::open(root).error().code() == ErrorCode::kInput);
        CHECK(Store::open_for_reading(root).error().code() == ErrorCode::kInput);
    }
    SUBCASE("other things") {
        REQUIRE(write_file(root / "thesis.tex", ""));
        CHECK(Store::open(root).error().code() == ErrorCode::kInput);
        CHECK_FALSE(fs::exists(root / "format"));
    }
    SUBCASE("none") {
        const auto opened = Store::open_for_reading(root);
        REQUIRE_FALSE(opened);
        CHECK(opened.error().faults().front().because == "there is none yet");
    }
}

TEST_CASE("gc takes what has no name, is old enough and does not run") {
    Shop shop;
    const std::int64_t long_ago = kNow - 100 * kDay;
    const auto named = shop.add("named", "named", long_ago);
    const auto old = shop.add("old", "", long_ago);
    const auto fresh = shop.add("fresh", "", kNow - 60);
    const auto waiting = shop.add("waiting", "", long_ago);
    const auto over = shop.add("over", "", long_ago);
    REQUIRE(lease_until(shop.store.place(), waiting.record.digest, kNow + kHour));
    REQUIRE(lease_until(shop.store.place(), over.record.digest, kNow - kHour));
    Collection wishes;
    wishes.now = kNow;
    wishes.is_dry = true;
    CHECK(shop.store.collect(wishes)->removed.size() == 2);
    CHECK(shop.digests().size() == 5);
    wishes.is_dry = false;
    const auto collected = shop.store.collect(wishes);
    REQUIRE(collected);
    CHECK(collected->removed.size() == 2);
    CHECK_FALSE(fs::exists(old.path));
    CHECK_FALSE(fs::exists(over.path));
    CHECK(fs::exists(fresh.path));
    CHECK(fs::exists(waiting.path));
    wishes.older_than = std::chrono::hours(24 * 30);
    CHECK(shop.store.collect(wishes)->removed.size() == 1);
    CHECK_FALSE(fs::exists(named.path));
}

TEST_CASE("gc keeps to a size: the longest unused go first, those that run never") {
    Shop shop;
    std::vector<StoredImage> all;
    all.reserve(4);
    for (int i = 0; i < 4; ++i) {
        all.push_back(shop.add(
            "image" + std::to_string(i), "image" + std::to_string(i), kNow - (10 - i) * kDay));
    }
    mark_used(shop.store.place(), all[0].record.digest, kNow - 2 * kHour);
    REQUIRE(lease_for_process(shop.store.place(), all[1].record.digest));
    Collection wishes;
    wishes.now = kNow;
    wishes.maximum_size = 2 * all[0].record.size;
    const auto collected = shop.store.collect(wishes);
    REQUIRE(collected);
    CHECK(collected->removed.size() == 2);
    CHECK(collected->left == 2 * all[0].record.size);
    CHECK(fs::exists(all[0].path));
    CHECK(fs::exists(all[1].path)); // this process has it
    CHECK_FALSE(fs::exists(all[2].path));
    CHECK_FALSE(fs::exists(all[3].path));
}

TEST_CASE("gc to a size counts the layers that stay, which are not there for images") {
    Shop shop;
    std::vector<StoredImage> all;
    all.reserve(4);
    for (int i = 0; i < 3; ++i) {
        all.push_back(
            shop.add("image" + std::to_string(i), "image" + std::to_string(i), kNow - kDay));
    }
    const std::uint64_t size = all[0].record.size;
    const auto layer =
        Layers(shop.store.place())
            .get("sha256:" + std::string(64, 'b'), size, kNow, [&](const fs::path& file) {
                return write_file(file, std::string(size, 'l'));
            });
    REQUIRE(layer);
    Collection wishes;
    wishes.now = kNow;
    wishes.maximum_size = 3 * size; // two images and the layer, which is in use
    const auto collected = shop.store.collect(wishes);
    REQUIRE(collected);
    CHECK(collected->layers == 0);
    CHECK(collected->removed.size() == 1);
    CHECK(collected->left == 3 * size);
}

TEST_CASE("gc leaves an image that got a name after it was chosen") {
    Shop shop;
    const auto one = shop.add("one", "", kNow - 100 * kDay);
    const auto two = shop.add("two", "", kNow - 100 * kDay);
    const auto database =
        Database::open(shop.root / "index.sqlite", Database::Mode::kChange, kIndex);
    // Both are chosen; the other one is named while the first is removed.
    REQUIRE(
        database->run("CREATE TRIGGER naming AFTER DELETE ON image BEGIN INSERT OR IGNORE INTO "
                      "ref SELECT 'kept:1', digest FROM image WHERE digest <> OLD.digest; END"));
    Collection wishes;
    wishes.now = kNow;
    const auto collected = shop.store.collect(wishes);
    REQUIRE(collected);
    CHECK(collected->removed.size() == 1);
    CHECK(fs::exists(one.path) != fs::exists(two.path));
    CHECK(shop.store.find(*read_store_argument("kept:1")));
}

TEST_CASE("the lease of a process on another host holds for two weeks") {
    Shop shop;
    const auto image = shop.add("one", "one");
    const fs::path lease =
        shop.root / "leases" / (image.record.digest.substr(7) + ".p.other_host_example.4321.98765");
    REQUIRE(write_file(lease, ""));
    const auto age = [&](std::int64_t seconds) {
        const timespec times[] = {{kNow - seconds, 0}, {kNow - seconds, 0}};
        REQUIRE(::utimensat(AT_FDCWD, lease.c_str(), times, 0) == 0);
        return leased(shop.store.place(), kNow).contains(image.record.digest);
    };
    constexpr std::int64_t kTwoWeeks = 14 * kDay;
    CHECK(age(60));
    CHECK(age(kTwoWeeks));
    CHECK_FALSE(age(kTwoWeeks + 1));
    CHECK_FALSE(fs::exists(lease));
}

TEST_CASE("the lease of a process ends with it") {
    Shop shop;
    const auto image = shop.add("one", "one");
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(lease_for_process(shop.store.place(), image.record.digest) ? 0 : 1);
    }
    CHECK(wait_for(child) == 0);
    CHECK_FALSE(fs::is_empty(shop.root / "leases"));
    CHECK(leased(shop.store.place(), kNow).empty());
    CHECK(fs::is_empty(shop.root / "leases"));
    REQUIRE(lease_for_process(shop.store.place(), image.record.digest));
    CHECK(leased(shop.store.place(), kNow).contains(image.record.digest));
    CHECK(shop.store.remove(image, false, kNow).error().code() == ErrorCode::kEnvironment);
    CHECK(shop.store.remove(image, true, kNow));
}

TEST_CASE("gc makes files and index agree again, and sweeps what killed processes left") {
    Shop shop;
    const auto lost = shop.add("lost", "lost");
    const auto unknown = shop.add("unknown", "unknown:2");
    const auto database =
        Database::open(shop.root / "index.sqlite", Database::Mode::kChange, kIndex);
    REQUIRE(database->run("DELETE FROM image WHERE digest NOT NULL AND digest <> ''"));
    REQUIRE(database->run("DELETE FROM ref WHERE name <> ''"));
    REQUIRE(fs::remove(lost.path));
    REQUIRE(write_file(shop.root / "tmp" / "add-0123", "half"));
    Collection wishes;
    wishes.now = ::time(nullptr) + 2 * kHour;
    const auto collected = shop.store.collect(wishes);
    REQUIRE(collected);
    CHECK(collected->temporary == 1);
    CHECK(fs::is_empty(shop.root / "tmp"));
    CHECK(shop.store.find(*read_store_argument("unknown:2"))->record.digest ==
          unknown.record.digest);
    CHECK_FALSE(shop.store.find(*read_store_argument("lost")));
}

TEST_CASE("out of the store: a copy of its own, or a link on request") {
    Shop shop;
    const auto image = shop.add("one", "one");
    const fs::path out = shop.folder.path() / "out.sif";
    REQUIRE(shop.store.put_out(image, {out}, kNow, {}));
    CHECK(*digest_of_file(out) == image.record.digest);
    const auto taken = shop.store.put_out(image, {out}, kNow, {});
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code() == ErrorCode::kInput);
    CHECK(*shop.store.put_out(image, {out, true, true}, kNow, {}) == CopyMethod::kLink);
    struct stat status {};
    REQUIRE(::stat(out.c_str(), &status) == 0);
    CHECK(status.st_nlink == 2);
    CHECK(shop.store.use(image, kNow));
    flip_byte(out); // by another name: write_file() replaces, so the store's file stays
    CHECK(shop.store.use(image, kNow));
}

TEST_CASE("a complete download takes the place of another file only by force") {
    Shop shop;
    const fs::path file = shop.image("one");
    const fs::path out = shop.folder.path() / "out.sif";
    REQUIRE(write_file(out, "of somebody"));
    const auto taken = move_out(file, {out});
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code() == ErrorCode::kInput);
    CHECK(read_file(out).value_or("") == "of somebody");
    REQUIRE(move_out(file, {out, false, true}));
    REQUIRE(move_out(out, {file}));
    CHECK_FALSE(fs::exists(out));

    // Nor that of one that appears after the check for it.
    std::atomic<int> made = 0;
    std::atomic<int> lost = 0;
    constexpr int kFiles = 3000;
    std::thread other([&] {
        while (made < kFiles) {
            const UniqueFd own(::open(out.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
            struct stat mine {};
            struct stat there {};
            if (own.valid() && ::fstat(own.get(), &mine) == 0) {
                std::this_thread::yield();
                lost += ::lstat(out.c_str(), &there) != 0 || there.st_ino != mine.st_ino;
                (void)::unlink(out.c_str());
                ++made;
            }
        }
    });
    while (made < kFiles) {
        if (move_out(file, {out}) && ::rename(out.c_str(), file.c_str()) != 0) {
            ++lost;
        }
    }
    other.join();
    CHECK(lost == 0);
    CHECK(fs::exists(file));
}

TEST_CASE("a linked file that its owner changes is found") {
    Shop shop;
    const fs::path file = shop.image("one");
    Arrival arrival;
    arrival.origin = "one.sif";
    arrival.is_link = true;
    const auto image = shop.store.add(file, arrival);
    REQUIRE(image);
    CHECK(shop.store.use(*image, kNow));
    const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(fd.get(), "x", 1, 300) == 1);
    CHECK(shop.store.use(*image, kNow).error().code() == ErrorCode::kVerification);
}

TEST_CASE("nothing in a store is made writable by everybody, and such a store is refused") {
    const TempDirectory folder = *TempDirectory::make("/var/tmp", "cybele-store");
    const fs::path root = folder.path() / "store";
    REQUIRE(make_directories(root));
    REQUIRE(::chmod(root.c_str(), 0777) == 0);
    const auto refused = Store::open(root);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kEnvironment);
    CHECK(refused.error().faults().front().because.ends_with(", mode 0777)"));
    CHECK_FALSE(Store::open({root, true}));
    REQUIRE(::chmod(root.c_str(), 02775) == 0);
    REQUIRE(Store::open(root));
    REQUIRE(::chmod(root.c_str(), 02777) == 0);
    CHECK(registry::Place(root).file_mode() == 0664);
    CHECK_FALSE(Store::open_for_reading(root));
}

TEST_CASE("a group's store is made for the group") {
    const TempDirectory folder = *TempDirectory::make("/var/tmp", "cybele-store");
    const fs::path root = folder.path() / "store";
    REQUIRE(make_directories(root));
    REQUIRE(::chmod(root.c_str(), 02775) == 0);
    const mode_t before = ::umask(077);
    const auto store = Store::open(root);
    ::umask(before);
    REQUIRE(store);
    struct stat status {};
    for (const char* name : {"blobs", "blobs/sha256", "leases", "tmp"}) {
        CAPTURE(name);
        REQUIRE(::stat((root / name).c_str(), &status) == 0);
        CHECK((status.st_mode & 07777) == 02775);
    }
    REQUIRE(::stat((root / "index.sqlite").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0664);
}
