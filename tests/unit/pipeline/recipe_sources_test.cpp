// SPDX-License-Identifier: Apache-2.0
#include "pipeline/image_plan.hpp"
#include "pipeline/recipe_image.hpp"
#include "pipeline/recipe_sources.hpp"
#include "support/file.hpp"
#include "support/message.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

/// A folder with a Recipe and files of all kinds that it copies.
struct Place {
    TempDirectory folder = TempDirectory::make("/tmp", "cybele-sources").value();
    std::string recipe = "kind: Recipe\nname: app\nbase: {image: base.sif}\n"
                         "files: [{from: src, to: /src}, {from: '*.txt', to: /texts/}]\n";

    Place() {
        put("base.sif", "a base");
        put("src/x.py", "x");
        put("src/deep/y.py", "y");
        put("a.txt", "a");
        put("b.txt", "b");
    }
    void put(const fs::path& name, const std::string& text) const {
        REQUIRE(make_directories((folder.path() / name).parent_path()).has_value());
        REQUIRE(write_file(folder.path() / name, text).has_value());
    }
    [[nodiscard]] Result<RecipeSources> find(const recipes::LockVariant* lock = nullptr,
                                             bool ignores_lock = false) const {
        CYBELE_TRY(const recipes::Recipe read,
                   recipes::read_recipe(recipe, folder.path() / "app.yaml"));
        CYBELE_TRY(auto rules, rules_of_recipe(read, folder.path() / "app.sif"));
        builder::ContextFiles files(std::move(rules),
                                    std::nullopt,
                                    builder::ContextFiles::Reads::kAll,
                                    registry::KnownFiles::none());
        return find_recipe_sources({&read, lock, ignores_lock, {}}, files, Environment{});
    }
};

std::vector<std::string> paths_of(const RecipeSources& sources) {
    std::vector<std::string> paths;
    for (const SourceFile& file : sources.files) {
        paths.push_back(file.path);
    }
    return paths;
}

} // namespace

TEST_CASE(
    "a Recipe that was read for a Job is what is built, whatever its file becomes meanwhile") {
    const Place place;
    const fs::path file = place.folder.path() / "app.yaml";
    place.put("app.yaml", place.recipe);
    launchers::Job job;
    job.folder = place.folder.path();
    job.image = launchers::JobImage{{}, "app.yaml", {}, {}};
    const auto made = image_of_job(job);
    REQUIRE(made.has_value());
    place.put("app.yaml", "kind: Recipe\nname: other\nbase: debian:12\n");
    ImageBuild build;
    build.source = file;
    build.recipe.read = std::make_shared<const recipes::Recipe>(made->recipe);
    const auto plan = plan_image(build, file, Environment{});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    CHECK(plan->image.name == "app");
    CHECK("sha256:" + plan->recipe == made->label());
    build.recipe.read.reset();
    CHECK(plan_image(build, file, Environment{}).value().image.name == "other");
}

TEST_CASE("the sources of a Recipe are its base, and its files by their paths from its folder") {
    const Place place;
    const auto sources = place.find();
    REQUIRE(sources.has_value());
    CHECK(paths_of(*sources) ==
          std::vector<std::string>{
              "a.txt", "b.txt", "base.sif", "src", "src/deep", "src/deep/y.py", "src/x.py"});
    CHECK(sources->fields.contains("base"));
    CHECK(sources->lock.empty());
    const auto read = parse_recipe_sources(print_recipe_sources(*sources));
    REQUIRE(read.has_value());
    CHECK(read->files == sources->files);
    CHECK(changes_between(*read, *sources).empty());
}

TEST_CASE("each change of what an image is made from is named, and nothing else") {
    struct Row {
        const char* expected;
        std::function<void(Place&)> change;
    };
    const Row rows[] = {
        {"", [](Place& at) { at.put("src/x.py", "x"); }},
        {"", [](Place& at) { at.put("other.py", "x"); }},
        {"src/x.py changed", [](Place& at) { at.put("src/x.py", "z"); }},
        {"src/n.py is new", [](Place& at) { at.put("src/n.py", ""); }},
        {"b.txt is gone", [](Place& at) { fs::remove(at.folder.path() / "b.txt"); }},
        {"a.txt has another mode",
         [](Place& at) {
             fs::permissions(
                 at.folder.path() / "a.txt", fs::perms::owner_exec, fs::perm_options::add);
         }},
        {"base.sif changed", [](Place& at) { at.put("base.sif", "another"); }},
        {"`run` of the Recipe changed", [](Place& at) { at.recipe += "run: [app]\n"; }},
        {"", [](Place& at) { at.recipe += "# a comment\n"; }},
        {"`name` of the Recipe changed",
         [](Place& at) { at.recipe.replace(at.recipe.find("app"), 3, "own"); }},
    };
    for (const Row& row : rows) {
        Place place;
        const auto before = place.find();
        row.change(place);
        const auto now = place.find();
        REQUIRE(before.has_value());
        REQUIRE(now.has_value());
        const auto changes = changes_between(*before, *now);
        CHECK_MESSAGE((changes.empty() ? "" : changes.back()) == row.expected, row.expected);
    }
}

TEST_CASE("many changes are counted, and names of files are printed safely") {
    const Place place;
    const auto before = place.find();
    for (const char* name : {"src/1", "src/2", "src/3", "src/4\x1b[2J", "src/5"}) {
        place.put(name, "");
    }
    const auto now = place.find();
    REQUIRE(now.has_value());
    const auto changes = changes_between(*before, *now);
    CHECK(changes == std::vector<std::string>{
                         "src/1 is new", "src/2 is new", "src/3 is new", "2 more changes"});
    RecipeSources other = *before;
    other.files.front().path = "\x1b[2J";
    for (const std::string& change : changes_between(*before, other)) {
        CHECK(change.find('\x1b') == std::string::npos);
    }
}

TEST_CASE("a Lock that appears, changes or goes is a change; one that was ignored is not") {
    const Place place;
    recipes::LockVariant lock;
    lock.name = "app";
    const auto without = place.find();
    const auto with = place.find(&lock);
    lock.epoch = 1;
    const auto later = place.find(&lock);
    const auto ignored = place.find(&lock, true);
    CHECK(changes_between(*without, *with) == std::vector<std::string>{"the Lock is new"});
    CHECK(changes_between(*with, *later) == std::vector<std::string>{"the Lock changed"});
    CHECK(changes_between(*with, *without) == std::vector<std::string>{"the Lock is gone"});
    CHECK(changes_between(*ignored, *later).empty());
}

TEST_CASE("all sources that are missing are reported at once, each at its place") {
    Place place;
    place.recipe = "kind: Recipe\nname: app\nbase: {image: none.sif}\n"
                   "files: [{from: nope, to: /x}]\n";
    const auto sources = place.find();
    REQUIRE_FALSE(sources.has_value());
    CHECK(sources.error().code() == ErrorCode::kInput);
    const std::string told = format_text(sources.error().faults());
    CHECK(told.find("app.yaml:3:") != std::string::npos);
    CHECK(told.find("app.yaml:4:") != std::string::npos);
}

TEST_CASE("what an image says that it was made from is data: other forms are refused") {
    const Place place;
    const std::string good = print_recipe_sources(*place.find());
    for (std::size_t length = 0; length + 1 < good.size(); length += 7) {
        CHECK_FALSE(parse_recipe_sources(good.substr(0, length)).has_value());
    }
    for (const char* text :
         {"",
          "[]",
          "{}",
          R"({"format": 2})",
          R"({"format": "1"})",
          R"({"format":1,"recipe":1,"name":"","fields":{},"lock":"","files":[]})",
          R"({"format":1,"recipe":"","name":"","fields":[],"lock":"","files":[]})",
          R"({"format":1,"recipe":"","name":"","fields":{},"lock":"","files":[[]]})",
          R"({"format":1,"recipe":"","name":"","fields":{},"lock":"","files":[1]})"}) {
        const auto sources = parse_recipe_sources(text);
        REQUIRE_FALSE_MESSAGE(sources.has_value(), text);
        CHECK(sources.error().code() == ErrorCode::kInput);
    }
}

} // namespace cybele::pipeline
