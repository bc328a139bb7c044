// SPDX-License-Identifier: Apache-2.0
// An image is removed, and the process is killed before each of its system calls in turn: a reader
// finds the image complete or not at all, and the next collection finds nothing that stays.
#include "../explorer.hpp"
#include "shop.hpp"

#include <optional>

using namespace cybele;
using namespace cybele::registry;
namespace fs = std::filesystem;

namespace {

enum class Removal { kByHand, kByCollection };

Collection everything_unnamed() {
    Collection wishes;
    wishes.now = kNow + kDay;
    wishes.grace = std::chrono::seconds(0);
    return wishes;
}

/// System calls of a process until it has opened the store.
std::uint64_t steps_of_opening(const fs::path& root) {
    explorer::Actor actor([&] { return Store::open(root) ? 0 : 1; });
    std::uint64_t steps = 0;
    while (!actor.is_over()) {
        (void)actor.step();
        ++steps;
    }
    return steps;
}

/// Whether the removal of the only image came to its end before the process was killed.
bool remove_until(Removal removal, std::uint64_t killed_at) {
    const auto folder =
        TempDirectory::make(fs::exists("/dev/shm") ? "/dev/shm" : "/var/tmp", "cybele-store");
    REQUIRE(folder);
    const fs::path root = folder->path() / "store";
    const fs::path file = folder->path() / "one.sif";
    images::NewImage made;
    REQUIRE(images::write_image(file, made));
    Arrival arrival;
    arrival.now = kNow;
    if (removal == Removal::kByHand) {
        arrival.name = *read_new_name("one:1");
    }
    const auto added = Store::open(root)->add(file, arrival);
    REQUIRE(added);

    const auto work = [&] {
        const auto store = Store::open(root);
        const auto image = store->find_digest(added->record.digest);
        return removal == Removal::kByHand ? !store->remove(**image, false, kNow)
                                           : !store->collect(everything_unnamed());
    };
    const auto end = explorer::run_in_turns({{work, killed_at}}, 1).front();
    CHECK(end.value_or(0) == 0);

    INFO("killed at " << killed_at);
    const auto store = Store::open(root);
    REQUIRE(store);
    const auto found = store->find_digest(added->record.digest);
    REQUIRE(found);
    if (*found) { // as before
        CHECK((*found)->record.names == added->record.names);
        CHECK((*found)->used == added->used);
        CHECK(store->use(**found, kNow));
        CHECK(store->remove(**found, false, kNow));
    }
    CHECK(store->collect(everything_unnamed()));
    CHECK(store->list(kNow)->empty()); // no name is back
    CHECK(blobs_on_disk(store->place()).empty());
    return end.has_value();
}

} // namespace

TEST_CASE("an image that is removed is there with its file, or is not there, at each kill") {
    for (const Removal removal : {Removal::kByHand, Removal::kByCollection}) {
        std::uint64_t first = 0;
        {
            const Shop shop;
            first = steps_of_opening(shop.root);
        }
        std::uint64_t step = first;
        while (!remove_until(removal, step)) {
            ++step;
        }
        MESSAGE((step - first) << " kills");
        CHECK(step - first > 50);
    }
}

TEST_CASE("the name of a killed addition does not leave the image that has it") {
    Shop shop;
    const auto killed = shop.add("killed", "one:1");
    const auto kept = shop.add("kept", "one:1");
    const auto database = Database::open(
        shop.root / "index.sqlite", Database::Mode::kChange, {"the index", "", "", ""});
    REQUIRE(database->run("DELETE FROM image WHERE created > 0 AND digest NOT IN "
                          "(SELECT digest FROM ref)"));
    Record record = killed.record;
    record.names = {"one:1", "other:1"};
    REQUIRE(write_sidecar(shop.store.place(), record, kNow));
    Collection wishes;
    wishes.now = kNow;
    REQUIRE(shop.store.collect(wishes));
    CHECK(shop.store.find(*read_store_argument("one:1"))->record.digest == kept.record.digest);
    CHECK(shop.store.find(*read_store_argument("other:1"))->record.digest == killed.record.digest);
    CHECK(read_sidecar(shop.store.place(), killed.record.digest)->names ==
          std::vector<std::string>{"other:1"});
}

TEST_CASE("an image whose file cannot be removed stays in the store, with its names") {
    Shop shop;
    const auto image = shop.add("one", "one:1");
    REQUIRE(fs::remove(image.path));
    REQUIRE(fs::create_directory(image.path)); // which unlink() refuses, also for root
    const auto removed = shop.store.remove(image, false, kNow);
    REQUIRE_FALSE(removed);
    CHECK(removed.error().message().find("cannot remove") != std::string::npos);
    CHECK(shop.store.find(*read_store_argument("one:1")));
    CHECK(read_sidecar(shop.store.place(), image.record.digest)->names == image.record.names);
    REQUIRE(fs::remove(image.path));
    CHECK(shop.store.remove(image, false, kNow));
    CHECK(shop.digests().empty());
}
