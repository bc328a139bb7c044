// SPDX-License-Identifier: Apache-2.0
// What a build keeps for the next one: its steps and its image.
#include "bench.hpp"
#include "images/sif/sif.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

TEST_CASE("a rebuild does only what changed, to the same bytes") {
    Bench bench;
    put(bench.here / "data", "one");
    const auto make = [&](const std::string& last, bool use_cache = true) {
        auto request =
            bench.request(kBase + "data /data\n" + kInstall + "%post\necho " + last + " > /last\n");
        for (auto& section : request.source.definition.stages[0].sections) {
            section.is_self_contained = true;
        }
        request.force = true;
        request.use_cache = use_cache;
        bench.steps.clear();
        const auto built = build(request, bench.environment);
        REQUIRE(built);
        return hex(*sha256_file(built->image));
    };
    using Steps = std::vector<std::string>;
    const std::string first = make("a");
    CHECK(bench.steps == Steps{"%files", "%post 1 of 2", "%post 2 of 2", "pack out.sif"});
    CHECK(make("a") == first);
    CHECK(bench.steps == Steps{"nothing changed: the image is in place"});
    fs::remove(bench.here / "out.sif");
    CHECK(make("a") == first);
    CHECK(bench.steps == Steps{"nothing changed: the image is reused"});
    CHECK(make("b") != first);
    CHECK(bench.steps == Steps{"%files: reused",
                               "%post 1 of 2: reused",
                               "%post 2 of 2 (its text changed)",
                               "pack out.sif"});
    CHECK(make("a", false) == first);
    CHECK(bench.steps == Steps{"%files", "%post 1 of 2", "%post 2 of 2", "pack out.sif"});
    put(bench.here / "data", "two");
    CHECK(make("a") != first);
    CHECK(bench.steps[0] ==
          "%files ('" + (bench.here / "data").native() + "' for '/data' changed)");
    for (const char* kind : {"cache/steps", "cache/images"}) {
        for (const auto& entry : fs::directory_iterator(bench.here / kind)) {
            const auto extension = entry.path().extension();
            if (extension == ".squashfs" || extension == ".parts") {
                fs::resize_file(entry.path(), 5000);
            }
        }
    }
    put(bench.here / "data", "one");
    CHECK(make("a") == first);
    CHECK(bench.steps[0].starts_with("%files"));
    CHECK(bench.steps[0].find("reused") == std::string::npos);
}

TEST_CASE("what a step deletes, replaces and renames stays so in the steps behind it") {
    Bench bench;
    const std::string text =
        kBase + kInstall +
        "%post\nmkdir -p /d/e; echo 1 > /d/f; echo 1 > /g; ln -s g /l\n"
        "%post\nrm -r /d; mkdir /d; echo 2 > /d/h; rm /g; mkdir /g; rm /l\n"
        "%post\ntest ! -e /d/e; test ! -e /d/f; test -d /g; test ! -L /l\n"
        "mv /d /moved; echo 3 >> /moved/h\n"
        "%post\ntest ! -e /d; test \"$(cat /moved/h)\" = \"$(printf '2\\n3')\"\n"
        "%test\ntest -d /g\ntest ! -e /d\n";
    const auto make = [&](const std::string& last, bool use_cache) {
        auto request = bench.request(text + "%post\necho " + last + " > /last\n");
        for (auto& section : request.source.definition.stages[0].sections) {
            section.is_self_contained = true;
        }
        request.force = true;
        request.use_cache = use_cache;
        const auto built = build(request, bench.environment);
        REQUIRE_MESSAGE(
            built, (built ? "" : built.error().message() + built.error().faults().front().because));
        return hex(*sha256_file(built->image));
    };
    (void)make("1", true);
    // From kept layers, from one folder, and by a user who has neither loop devices nor FUSE.
    const std::string layered = make("2", true);
    CHECK(make("2", false) == layered);
    Bench own;
    CHECK(as_user(own.here, [&] {
              for (const char* last : {"1", "2"}) {
                  auto request = own.request(text + "%post\necho " + last + " > /last\n");
                  for (auto& section : request.source.definition.stages[0].sections) {
                      section.is_self_contained = true;
                  }
                  request.force = true;
                  if (!build(request, own.environment)) {
                      return 1;
                  }
              }
              return hex(*sha256_file(own.here / "out.sif")) == layered ? 0 : 2;
          }) == 0);
    own.check_clean();
    bench.check_clean();
}
