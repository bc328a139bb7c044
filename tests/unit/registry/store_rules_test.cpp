// SPDX-License-Identifier: Apache-2.0
// The rules of a store: whose name it is, what comes in, what goes out, and what is swept away.
#include "images/keys/new.hpp"
#include "images/signatures/signature.hpp"
#include "registry/store/stored_file.hpp"
#include "support/process.hpp"
#include "tests/unit/registry/shop.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {
namespace {

namespace fs = std::filesystem;

constexpr DatabaseUse kRuleIndex{"the index", "make room", "look", "look again"};

using Names = std::vector<std::string>;

StoreName named(const std::string& text) {
    return *read_store_argument(text);
}

/// The file of an image with the text, signed.
fs::path signed_image(const Shop& shop, const std::string& text) {
    fs::path file = shop.image(text);
    const fs::path key = shop.folder.path() / (text + ".pem");
    REQUIRE(images::new_key(key, "ed25519"));
    REQUIRE(images::sign_image(file, key, kNow));
    return file;
}

Arrival arrival_of(const std::string& name) {
    Arrival arrival;
    arrival.now = kNow;
    arrival.origin = "a file";
    if (!name.empty()) {
        arrival.name = *read_new_name(name);
    }
    return arrival;
}

std::string fault_of(const Error& error) {
    return error.faults().front().id;
}

std::string help_for(const Shop& shop, const std::string& name) {
    const auto found = shop.store.find(named(name));
    REQUIRE_FALSE(found);
    return found.error().faults().front().help;
}

mode_t mode_of_file(const fs::path& file) {
    struct stat status {};
    REQUIRE(::stat(file.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

bool has_private_files(const fs::path& folder) {
    return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(), [](const auto& e) {
        return e.path().filename().native().find(".new.") != std::string::npos;
    });
}

} // namespace

TEST_CASE("the name of a signed image does not go to one without a signature, unless allowed") {
    Shop shop;
    const auto first = shop.store.add(signed_image(shop, "first"), arrival_of("app"));
    REQUIRE(first);
    const auto plain = shop.add("plain", "plain");
    Arrival arrival = arrival_of("app");
    const auto refused = shop.store.add(shop.image("plain"), arrival);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kInput);
    CHECK(fault_of(refused.error()) == "stored-name-signed");
    CHECK(fault_of(shop.store.tag(plain, named("app")).error()) == "stored-name-signed");
    CHECK(shop.store.find(named("app"))->record.digest == first->record.digest);

    // A name of its own, the same image again, another signed one, and a name nobody has.
    REQUIRE(shop.store.tag(*first, named("app")));
    REQUIRE(shop.store.tag(plain, named("app:next")));
    const auto second = shop.store.add(signed_image(shop, "second"), arrival_of("app"));
    REQUIRE(second);
    CHECK(shop.store.find(named("app"))->record.digest == second->record.digest);
    CHECK(shop.store.find_digest(first->record.digest)->value().record.names.empty());

    REQUIRE(shop.store.tag(plain, named("app"), true));
    CHECK(shop.store.find(named("app"))->record.digest == plain.record.digest);
    REQUIRE(shop.store.tag(*second, named("app")));
    arrival.may_unsign = true;
    REQUIRE(shop.store.add(shop.image("plain"), arrival));
    CHECK(shop.store.find(named("app"))->record.digest == plain.record.digest);
    REQUIRE(shop.add("other", "app").record.digest != plain.record.digest); // neither is signed
}

TEST_CASE("a name that is not there: the help has what is near it, or lists the images") {
    Shop shop;
    shop.add("jq", "centre/jq:1.0");
    shop.add("solver", "solver:2024a");
    CHECK(help_for(shop, "solver:2025b") == "did you mean 'solver:2024a'?");
    CHECK(help_for(shop, "solver") == "did you mean 'solver:2024a'?");
    CHECK(help_for(shop, "jq:1.0") == "did you mean 'centre/jq:1.0'?");
    CHECK(help_for(shop, "jq") == "did you mean 'centre/jq:1.0'?");
    CHECK(help_for(shop, "weather:1") == "`cybelectl image list` shows the stored images");
    CHECK(help_for(shop, "sha256:" + std::string(64, '0')).starts_with("`cybelectl image list`"));
    CHECK(help_for(shop, "sha256:000000").starts_with("`cybelectl image list`"));
    const auto both = shop.store.find(StoreName{"", "", "sha256:"});
    REQUIRE_FALSE(both);
    CHECK(fault_of(both.error()) == "stored-digest-ambiguous");
    CHECK(both.error().message() == "sha256: is the beginning of 2 digests");
    CHECK(fault_of(read_new_name("sha256:1").error()) == "stored-name-malformed");
    CHECK(read_new_name("sha256x:1")->text() == "sha256x:1");
    shop.add("so", "so:latest"); // nearer to `sol` by its letters
    shop.add("sol", "sol:1");
    CHECK(help_for(shop, "sol") == "did you mean 'sol:1'?");
}

TEST_CASE("images are listed by their first names, those without a name last") {
    Shop shop;
    shop.add("one", "");
    shop.add("two", "b:2");
    shop.add("three", "");
    shop.add("four", "c:1");
    shop.add("four", "a:9");
    shop.add("two", "z:1");
    std::vector<Names> names;
    const auto listed = shop.store.list(kNow);
    for (const StoredImage& image : *listed) {
        names.push_back(image.record.names);
        CHECK_FALSE(image.is_leased);
    }
    CHECK(names == std::vector<Names>{{"a:9", "c:1"}, {"b:2", "z:1"}, {}, {}});
}

TEST_CASE("what is known of an image is what it came with first, and where registries have it") {
    Shop shop;
    fs::path file = shop.folder.path() / "root.sif";
    images::NewImage made;
    images::NewObject partition;
    partition.type = images::DataType::kPartition;
    partition.extra =
        images::partition_extra(images::FsType::kSquashfs, images::PartType::kPrimary, "arm64");
    partition.bytes = "p";
    made.objects.push_back(partition);
    REQUIRE(images::write_image(file, made));
    Arrival arrival = arrival_of("a");
    arrival.origin = "oras://first";
    arrival.repository = "reg/b";
    arrival.digest = *digest_of_file(file);
    const auto first = shop.store.add(file, arrival);
    REQUIRE(first);
    CHECK(first->record.architecture == "arm64");
    CHECK(first->record.size == fs::file_size(file));
    arrival.origin = "oras://second";
    arrival.repository = "reg/a";
    arrival.now = kNow + 5;
    REQUIRE(shop.store.add(file, arrival));
    REQUIRE(shop.store.note_repository(first->record.digest, "reg/c"));
    REQUIRE(shop.store.note_repository(first->record.digest, "reg/c"));
    REQUIRE(shop.store.note_repository("sha256:" + std::string(64, '1'), "reg/c")); // not here
    const auto check = [&](const Store& store) {
        const Record record = store.find(named("a"))->record;
        CHECK(record.origin == "oras://first");
        CHECK(record.created == kNow);
        CHECK(record.architecture == "arm64");
        CHECK(record.repositories == Names{"reg/a", "reg/b", "reg/c"});
    };
    check(shop.store);
    fs::remove(shop.root / "index.sqlite");
    check(*Store::open(shop.root));
    CHECK(*shop.store.is_coming(first->record.digest));
    CHECK_FALSE(*shop.store.is_coming("sha256:" + std::string(64, '1')));
}

TEST_CASE("what is no file is refused with what it is") {
    Shop shop;
    const auto because = [&](const fs::path& file) {
        const auto added = shop.store.add(file, arrival_of("a"));
        REQUIRE_FALSE(added);
        CHECK(added.error().code() == ErrorCode::kInput);
        return added.error().faults().front().because;
    };
    CHECK(because(shop.folder.path()) == "it is a folder");
    CHECK(because("/dev/null") == "it is a device");
    REQUIRE(write_file(shop.folder.path() / "text", "no image\n"));
    const std::string why = because(shop.folder.path() / "text");
    CHECK(why.find("tmp/add-") == std::string::npos); // the name of a copy is nobody's concern
    Arrival link = arrival_of("");
    link.is_link = true;
    CHECK_FALSE(shop.store.add(shop.folder.path() / "text", link));
    CHECK(fs::is_empty(shop.root / "tmp"));
}

TEST_CASE("when an image was used is noted once a minute") {
    Shop shop;
    const auto image = shop.add("one", "one", kNow);
    const auto used_at = [&](std::int64_t now) {
        mark_used(shop.store.place(), image.record.digest, now);
        return last_used(shop.store.place(), image.record.digest);
    };
    CHECK(last_used(shop.store.place(), image.record.digest) == kNow);
    CHECK(used_at(kNow + 60) == kNow);
    CHECK(used_at(kNow + 61) == kNow + 61);
    CHECK(used_at(kNow) == kNow + 61); // never back
    CHECK(last_used(shop.store.place(), "sha256:" + std::string(64, '1')) == 0);
    REQUIRE(shop.store.use(image, kNow + kHour));
    CHECK(shop.store.find(named("one"))->used == kNow + kHour);
    REQUIRE(shop.store.tag(image, named("two"))); // a name is no use
    CHECK(shop.store.find(named("one"))->used == kNow + kHour);
}

TEST_CASE("a damage that the file's times do not show is refused from its discovery on") {
    Shop shop;
    const auto image = shop.add("one", "one");
    const auto other = shop.add("other", "other");
    auto bytes = *read_file(image.path);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    REQUIRE(::chmod(image.path.c_str(), 0644) == 0);
    REQUIRE(write_file(image.path, bytes));
    const BlobState state = *blob_state(image.path);
    const auto database =
        Database::open(shop.root / "index.sqlite", Database::Mode::kChange, kRuleIndex);
    auto statement =
        database->prepare("UPDATE image SET inode = ?, modified = ?, changed = ? WHERE digest = ?");
    REQUIRE(statement->bind(state.inode)
                .bind(state.modified)
                .bind(state.changed)
                .bind(image.record.digest)
                .run());
    CHECK(shop.store.use(image, kNow)); // as if a disk had done it
    std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;
    const auto damages =
        shop.store.verify({image, other}, [&](std::uint64_t done, std::uint64_t total) {
            steps.emplace_back(done, total);
        });
    REQUIRE(damages);
    REQUIRE(damages->size() == 1);
    CHECK(damages->front().digest == image.record.digest);
    CHECK(damages->front().names == Names{"one:latest"});
    CHECK(damages->front().because == "the digest of its file is " + *digest_of_file(image.path));
    const std::uint64_t size = image.record.size;
    const std::uint64_t both = size + other.record.size;
    CHECK(steps ==
          std::vector<std::pair<std::uint64_t, std::uint64_t>>{{size, both}, {both, both}});
    CHECK(shop.store.use(image, kNow).error().code() == ErrorCode::kVerification);
    CHECK(shop.store.use(other, kNow));
    CHECK(shop.store.find(named("one"))->record.digest == image.record.digest);
}

TEST_CASE("removal: the image, its record and its names go; others in its folder stay") {
    Shop shop;
    const auto image = shop.add("one", "one");
    const fs::path neighbour = image.path.parent_path() / "neighbour";
    REQUIRE(write_file(neighbour, ""));
    REQUIRE(shop.store.remove(image, false, kNow));
    CHECK_FALSE(fs::exists(image.path));
    CHECK_FALSE(fs::exists(image.path.native() + ".json"));
    CHECK(fs::exists(neighbour));
    CHECK_FALSE(shop.store.find(named("one")));
    REQUIRE(shop.store.remove(image, false, kNow)); // it is gone already
    const auto again = shop.add("one", "");
    fs::remove(neighbour);
    REQUIRE(shop.store.remove(again, false, kNow));
    CHECK_FALSE(fs::exists(image.path.parent_path()));
}

TEST_CASE("gc: what a killed process left has its names, unless another image has them now") {
    Shop shop;
    const auto one = shop.add("one", "app");
    REQUIRE(shop.store.tag(one, named("kept:1")));
    const auto database =
        Database::open(shop.root / "index.sqlite", Database::Mode::kChange, kRuleIndex);
    REQUIRE(database->run("DELETE FROM image"));
    REQUIRE(database->run("DELETE FROM ref"));
    const auto two = shop.add("two", "app");
    Collection wishes;
    wishes.now = kNow;
    wishes.is_dry = true;
    REQUIRE(shop.store.collect(wishes)); // looks, and changes nothing
    CHECK_FALSE(shop.store.find(named("kept:1")));
    wishes.is_dry = false;
    REQUIRE(shop.store.collect(wishes));
    CHECK(shop.store.find(named("app"))->record.digest == two.record.digest);
    CHECK(shop.store.find(named("kept:1"))->record.digest == one.record.digest);
    CHECK(shop.store.find(named("kept:1"))->record.names == Names{"kept:1"});
    CHECK(shop.store.find(named("kept:1"))->record.size == one.record.size);
    CHECK(shop.store.use(*shop.store.find(named("kept:1")), kNow));
    CHECK(read_sidecar(shop.store.place(), one.record.digest)->names == Names{"kept:1"});
    fs::remove(shop.root / "index.sqlite"); // nor in an index that is made again
    CHECK(Store::open(shop.root)->find(named("app"))->record.digest == two.record.digest);
}

TEST_CASE("gc: what goes for want of a name counts before an image with one goes for the size") {
    Shop shop;
    const auto loose = shop.add("loos", "", kNow - kDay);
    const auto older = shop.add("olde", "older", kNow - 3 * kDay);
    const auto newer = shop.add("newe", "newer", kNow - 2 * kDay);
    const std::uint64_t size = loose.record.size;
    REQUIRE(older.record.size == size);
    Collection wishes;
    wishes.now = kNow;
    wishes.maximum_size = 2 * size;
    wishes.is_dry = true;
    const auto shown = shop.store.collect(wishes);
    REQUIRE(shown->removed.size() == 1);
    CHECK(shown->removed[0].record.digest == loose.record.digest);
    CHECK(shown->freed == size);
    CHECK(shown->left == 2 * size);
    CHECK(shop.digests().size() == 3);
    wishes.maximum_size = size;
    wishes.is_dry = false;
    const auto collected = shop.store.collect(wishes);
    CHECK(collected->freed == 2 * size);
    CHECK(collected->left == size);
    CHECK(shop.digests() == std::vector{newer.record.digest});
}

TEST_CASE("gc: an image without a name stays for a while after it came, or was used") {
    Shop shop;
    const auto image = shop.add("one", "", kNow - 2 * kDay);
    mark_used(shop.store.place(), image.record.digest, kNow - kHour);
    Collection wishes;
    wishes.now = kNow - 1;
    CHECK(shop.store.collect(wishes)->removed.empty());
    wishes.now = kNow;
    CHECK(shop.store.collect(wishes)->removed.size() == 1);
}

TEST_CASE("gc: a file that a process still writes is not swept") {
    Shop shop;
    const fs::path file = shop.root / "tmp" / "add-1";
    REQUIRE(write_file(file, "half"));
    const timespec times[] = {{kNow - kDay, 0}, {kNow - kDay, 0}};
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
    Collection wishes;
    wishes.now = kNow;
    {
        const auto lock = try_lock(file);
        REQUIRE(lock->valid());
        CHECK(shop.store.collect(wishes)->temporary == 0);
        CHECK(fs::exists(file));
    }
    wishes.is_dry = true;
    CHECK(shop.store.collect(wishes)->temporary == 1);
    CHECK(fs::exists(file));
    wishes.is_dry = false;
    CHECK(shop.store.collect(wishes)->temporary == 1);
    CHECK_FALSE(fs::exists(file));
}

TEST_CASE("out of the store: to a file that can be one, and by force over another") {
    Shop shop;
    const auto image = shop.add("one", "one");
    const fs::path out = shop.folder.path() / "out.sif";
    const auto fault = [&](const Output& output) {
        const auto checked = check_output(output);
        return checked ? std::string() : fault_of(checked.error());
    };
    CHECK(fault({out}) == "");
    CHECK(fault({"-"}) == "image-to-standard-output");
    CHECK(fault({shop.folder.path()}) == "export-place-is-folder");
    CHECK(fault({shop.folder.path(), false, true}) == "export-place-is-folder");
    REQUIRE(write_file(out, "of somebody"));
    CHECK(fault({out}) == "export-file-exists");
    CHECK(fault({out, true}) == "export-file-exists");
    CHECK(fault({out, false, true}) == "");
    CHECK_FALSE(shop.store.put_out(image, {out, true}, kNow, {}));
    CHECK(read_file(out).value_or("") == "of somebody");

    std::uint64_t seen = 0;
    const mode_t before = ::umask(022);
    const auto way = shop.store.put_out(
        image, {out, false, true}, kNow, [&](std::uint64_t done, std::uint64_t) { seen = done; });
    ::umask(before);
    REQUIRE(way);
    CHECK(*way != CopyMethod::kLink);
    CHECK(seen == (*way == CopyMethod::kCopy ? image.record.size : 0));
    CHECK(mode_of_file(out) == 0755);
    CHECK(*digest_of_file(out) == image.record.digest);
    for (int i = 0; i < 2; ++i) { // the second time both names are of one file
        CHECK(*shop.store.put_out(image, {out, true, true}, kNow, {}) == CopyMethod::kLink);
        CHECK_FALSE(has_private_files(shop.folder.path()));
        CHECK(fs::hard_link_count(out) == 2);
    }
    CHECK(std::string(copy_method_name(CopyMethod::kLink)) == "link");
    CHECK(std::string(copy_method_name(CopyMethod::kCopy)) == "copy");
    CHECK(std::string(copy_method_name(CopyMethod::kReflink)) == "reflink");
}

TEST_CASE("a file of a store is known by its place, by a link to it, and as another name of it") {
    Shop shop;
    const auto image = shop.add("one", "one");
    const Place& place = shop.store.place();
    const fs::path folder = shop.folder.path();
    CHECK(is_stored_file(place, image.path));
    fs::create_symlink(image.path, folder / "symbolic.sif");
    CHECK(is_stored_file(place, folder / "symbolic.sif"));
    CHECK(is_stored_file(Place(folder / "elsewhere"), image.path)); // of any store
    fs::create_hard_link(image.path, folder / "hard.sif");
    CHECK(is_stored_file(place, folder / "hard.sif"));
    CHECK(is_stored_file(Place(folder / "elsewhere"), folder / "hard.sif")); // it may be one
    REQUIRE(::chmod(image.path.c_str(), 0644) == 0);
    CHECK(is_stored_file(place, folder / "hard.sif"));
    CHECK_FALSE(is_stored_file(Place(folder / "elsewhere"), folder / "hard.sif"));

    const fs::path own = shop.image("own");
    REQUIRE(::chmod(own.c_str(), 0444) == 0);
    CHECK_FALSE(is_stored_file(place, own));
    fs::create_hard_link(own, folder / "second.sif");
    CHECK(is_stored_file(place, own));
    REQUIRE(::chmod(own.c_str(), 0644) == 0);
    CHECK_FALSE(is_stored_file(place, own));
    CHECK_FALSE(is_stored_file(place, folder / "none"));
    REQUIRE(make_directories(folder / "sandbox/bin")); // a directory has several links, too
    REQUIRE(::chmod((folder / "sandbox").c_str(), 0555) == 0);
    CHECK_FALSE(is_stored_file(place, folder / "sandbox"));
    REQUIRE(::chmod((folder / "sandbox").c_str(), 0755) == 0);
    // The form of its place alone makes no store.
    const fs::path like = folder / "blobs" / "sha256" / "ab" / std::string(62, 'c');
    REQUIRE(make_directories(like.parent_path()));
    REQUIRE(write_file(like, ""));
    CHECK_FALSE(is_stored_file(place, like));
    REQUIRE(write_file(folder / "format", "1\n"));
    CHECK(is_stored_file(place, like));
}

TEST_CASE("where the store is: a variable of its own, the user's data folder, or the home") {
    EnvironmentMap variables{{"HOME", "/h"}};
    const auto folder = [&] { return store_directory(Environment(variables)); };
    CHECK(folder() == "/h/.local/share/cybelectl/store");
    variables["XDG_DATA_HOME"] = "/data";
    CHECK(folder() == "/data/cybelectl/store");
    variables["XDG_DATA_HOME"] = "relative";
    CHECK(folder() == "/h/.local/share/cybelectl/store");
    variables["CYBELE_STORE"] = "/s";
    CHECK(folder() == "/s");
}

TEST_CASE("a sidecar that describes another image, or nothing, is no record") {
    Shop shop;
    const auto image = shop.add("one", "one");
    const Place& place = shop.store.place();
    const std::string& digest = image.record.digest;
    const std::string text = *read_file(place.sidecar(digest));
    REQUIRE(read_sidecar(place, digest));
    CHECK(read_sidecar(place, digest)->size == image.record.size);
    CHECK(read_sidecar(place, digest)->names == Names{"one:latest"});
    std::string other = text;
    other.replace(other.find(digest), digest.size(), "sha256:" + std::string(64, '0'));
    for (const std::string& bytes : {other, std::string(), std::string("{}"), std::string("[1]")}) {
        CAPTURE(bytes);
        REQUIRE(write_file(place.sidecar(digest), bytes));
        const auto read = read_sidecar(place, digest);
        REQUIRE_FALSE(read);
        CHECK(read.error().code() == ErrorCode::kInput);
    }
}

} // namespace cybele::registry
