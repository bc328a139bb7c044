// SPDX-License-Identifier: Apache-2.0
// What pip downloads in a step is kept where the step names its digest, and nothing else.
#include "builder/steps/pip_step.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "temporary.hpp"

#include <functional>

#include <sys/stat.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

constexpr const char* kWheel = "tiny-1.0-py3-none-any.whl";

struct Steps {
    TempDirectory directory = temporary();
    registry::Cache cache{directory.path() / "cache"};
    fs::path tree = directory.path() / "tree";
    fs::path brought = directory.path() / "brought";
    fs::path given = brought / "pip" / "kept" / "tiny-1.0-0-py3-none-any.whl";
    std::string digest = hex(sha256(std::string("a wheel")));

    Steps() {
        fs::create_directories(tree / "tmp");
    }
    [[nodiscard]] PackageCount step(const std::set<std::string>& digests,
                                    const std::function<void()>& script) const {
        auto root = images::RootDirectory::open(tree);
        REQUIRE(root);
        fs::remove_all(brought);
        fs::create_directory(brought);
        StepWheels wheels(
            cache, std::move(*root), directory.path() / "work", "/home/user/app.def", digests);
        const fs::path page = wheels.begin(brought);
        CHECK(page.empty() != fs::exists(given));
        CHECK((page.empty() || content(brought / page).find(digest) != std::string::npos));
        script();
        return wheels.end();
    }
    /// As pip does.
    void download(const std::string& name, const std::string& bytes) const {
        const fs::path folder = tree / "tmp" / "pip-unpack-x1y2";
        fs::create_directories(folder);
        put(folder / name, bytes);
        ::usleep(100'000); // it is installed
        fs::remove_all(folder);
    }
};

} // namespace

TEST_CASE("the digests that a script names as pip's requirements do") {
    const std::string one(64, '1');
    const std::string two(64, 'a');
    CHECK(named_digests("pip install -r x; a==1 --hash=sha256:" + one +
                        " \\\n  --hash=sha256:" + two + "\n") == std::set<std::string>{one, two});
    CHECK(named_digests("pip3 install a==1 --hash sha256:" + one) == std::set<std::string>{one});
    for (const std::string& script : {std::string(),
                                      "sha256:" + one,
                                      "--hash=md5:" + one,
                                      "--hash=sha256:" + one + "0",
                                      "--hash=sha256:" + one.substr(1),
                                      "--hash=sha256:" + std::string(64, 'A'),
                                      std::string("--hash"),
                                      std::string("--hash=")}) {
        CAPTURE(script);
        CHECK(named_digests("pip install " + script).empty());
    }
    for (const char* script : {"pip install x",
                               "/opt/venv/bin/pip3.11 -q install x",
                               "python3 -m pip --no-cache-dir install x",
                               "if true; then (pip3 install x); fi",
                               "pip install wheel download"}) {
        CAPTURE(script);
        CHECK(named_digests(script + (" --hash=sha256:" + one)).size() == 1);
    }
    for (const char* script : {"pip download x",
                               "pip -q wheel x; pip install x",
                               "pip install --report r.json x",
                               "pip install --no-index --find-links /opt/wheels x",
                               "PIP_NO_INDEX=1 pip install x",
                               "pipx install x",
                               "echo pip x; apt-get install x"}) {
        CAPTURE(script);
        CHECK(named_digests(script + (" --hash=sha256:" + one)).empty());
    }
    CHECK(named_digests("cat >list <<X\na==1 --hash=sha256:" + one + "\nX\n").empty());
}

TEST_CASE(
    "a wheel of a named digest is kept although pip removes it, and there for the next step") {
    const Steps place;
    CHECK(place.step({place.digest}, [&] { place.download(kWheel, "a wheel"); }).fetched == 1);
    REQUIRE(place.cache.list().size() == 1);
    CHECK(place.cache.list().front().key == place.digest);
    const PackageCount count = place.step({place.digest, std::string(64, '7')}, [&] {
        CHECK(content(place.given) == "a wheel"); // and so it is used
    });
    CHECK(count.reused == 1);
    CHECK(count.fetched == 0);
    // A step that names another one is given nothing.
    CHECK(place.step({std::string(64, '7')}, [&] { CHECK_FALSE(fs::exists(place.given)); })
              .text()
              .empty());
    CHECK(fs::is_empty(place.tree / "tmp"));
}

TEST_CASE("what is not named, or no archive of pip's, is not kept") {
    const Steps place;
    const PackageCount count = place.step({place.digest}, [&] {
        place.download(kWheel, "another wheel");
        place.download("tiny.txt", "a wheel");
        put(place.tree / "tmp" / "other" / kWheel, "a wheel");
        put(place.tree / "tmp" / kWheel, "a wheel");
    });
    CHECK(count.text().empty());
    CHECK(place.cache.list().empty());
}

TEST_CASE("links, pipes and folders without end lead nowhere") {
    const Steps place;
    const fs::path outside = place.directory.path() / "outside";
    put(outside / kWheel, "a wheel");
    const PackageCount count = place.step({place.digest}, [&] {
        const fs::path folder = place.tree / "tmp" / "pip-unpack-evil";
        fs::create_directories(folder);
        fs::create_symlink(outside / kWheel, folder / kWheel);
        fs::create_directory_symlink(outside, folder / "links");
        fs::create_directory_symlink(outside, place.tree / "tmp" / "pip-unpack-link");
        REQUIRE(::mkfifo((folder / "pipe.whl").c_str(), 0600) == 0);
        put(folder / "line\nbreak.whl", "x");
        fs::path deep = folder;
        for (int i = 0; i < 200; ++i) {
            deep /= "d";
            fs::create_directory(deep);
        }
        ::usleep(100'000);
    });
    CHECK(count.fetched == 0);
    CHECK(place.cache.list().empty());
}

TEST_CASE("a kept wheel whose bytes or name were changed is not given") {
    const Steps place;
    REQUIRE(place.step({place.digest}, [&] { place.download(kWheel, "a wheel"); }).fetched == 1);
    std::string about = place.cache.noted("packages", place.digest);
    const std::string led = about;
    about.replace(about.find(kWheel), std::string(kWheel).size(), "../out.whl");
    place.cache.note("packages", place.digest, about);
    CHECK(place.step({place.digest}, [] {}).text().empty());
    CHECK_FALSE(fs::exists(place.directory.path() / "out.whl"));
    place.cache.note("packages", place.digest, led);
    put(place.cache.path("packages", place.digest), "evil!!!");
    const PackageCount count =
        place.step({place.digest}, [&] { place.download(kWheel, "a wheel"); });
    CHECK(count.reused == 0);
    CHECK(count.fetched == 1);
    CHECK(content(place.cache.path("packages", place.digest)) == "a wheel");
}
