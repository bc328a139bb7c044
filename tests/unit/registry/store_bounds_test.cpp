// SPDX-License-Identifier: Apache-2.0
// What the store does at the ends of its ranges: the last digit of a digest, the second at which
// something is old, the byte at which the store is full.
#include "registry/store/layers.hpp"
#include "registry/store/lease.hpp"
#include "support/file.hpp"
#include "tests/unit/registry/shop.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace cybele::registry {
namespace {

/// A layer of `size` bytes that was used last at `used`.
std::filesystem::path
put_layer(const Shop& shop, char digit, std::uint64_t size, std::int64_t used) {
    const auto held = Layers(shop.store.place())
                          .get("sha256:" + std::string(64, digit),
                               size,
                               used,
                               [&](const std::filesystem::path& file) {
                                   return write_file(file, std::string(size, 'l'));
                               });
    REQUIRE(held);
    return held->path;
}

Collected collected(const Shop& shop, const Collection& wishes) {
    auto done = shop.store.collect(wishes);
    REQUIRE(done);
    return std::move(*done);
}

} // namespace

TEST_CASE("layers: made once, used again, kept while somebody builds from them") {
    Shop shop;
    const Layers layers(shop.store.place());
    const std::string digest = "sha256:" + std::string(64, 'e');
    int fills = 0;
    const auto get = [&](std::uint64_t size, std::int64_t now) {
        return layers.get(digest, size, now, [&](const std::filesystem::path& file) {
            ++fills;
            return write_file(file, "layer");
        });
    };
    {
        const auto first = get(5, kNow);
        REQUIRE(first);
        CHECK_FALSE(first->was_there);
        CHECK(first->is_own);
        CHECK(std::filesystem::status(first->path).permissions() == std::filesystem::perms(0444));
        const auto again = get(5, kNow + 7);
        REQUIRE(again);
        CHECK(again->was_there);
        CHECK(fills == 1);
        const auto listed = layers.list();
        REQUIRE(listed.size() == 1);
        CHECK(listed[0].size == 5);
        CHECK(listed[0].used == kNow + 7);
        CHECK_FALSE(Layers::remove(listed[0]));
    }
    CHECK(Layers::remove(layers.list().front()));
    CHECK(layers.list().empty());
    const auto wrong = get(6, kNow); // than its manifest says
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code() == ErrorCode::kVerification);
    layers.forget(digest);
    CHECK(layers.list().empty());
    REQUIRE(get(5, kNow));
    CHECK(fills == 3);
}

TEST_CASE("a digest has 6 to 64 lower-case hexadecimal digits, and no others") {
    CHECK(read_store_argument("sha256:0123456789abcdef")->digest == "sha256:0123456789abcdef");
    CHECK(read_store_argument("sha256:" + std::string(64, '9')));
    CHECK_FALSE(read_store_argument("sha256:" + std::string(65, '9')));
    CHECK_FALSE(read_store_argument("sha256:" + std::string(5, '9')));
    for (const char digit : {'/', ':', '`', 'g', 'A', 'F', ' '}) {
        CAPTURE(digit);
        CHECK_FALSE(read_store_argument("sha256:00000" + std::string(1, digit)));
    }
}

TEST_CASE("gc: an image is old after the time, not at it") {
    Shop shop;
    const auto image = shop.add("one", "one", kNow - kDay);
    Collection wishes;
    wishes.now = kNow;
    wishes.older_than = std::chrono::seconds(kDay);
    CHECK(collected(shop, wishes).removed.empty());
    wishes.now = kNow + 1;
    CHECK(collected(shop, wishes).removed.size() == 1);
}

TEST_CASE("gc: a store of exactly the size is not too large") {
    Shop shop;
    const auto image = shop.add("one", "one", kNow - kDay);
    Collection wishes;
    wishes.now = kNow;
    wishes.maximum_size = image.record.size;
    CHECK(collected(shop, wishes).removed.empty());
    wishes.maximum_size = image.record.size - 1;
    CHECK(collected(shop, wishes).removed.size() == 1);
}

TEST_CASE("gc: layers go when they are old, or the store is too large and they are not in use") {
    Shop shop;
    constexpr std::int64_t kMonth = 30 * kDay;
    const auto older = put_layer(shop, 'a', 100, kNow - kMonth - 1);
    const auto old = put_layer(shop, 'b', 200, kNow - kMonth);
    const auto fresh = put_layer(shop, 'c', 400, kNow - kHour);
    Collection wishes;
    wishes.now = kNow;
    wishes.is_dry = true;
    CHECK(collected(shop, wishes).layers == 1);
    CHECK(std::filesystem::exists(older));
    wishes.is_dry = false;
    const Collected aged = collected(shop, wishes);
    CHECK(aged.layers == 1);
    CHECK(aged.freed == 100);
    CHECK(aged.left == 600);
    CHECK_FALSE(std::filesystem::exists(older));
    wishes.maximum_size = 600;
    CHECK(collected(shop, wishes).layers == 0);
    wishes.maximum_size = 399;
    CHECK(collected(shop, wishes).layers == 1); // the other one was used within the last hour
    CHECK_FALSE(std::filesystem::exists(old));
    CHECK(std::filesystem::exists(fresh));
    wishes.now = kNow + 1;
    CHECK(collected(shop, wishes).layers == 1);
    CHECK_FALSE(std::filesystem::exists(fresh));
}

TEST_CASE("gc: a pull that was cut off stays as long as an image without a name") {
    Shop shop;
    const auto temporary = shop.root / "tmp";
    for (const char* name : {"pull-0", "add-0"}) {
        REQUIRE(write_file(temporary / name, "half"));
        const timespec times[] = {{kNow - 61, 0}, {kNow - 61, 0}};
        REQUIRE(::utimensat(AT_FDCWD, (temporary / name).c_str(), times, 0) == 0);
    }
    Collection wishes;
    wishes.now = kNow;
    CHECK(collected(shop, wishes).temporary == 1);
    CHECK(std::filesystem::exists(temporary / "pull-0"));
    wishes.now = kNow + kHour;
    CHECK(collected(shop, wishes).temporary == 1);
    CHECK(std::filesystem::is_empty(temporary));
}

TEST_CASE("gc: an image that is on its way in stays, however long that lasts") {
    Shop shop;
    Arrival arrival;
    arrival.now = kNow;
    int looks = 0;
    arrival.progress = [&](std::uint64_t, std::uint64_t) {
        Collection wishes;
        wishes.now = std::time(nullptr) + kDay;
        CHECK(collected(shop, wishes).temporary == 0);
        ++looks;
    };
    REQUIRE(shop.store.add(shop.image("one"), arrival));
    CHECK(looks > 0);
}

TEST_CASE("a layer that could not be fetched leaves what has come of it, but no empty file") {
    Shop shop;
    const Layers layers(shop.store.place());
    const std::string digest = "sha256:" + std::string(64, 'd');
    const auto fail_after = [&](const std::string& bytes) {
        const auto held =
            layers.get(digest, 8, kNow, [&](const std::filesystem::path& file) -> Result<void> {
                std::filesystem::resize_file(file, bytes.size());
                return fail(ErrorCode::kEnvironment, problem("test", "cut"));
            });
        REQUIRE_FALSE(held);
        CHECK(held.error().message() == "cut");
    };
    fail_after("");
    CHECK(std::filesystem::is_empty(shop.root / "tmp"));
    fail_after("half");
    CHECK_FALSE(std::filesystem::is_empty(shop.root / "tmp"));
    CHECK(std::filesystem::exists(put_layer(shop, 'd', 8, kNow)));
    CHECK(std::filesystem::is_empty(shop.root / "tmp"));
}

TEST_CASE("leases: one of an unknown form holds, one of a form that is damaged does not") {
    Shop shop;
    const auto image = shop.add("one", "one");
    const std::string digits = image.record.digest.substr(7);
    const auto is_held = [&](const std::string& name) {
        REQUIRE(write_file(shop.root / "leases" / (digits + name), ""));
        const bool held = leased(shop.store.place(), kNow).contains(image.record.digest);
        CHECK(std::filesystem::exists(shop.root / "leases" / (digits + name)) == held);
        std::filesystem::remove(shop.root / "leases" / (digits + name));
        return held;
    };
    CHECK(is_held(".later.version"));
    CHECK(is_held(".q.host.1.2"));
    CHECK(is_held(".u." + std::to_string(kNow)));
    CHECK_FALSE(is_held(".u." + std::to_string(kNow - 1)));
    CHECK_FALSE(is_held(".u.soon"));
}

TEST_CASE("leases: that of a process names its host, its number and the image") {
    Shop shop;
    const auto image = shop.add("one", "one");
    REQUIRE(lease_for_process(shop.store.place(), image.record.digest));
    utsname names{};
    REQUIRE(::uname(&names) == 0);
    std::string host = names.nodename;
    std::replace(host.begin(), host.end(), '.', '_'); // dots part the name of the lease
    const auto lease = std::filesystem::directory_iterator(shop.root / "leases");
    CHECK(lease->path().filename().native().starts_with(
        image.record.digest.substr(7) + ".p." + host + "." + std::to_string(::getpid()) + "."));
}

TEST_CASE("a store that is opened again knows its images, and the state of one that was linked") {
    Shop shop;
    const auto image = shop.add("one", "one");
    REQUIRE(shop.store.put_out(image, {shop.folder.path() / "out.sif", true}, kNow, {}));
    const auto again = Store::open(shop.root);
    REQUIRE(again);
    CHECK(again->find(*read_store_argument("one"))->record.digest == image.record.digest);
    constexpr DatabaseUse kUse{"the index", "make room", "look", "look again"};
    const auto database = Database::open(shop.root / "index.sqlite", Database::Mode::kRead, kUse);
    REQUIRE(database);
    auto changed = database->prepare("SELECT changed FROM image WHERE digest = ?");
    REQUIRE(changed);
    changed->bind(image.record.digest);
    REQUIRE(changed->step().value_or(false));
    CHECK(changed->number(0) == blob_state(image.path)->changed); // else it is hashed at each use
}

TEST_CASE("a file that cannot go out is refused for its reason, not for a name that is taken") {
    Shop shop;
    const auto file = shop.image("one");
    const auto moved = move_out(file, {shop.folder.path() / "none" / "out.sif"});
    REQUIRE_FALSE(moved);
    CHECK(moved.error().faults().front().id != "export-file-exists");
    CHECK(std::filesystem::exists(file));
}

TEST_CASE("the lock of a group's store can be taken by the group") {
    const TempDirectory folder = *TempDirectory::make("/var/tmp", "cybele-store");
    const auto root = folder.path() / "store";
    REQUIRE(make_directories(root));
    REQUIRE(::chmod(root.c_str(), 02775) == 0);
    const mode_t before = ::umask(077);
    const auto store = Store::open(root);
    REQUIRE(store);
    const auto lock =
        lock_file(store->place().lock_file(), LockKind::kShared, store->place().file_mode());
    ::umask(before);
    REQUIRE(lock);
    struct stat status {};
    REQUIRE(::fstat(lock->get(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0664);
    // Another process has to wait for it, and says so.
    const auto second = try_lock(store->place().lock_file());
    REQUIRE(second);
    CHECK_FALSE(second->valid());
}

} // namespace cybele::registry
