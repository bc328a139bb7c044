// SPDX-License-Identifier: Apache-2.0
// Processes add, name, remove and collect images at the same time, and are killed: the image of
// each name is there and complete. CYBELE_STORE_STORIES and CYBELE_STORE_SEED change how many
// stories run and which; a failure prints the seed of its story and the shortest part that fails.
#include "../explorer.hpp"
#include "shop.hpp"

#include <map>
#include <set>

#include <fmt/format.h>

using namespace cybele;
using namespace cybele::registry;
namespace fs = std::filesystem;

namespace {

enum class Deed { kAdd, kAddWithoutName, kTag, kUntag, kRemove, kCollect };

struct Doing {
    Deed deed = Deed::kAdd;
    unsigned image = 0;
    unsigned name = 0;
    std::uint64_t killed_at = 0;
};

/// What happens at the same time.
struct Moment {
    std::vector<Doing> doings;
    std::uint64_t order = 0;
};

constexpr unsigned kImages = 4;
constexpr unsigned kNames = 3;
constexpr int kRefused = 1;

std::string name_of(unsigned name) {
    return "name" + std::to_string(name) + ":1";
}

/// A store in memory, and images that come into it.
struct StoreWorld {
    TempDirectory folder =
        TempDirectory::make(fs::exists("/dev/shm") ? "/dev/shm" : "/var/tmp", "cybele-store")
            .value();
    fs::path root = folder.path() / "store";
    std::vector<fs::path> files;
    std::vector<std::string> digests;
    std::map<unsigned, std::string> names; ///< name → digest, as it was seen after each moment
    /// What killed processes may have begun to give a name: it can come later, when the index is
    /// made to agree with the files, but not after something else was acknowledged.
    std::map<unsigned, std::set<std::string>> late;

    StoreWorld() {
        REQUIRE(Store::open(root));
        for (unsigned i = 0; i < kImages; ++i) {
            files.push_back(folder.path() / fmt::format("{}.sif", i));
            images::NewImage made;
            images::NewObject object;
            object.type = images::DataType::kGeneric;
            object.name = "text";
            object.bytes = std::to_string(i);
            made.objects.push_back(object);
            REQUIRE(images::write_image(files.back(), made));
            digests.push_back(digest_of_file(files.back()).value());
        }
    }

    [[nodiscard]] int act(const Doing& doing) const {
        const auto store = Store::open(root);
        if (!store) {
            return kRefused + 1;
        }
        Result<void> done;
        if (doing.deed == Deed::kAdd || doing.deed == Deed::kAddWithoutName) {
            Arrival arrival;
            arrival.now = kNow;
            if (doing.deed == Deed::kAdd) {
                arrival.name = read_new_name(name_of(doing.name)).value();
            }
            return store->add(files[doing.image], arrival) ? 0 : kRefused;
        }
        if (doing.deed == Deed::kUntag) {
            return store->untag(read_new_name(name_of(doing.name)).value()) ? 0 : kRefused;
        }
        if (doing.deed == Deed::kCollect) {
            return store->collect(everything()) ? 0 : kRefused;
        }
        const auto found = store->find_digest(digests[doing.image]);
        if (!found || !*found) {
            return kRefused;
        }
        done = doing.deed == Deed::kTag
                   ? store->tag(**found, read_new_name(name_of(doing.name)).value())
                   : store->remove(**found, false, kNow);
        return done ? 0 : kRefused;
    }

    /// All that has no name goes, however young it is.
    static Collection everything() {
        Collection wishes;
        wishes.now = kNow + kDay;
        wishes.grace = std::chrono::seconds(0);
        return wishes;
    }

    /// What each name may stand for after a moment; "": nothing.
    [[nodiscard]] std::set<std::string>
    allowed(unsigned name, const Moment& moment, const std::vector<std::optional<int>>& ends) {
        const auto is_given = [&](const Doing& doing) {
            return (doing.deed == Deed::kAdd || doing.deed == Deed::kTag) && doing.name == name;
        };
        std::set<std::string> given = late[name]; // what it may stand for meanwhile
        given.insert(names[name]);
        for (const Doing& doing : moment.doings) {
            if (is_given(doing)) {
                given.insert(digests[doing.image]);
            }
        }
        std::set<std::string> may;
        std::set<std::string> begun;
        bool is_replaced = false; // by something that was acknowledged
        for (std::size_t i = 0; i < ends.size(); ++i) {
            const Doing& doing = moment.doings[i];
            const std::string& digest = digests[doing.image];
            const bool is_removed = doing.deed == Deed::kRemove && given.contains(digest);
            if (ends[i].value_or(0) != 0 || !(is_given(doing) || is_removed ||
                                              (doing.deed == Deed::kUntag && doing.name == name))) {
                continue;
            }
            may.insert(is_given(doing) ? digest : "");
            if (!ends[i]) {
                begun.insert(is_given(doing) ? digest : "");
            }
            // What is removed is the name's only where nothing else is.
            is_replaced =
                is_replaced || (ends[i] && (!is_removed || given == std::set<std::string>{digest}));
        }
        if (is_replaced) {
            late[name].clear();
        } else {
            may.insert(names[name]);
            may.insert(late[name].begin(), late[name].end());
        }
        late[name].insert(begun.begin(), begun.end());
        return may;
    }

    /// What is wrong after the moment; empty: nothing.
    std::string check(const Moment& moment, const std::vector<std::optional<int>>& ends) {
        const auto store = Store::open(root);
        if (!store) {
            return "the store cannot be opened: " + store.error().message();
        }
        for (unsigned name = 0; name < kNames; ++name) {
            const auto found = store->find(read_new_name(name_of(name)).value());
            const std::string digest = found ? found->record.digest : "";
            if (!allowed(name, moment, ends).contains(digest)) {
                return fmt::format("{} stands for '{}'", name_of(name), digest);
            }
            if (found) {
                const auto hash = digest_of_file(found->path);
                if (!hash || *hash != digest) {
                    return fmt::format("what {} stands for is not there", name_of(name));
                }
            }
            names[name] = digest;
        }
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (ends[i].value_or(0) > kRefused) {
                return "a store cannot be opened while it changes";
            }
        }
        return {};
    }

    /// When all is quiet, nothing is left but what has a name.
    [[nodiscard]] std::string check_end() {
        const auto store = Store::open(root);
        if (!store || !store->collect(everything())) {
            return "the store cannot be cleaned";
        }
        if (std::string trouble = check({}, {}); !trouble.empty()) {
            return trouble;
        }
        std::set<std::string> named;
        for (const auto& [name, digest] : names) {
            if (!digest.empty()) {
                named.insert(digest);
            }
        }
        const auto blobs = blobs_on_disk(store->place());
        if (std::set<std::string>(blobs.begin(), blobs.end()) != named) {
            return fmt::format("{} images are there, {} have names", blobs.size(), named.size());
        }
        for (const auto& entry : fs::directory_iterator(root / "tmp")) {
            return "left over: " + entry.path().native();
        }
        return {};
    }
};

Moment moment_of(explorer::Chance& chance) {
    Moment moment;
    const std::uint64_t count = 1 + chance.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
        Doing doing;
        constexpr Deed kDeeds[] = {Deed::kAdd,
                                   Deed::kAdd,
                                   Deed::kAddWithoutName,
                                   Deed::kTag,
                                   Deed::kTag,
                                   Deed::kUntag,
                                   Deed::kRemove,
                                   Deed::kCollect,
                                   Deed::kCollect};
        doing.deed = kDeeds[chance.below(std::size(kDeeds))];
        doing.image = static_cast<unsigned>(chance.below(kImages));
        doing.name = static_cast<unsigned>(chance.below(kNames));
        if (chance.below(2) == 0) {
            doing.killed_at = 1 + chance.below(chance.below(2) == 0 ? 150 : 800);
        }
        moment.doings.push_back(doing);
    }
    moment.order = chance.next();
    return moment;
}

struct StoreCounts {
    std::map<std::string, int> counts;
};

std::string tell_store_story(const std::vector<Moment>& story, StoreCounts& counts) {
    StoreWorld world;
    for (const Moment& moment : story) {
        std::vector<explorer::Part> parts;
        parts.reserve(moment.doings.size());
        for (const Doing& doing : moment.doings) {
            parts.push_back({[&world, doing] { return world.act(doing); }, doing.killed_at});
        }
        const auto ends = explorer::run_in_turns(parts, moment.order);
        for (const auto& end : ends) {
            ++counts.counts[!end ? "killed" : *end == 0 ? "done" : "refused"];
        }
        if (std::string trouble = world.check(moment, ends); !trouble.empty()) {
            return trouble;
        }
    }
    return world.check_end();
}

std::string text_of_moments(const std::vector<Moment>& story) {
    constexpr const char* kWords[] = {
        "add", "add without name", "tag", "untag", "remove", "collect"};
    std::string text;
    for (const Moment& moment : story) {
        for (const Doing& doing : moment.doings) {
            text += fmt::format("{} image {} name {} killed at {}; ",
                                kWords[static_cast<unsigned>(doing.deed)],
                                doing.image,
                                doing.name,
                                doing.killed_at);
        }
        text += fmt::format("in order {}\n", moment.order);
    }
    return text;
}

} // namespace

TEST_CASE("what a name of a store stands for is there, whatever happens at once and is killed") {
    const std::uint64_t count = explorer::setting("CYBELE_STORE_STORIES", 12);
    const std::uint64_t first = explorer::setting("CYBELE_STORE_SEED", 1);
    StoreCounts counts;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        explorer::Chance chance(seed);
        std::vector<Moment> story;
        story.reserve(12);
        for (int i = 0; i < 12; ++i) {
            story.push_back(moment_of(chance));
        }
        const std::string trouble = tell_store_story(story, counts);
        if (!trouble.empty()) {
            StoreCounts ignored;
            const auto least = explorer::shrunk<Moment>(story, [&](const auto& shorter) {
                return !tell_store_story(shorter, ignored).empty();
            });
            FAIL("seed " << seed << ": " << trouble << "\n"
                         << text_of_moments(least) << tell_store_story(least, ignored));
        }
    }
    MESSAGE(count << " stories: " << counts.counts["done"] << " done, " << counts.counts["refused"]
                  << " refused, " << counts.counts["killed"] << " killed");
    CHECK(counts.counts["done"] > 0);
    CHECK(counts.counts["refused"] > 0);
    CHECK(counts.counts["killed"] > 0);
}
