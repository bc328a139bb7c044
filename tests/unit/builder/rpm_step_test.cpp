// SPDX-License-Identifier: Apache-2.0
// What dnf and zypper download in a step: kept as it comes, laid into the next tree, and taken away
// where nothing needed it.
#include "builder/rpm_step.hpp"
#include "temporary.hpp"

#include <functional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

const fs::path kPackage = "toy-1/packages/hello-1.rpm";

/// A cache, and trees of a distribution.
struct Trees {
    TempDirectory directory = temporary();
    registry::Cache cache{directory.path() / "cache"};

    [[nodiscard]] fs::path tree(const std::string& name,
                                const std::string& release = "ID=toy\nVERSION_ID=\"9.4\"\n") const {
        fs::path root = directory.path() / name;
        fs::create_directories(root / "var" / "cache");
        put(root / "etc" / "os-release", release);
        return root;
    }
    /// Does in the tree what a script does.
    [[nodiscard]] PackageCount step(const fs::path& tree,
                                    const std::function<void()>& script) const {
        auto root = images::RootDirectory::open(tree);
        REQUIRE(root);
        StepRpms rpms(cache, std::move(*root), directory.path() / "copies", "/home/user/app.def");
        rpms.begin();
        script();
        return rpms.end();
    }
};

timespec modified(const fs::path& path) {
    struct stat status = {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mtim;
}

bool is_same(const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

} // namespace

TEST_CASE("scripts that name a tool of rpm, and no others") {
    for (const char* script : {"dnf -y install x",
                               "cd /;/usr/bin/microdnf install x",
                               "if ! zypper -n in x; then",
                               "x=$(yum list)",
                               "dnf5 install x\n"}) {
        CHECK(installs_by_rpm(script));
    }
    for (const char* script :
         {"", "apt-get install dnfdragora", "yummy", "my_dnf", "echo zyppers"}) {
        CHECK_FALSE(installs_by_rpm(script));
    }
}

TEST_CASE("packages are kept although the tool removes them, however it puts them there") {
    // As dnf does; as dnf 5; by a new name; by a link, as zypper.
    const std::map<std::string, std::function<void(const fs::path&)>> tools = {
        {"dnf", [](const fs::path& to) { put(to, "a package"); }},
        {"libdnf5", [](const fs::path& to) { put(to, "a package"); }},
        {"yum",
         [](const fs::path& to) {
             put(to.native() + ".part", "a package");
             fs::rename(to.native() + ".part", to);
         }},
        {"zypp", [](const fs::path& to) {
             put(to.parent_path() / ".x", "a package");
             fs::create_hard_link(to.parent_path() / ".x", to);
         }}};
    for (const auto& [folder, fetch] : tools) {
        CAPTURE(folder);
        const Trees place;
        const fs::path tree = place.tree("tree");
        const fs::path package = tree / "var" / "cache" / folder / kPackage;
        const PackageCount first = place.step(tree, [&, &fetch = fetch, &folder = folder] {
            fs::create_directories(package.parent_path());
            fetch(package);
            ::usleep(100'000); // it is installed
            fs::remove_all(tree / "var" / "cache" / folder);
        });
        CHECK(first.fetched == 1);
        CHECK(first.reused == 0);
        CHECK_FALSE(fs::exists(package));
        REQUIRE(place.cache.list().size() == 1);
        CHECK(place.cache.list().front().about.find("hello-1.rpm") != std::string::npos);

        const fs::path next = place.tree("next", "ID=toy\nVERSION_ID=\"9.5\"\n");
        const fs::path laid = next / "var" / "cache" / folder / kPackage;
        const PackageCount second = place.step(next, [&] {
            CHECK(read_file(laid).value_or("") == "a package"); // and so it is needed
        });
        CHECK(second.reused == 1);
        CHECK(second.fetched == 0);
        CHECK(fs::exists(laid));

        const fs::path other = place.tree("other", "ID=toy\nVERSION_ID=\"8.5\"\n");
        const PackageCount third = place.step(other, [&] {
            CHECK(fs::is_empty(other / "var" / "cache")); // of another distribution
        });
        CHECK(third.text().empty());
    }
}

TEST_CASE("what nothing needed is taken away, and the tree is as it was") {
    const Trees place;
    const fs::path tree = place.tree("tree");
    (void)place.step(tree, [&] {
        put(tree / "var/cache/dnf" / kPackage, "a package");
        ::usleep(100'000);
        fs::remove_all(tree / "var/cache/dnf");
    });
    const fs::path next = place.tree("next");
    const timespec before = modified(next / "var/cache");
    const PackageCount count = place.step(next, [&] {
        ::usleep(20'000);
        CHECK(fs::exists(next / "var/cache/dnf" / kPackage));
    });
    CHECK(count.text().empty());
    CHECK(fs::is_empty(next / "var/cache"));
    CHECK(is_same(modified(next / "var/cache"), before));
    // Where the step did something itself, that stays.
    put(next / "var/cache/dnf/toy-1/packages/mine.rpm", "mine");
    const timespec inner = modified(next / "var/cache/dnf/toy-1/packages");
    (void)place.step(next, [&] {
        ::usleep(20'000);
        put(next / "var/cache/dnf/toy-1/repodata/primary.xml", "an index");
        CHECK(fs::exists(next / "var/cache/dnf" / kPackage));
    });
    CHECK(fs::exists(next / "var/cache/dnf/toy-1/repodata/primary.xml"));
    CHECK(fs::exists(next / "var/cache/dnf/toy-1/packages/mine.rpm"));
    CHECK_FALSE(fs::exists(next / "var/cache/dnf" / kPackage));
    CHECK(is_same(modified(next / "var/cache/dnf/toy-1/packages"), inner));
}

TEST_CASE("what the tree has itself stays; another file in the place of a kept one is kept, too") {
    const Trees place;
    const fs::path tree = place.tree("tree");
    const fs::path package = tree / "var/cache/dnf" / kPackage;
    (void)place.step(tree, [&] { put(package, "a package"); });
    put(package, "the tree's own");
    (void)place.step(tree, [&] { CHECK(content(package) == "the tree's own"); });
    CHECK(content(package) == "the tree's own");
    const fs::path next = place.tree("next");
    const PackageCount count = place.step(next, [&] {
        put(next / "var/cache/dnf" / kPackage, "a newer package"); // of the same name
    });
    CHECK(count.fetched == 1);
    CHECK(count.reused == 0);
    CHECK(content(next / "var/cache/dnf" / kPackage) == "a newer package");
    CHECK(place.cache.list().size() == 2);
}

TEST_CASE("links, pipes and folders without end lead nowhere") {
    const Trees place;
    const fs::path tree = place.tree("tree");
    const fs::path outside = place.directory.path() / "outside";
    put(outside / "secret.rpm", "secret");
    (void)place.step(tree, [&] { put(tree / "var/cache/dnf" / kPackage, "a package"); });
    const PackageCount count = place.step(tree, [&] {
        const fs::path folder = tree / "var/cache/dnf/evil";
        fs::create_directories(folder);
        fs::create_symlink(outside / "secret.rpm", folder / "link.rpm");
        fs::create_directory_symlink(outside, folder / "links");
        REQUIRE(::mkfifo((folder / "pipe.rpm").c_str(), 0600) == 0);
        put(folder / "line\nbreak.rpm", "x");
        fs::path deep = folder;
        for (int i = 0; i < 200; ++i) {
            deep /= "d";
            fs::create_directory(deep);
        }
    });
    CHECK(count.fetched == 0);
    CHECK(place.cache.list().size() == 1);
    // The tools' own folder is a link, into the tree, out of it, or to nothing.
    for (const fs::path& target : {fs::path("/etc"), outside, fs::path("/nowhere")}) {
        const fs::path next = place.tree("next");
        fs::create_directory_symlink(target, next / "var/cache/dnf");
        (void)place.step(next, [] {});
        CHECK(fs::read_symlink(next / "var/cache/dnf") == target);
        CHECK_FALSE(fs::exists(next / "etc/toy-1"));
        CHECK_FALSE(fs::exists(outside / "toy-1"));
        fs::remove_all(next);
    }
    const fs::path bare = place.directory.path() / "bare"; // no var/cache, and no release
    fs::create_directory(bare);
    CHECK(place.step(bare, [] {}).text().empty());
    CHECK(fs::is_empty(bare));
}
