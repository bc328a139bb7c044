// SPDX-License-Identifier: Apache-2.0
// Downloaded packages: what a method kept is taken over by content, and only as what it is. The
// method itself runs in front of one that answers as apt's does.
#include "builder/bases/rpm_packages.hpp"
#include "builder/steps/packages.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/process.hpp"
#include "temporary.hpp"

#include <string>

#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kKind = "packages";

struct Shelf {
    TempDirectory directory = temporary();
    registry::Cache cache{directory.path() / "cache"};
    PackageCache packages{cache, "/home/user/app.def"};
    fs::path kept = directory.path() / "kept";

    [[nodiscard]] std::string keep(const std::string& bytes, const std::string& name) const {
        std::string digest = hex(sha256(bytes));
        put(kept / digest, bytes);
        std::ofstream(kept / "names", std::ios::app) << digest << ' ' << name << '\n';
        return digest;
    }
};

} // namespace

TEST_CASE("what was fetched is kept by content, with its name, and counted") {
    const Shelf place;
    const std::string digest = place.keep("bytes of a package", "tool_1.0_amd64.deb");
    const PackageCount count = place.packages.take(place.kept);
    CHECK(count.fetched == 1);
    CHECK(count.text() == "0 packages and lists from the cache, 1 downloaded");
    REQUIRE(place.cache.get(kKind, digest));
    CHECK(place.cache.path(kKind, digest).filename() == digest + ".package");
    REQUIRE(place.cache.list().size() == 1);
    CHECK(place.cache.list().front().about.find("tool_1.0_amd64.deb") != std::string::npos);
    fs::remove(place.kept / digest);
    put(place.kept / "used", digest + "\n" + digest + " no digest\n");
    CHECK(place.packages.take(place.kept).reused == 1);
}

TEST_CASE("what is not what its name says, a link or a pipe is not kept") {
    const Shelf place;
    const std::string forged(64, '7');
    const std::string linked(64, '8');
    put(place.kept / forged, "forged");
    fs::create_symlink("/etc/passwd", place.kept / linked);
    REQUIRE(::mkfifo((place.kept / "names").c_str(), 0600) == 0);
    CHECK(place.packages.take(place.kept).fetched == 1);
    CHECK(place.cache.list().empty());
    fs::remove_all(place.kept);
    fs::create_directory_symlink("/etc", place.kept);
    CHECK(place.packages.take(place.kept).text().empty());
}

TEST_CASE("a damaged entry is replaced by what was fetched again") {
    const Shelf place;
    const std::string digest = place.keep("good bytes", "a.deb");
    REQUIRE(place.packages.take(place.kept).fetched == 1);
    put(place.cache.path(kKind, digest), "evil bytes");
    (void)place.keep("good bytes", "a.deb");
    CHECK(place.packages.take(place.kept).fetched == 1);
    CHECK(content(place.cache.path(kKind, digest)) == "good bytes");
}

TEST_CASE("entries that a build holds are not removed") {
    const Shelf place;
    (void)place.keep("bytes", "a.deb");
    REQUIRE(place.packages.take(place.kept).fetched == 1);
    {
        const auto held = place.packages.hold();
        REQUIRE(held);
        CHECK_FALSE(registry::Cache::remove(place.cache.list().front()));
    }
    CHECK(registry::Cache::remove(place.cache.list().front()));
}

TEST_CASE("the method answers from the store what fits its digest, and passes on the rest") {
    const Shelf place;
    const fs::path methods = place.directory.path() / "methods";
    fs::create_directories(methods / "store");
    REQUIRE(PackageCache::write_methods(methods));
    const fs::path partial = place.directory.path() / "root/var/cache/apt/archives/partial";
    const fs::path kept = place.directory.path() / "root/var/cache/apt/kept";
    fs::create_directories(partial);
    fs::create_directories(kept);
    const std::string known = hex(sha256("known"));
    const std::string damaged = hex(sha256("damaged"));
    put(methods / "store" / (known + ".package"), "known");
    put(methods / "store" / (damaged + ".package"), "other");
    // In the place of apt's own method: says what it was asked for, and that it is done.
    const fs::path real = place.directory.path() / "real";
    put(real,
        "#!/bin/sh\nwhile IFS= read -r line; do case $line in 'Filename: '*) file=${line#*: }; "
        "printf brought >\"$file\"; printf '201 URI Done\\nURI: x\\nFilename: %s\\nSHA256-Hash: " +
            hex(sha256("brought")) + "\\n\\n' \"$file\";; esac; done\n");
    REQUIRE(::chmod(real.c_str(), 0755) == 0);
    std::string text = content(methods / "http");
    const std::string line = "real=/usr/lib/apt/methods/${0##*/}";
    REQUIRE(text.find(line) != std::string::npos);
    put(methods / "http", text.replace(text.find(line), line.size(), "real=" + real.native()));

    Command command;
    command.argv = {"/bin/sh", (methods / "http").native()};
    const auto ask = [&](const std::string& digest, const std::string& name) {
        return "600 URI Acquire\nURI: http://mirror/" + name +
               "\nFilename: " + (partial / name).native() + "\nExpected-SHA256: " + digest + "\n\n";
    };
    command.input = ask(known, "known") + ask(damaged, "damaged");
    const auto outcome = run_process(command);
    REQUIRE(outcome);
    CHECK(outcome->errors.empty());
    CHECK(content(partial / "known") == "known");
    CHECK(content(partial / "damaged") == "brought");
    CHECK(outcome->output.find("URI: http://mirror/known\n") != std::string::npos);
    CHECK(content(kept / "used") == known + "\n");
    CHECK(content(kept / hex(sha256("brought"))) == "brought");
    CHECK(content(kept / "names") == hex(sha256("brought")) + " damaged\n");
}

TEST_CASE(
    "packages of rpm: found by their repositories, laid below the tool's folder and nowhere else") {
    const Shelf place;
    RpmBase base;
    base.repositories = {{"base", "http://localhost/toy"}};
    const fs::path tool = place.directory.path() / "tree" / "cache";
    const fs::path package = fs::path("base-1") / "packages" / "hello-1.rpm";
    put(tool / package, "a package");
    put(tool / "base-1" / "repodata" / "primary.xml", "an index");
    fs::create_symlink("/etc/passwd", tool / "base-1" / "linked.rpm");
    RpmPackages first(place.cache, base, tool, "/home/user/app.def");
    CHECK(first.take().fetched == 1);
    REQUIRE(place.cache.list().size() == 1);

    fs::remove_all(tool);
    RpmPackages again(place.cache, base, tool, "/home/user/app.def");
    again.place();
    CHECK(read_file(tool / package).value_or("") == "a package");
    CHECK(again.take().reused == 1);

    fs::remove_all(tool);
    RpmBase other = base;
    other.repositories.front().address += "/2";
    RpmPackages elsewhere(place.cache, other, tool, "/home/user/app.def");
    elsewhere.place();
    CHECK_FALSE(fs::exists(tool / package));

    // A note that leads out of the folder.
    std::string about = place.cache.list().front().about;
    const std::string& name = package.native();
    about.replace(about.find(name), name.size(), "../../out.rpm");
    place.cache.note(kKind, place.cache.list().front().key, about);
    RpmPackages led(place.cache, base, tool, "/home/user/app.def");
    led.place();
    CHECK_FALSE(fs::exists(place.directory.path() / "out.rpm"));
    CHECK(led.take().text().empty());
}
