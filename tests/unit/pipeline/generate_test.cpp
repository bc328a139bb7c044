// SPDX-License-Identifier: Apache-2.0
#include "pipeline/generate.hpp"
#include "pipeline/pattern.hpp"
#include "pipeline/schemas.hpp"
#include "pipeline/unified_diff.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/file.hpp"
#include "support/message.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

struct GeneratePlace {
    TempDirectory folder = TempDirectory::make("/tmp", "cybele-generate").value();

    void put(const std::string& path, const std::string& text) const {
        const fs::path file = folder.path() / path;
        REQUIRE(make_directories(file.parent_path()).has_value());
        REQUIRE(write_file(file, text).has_value());
    }
    [[nodiscard]] std::string text(const std::string& path) const {
        return read_file(folder.path() / path).value_or("(none)");
    }
    [[nodiscard]] Generation made() const {
        auto generation = generate(folder.path());
        if (!generation) {
            FAIL(format_text(generation.error().faults()));
        }
        return std::move(*generation);
    }
};

const std::string kRecipe = "kind: Recipe\nname: wheat\nbase: debian:12\nrun: [cat]\n";
const std::string kJob = "kind: Job\nname: train\nimage: {recipe: ../recipes/wheat.yaml}\ncommand: "
                         "[train]\nworkdir: /w\nkubernetes: {namespace: crops}\n";
const std::string kSite = "kind: Site\nname: hall\nscheduler: torque\nkubernetes: {bridge: "
                          "torque-operator}\n";

std::vector<std::string> names_of(const Generation& generation) {
    std::vector<std::string> names;
    names.reserve(generation.files.size());
    for (const auto& file : generation.files) {
        names.push_back(file.path.native());
    }
    return names;
}

} // namespace

TEST_CASE("a project's documents are rendered, with the digests that they are made from") {
    const GeneratePlace place;
    place.put("recipes/wheat.yaml", kRecipe);
    place.put("jobs/train.yaml", kJob);
    place.put("sites/hall.yaml", kSite);
    place.put("sites/.hidden.yaml", "not yaml: [");
    const Generation first = place.made();
    CHECK(names_of(first) == std::vector<std::string>{"generated/train.hall.sh",
                                                      "generated/train.hall.yaml",
                                                      "generated/wheat.def"});
    CHECK(first.files[0].is_script);
    const std::string job_line = "# from jobs/train.yaml sha256:" + hex(sha256(kJob)) + "\n";
    const std::string site_line = "# from sites/hall.yaml sha256:" + hex(sha256(kSite)) + "\n";
    CHECK(first.files[0].text.starts_with("#!/bin/bash\n#PBS "));
    CHECK(first.files[0].text.find(job_line + site_line) != std::string::npos);
    CHECK(first.files[1].text.find(job_line + site_line) != std::string::npos);
    CHECK(first.files[2].text.find("# from recipes/wheat.yaml sha256:") != std::string::npos);
    CHECK(first.files[0].text.find("../recipes/wheat.sif") != std::string::npos);
    const Generation second = place.made();
    for (std::size_t at = 0; at < first.files.size(); ++at) {
        CHECK(first.files[at].text == second.files[at].text);
    }
}

TEST_CASE("a folder without Recipes and Jobs is refused, for a CI that was given the wrong one") {
    const GeneratePlace place;
    place.put("sites/hall.yaml", kSite);
    const auto made = generate(place.folder.path());
    REQUIRE(!made.has_value());
    CHECK(made.error().code() == ErrorCode::kInput);
    CHECK(made.error().message().starts_with("there is nothing to generate in '"));
}

TEST_CASE("a Project names files that exist, and none of the folder that it writes into") {
    const GeneratePlace place;
    place.put("recipes/wheat.yaml", kRecipe);
    place.put("jobs/train.yaml", kJob);
    const auto fault_of = [&](const std::string& fields) {
        place.put("cybelectl.yaml", "kind: Project\n" + fields);
        const auto made = generate(place.folder.path());
        if (made.has_value()) {
            return std::string();
        }
        const Fault& fault = made.error().faults().front();
        return fmt::format("{}:{} {}", fault.where->line, fault.where->column, fault.id);
    };
    CHECK(fault_of("jobs: [jobs/train.yaml]\nsites: [none/*.yaml]\n").empty());
    CHECK(fault_of("jobs: [jobs/train.yaml, jobs/trial.yaml]\n") == "2:25 project-file-missing");
    CHECK(fault_of("recipes: [wheat.yaml]\n") == "2:11 project-file-missing");
    CHECK(fault_of("output: jobs\n") == "2:9 project-output-read");
    CHECK(fault_of("output: ./jobs\n") == "2:9 project-output-read");
    CHECK(fault_of("output: jobs/made\n").empty());
}

TEST_CASE("what is stale is shown as a diff that patch takes, and written only once") {
    const GeneratePlace place;
    place.put("recipes/wheat.yaml", kRecipe);
    place.put("jobs/train.yaml", kJob);
    CHECK(find_stale(place.made())->size() == 2);
    CHECK(write_generation(place.made())->size() == 2);
    CHECK(find_stale(place.made())->empty());
    CHECK(write_generation(place.made())->empty());
    place.put("recipes/wheat.yaml", kRecipe + "help: A field.\n");
    const auto stale = find_stale(place.made()).value();
    REQUIRE(stale.size() == 1);
    CHECK(stale[0].path == "generated/wheat.def");
    CHECK(stale[0].diff.starts_with("--- generated/wheat.def\n+++ generated/wheat.def\n@@ -"));
    // A file of ours that nothing asks for is left over; a user's own is not.
    place.put("generated/own.sh", "#!/bin/sh\n");
    fs::remove(place.folder.path() / "jobs/train.yaml");
    CHECK(place.made().left_over == std::vector<fs::path>{"generated/train.sh"});
    CHECK(write_generation(place.made())->size() == 2);
    CHECK(place.text("generated/train.sh") == "(none)");
    CHECK(place.text("generated/own.sh") == "#!/bin/sh\n");
}

TEST_CASE("two Sites of one name are told where the second one has it") {
    const GeneratePlace place;
    place.put("jobs/a.yaml", "kind: Job\nname: a\ncommand: [x]\n");
    place.put("sites/one.yaml", "kind: Site\nname: hall\nscheduler: slurm\n");
    place.put("sites/two.yaml", "kind: Site\nname: hall\nscheduler: torque\n");
    const auto generation = generate(place.folder.path());
    REQUIRE_FALSE(generation.has_value());
    const auto& faults = generation.error().faults();
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].message == "sites/one.yaml has the name 'hall', too");
    CHECK(faults[0].where->file.ends_with("sites/two.yaml"));
    CHECK(faults[0].where->line == 2);
}

TEST_CASE("a Lock that does not fit is told, and so are all other faults at once") {
    const GeneratePlace place;
    place.put("recipes/wheat.yaml", kRecipe);
    place.put("recipes/wheat.lock.yaml",
              "kind: Lock\nrecipe: sha256:" + std::string(64, '0') +
                  "\nvariants: [{name: wheat, "
                  "arch: amd64, base: {distribution: debian:12, release: [sha256:" +
                  std::string(64, '1') + "]}, epoch: 1}]\n");
    place.put("recipes/broken.yaml", "kind: Recipe\nname: b\nbase: nothing\n");
    place.put("jobs/a.yaml", "kind: Job\nname: a\ncommand: [x]\n");
    place.put("jobs/b.yaml", "kind: Job\nname: a\ncommand: [x]\n");
    const auto generation = generate(place.folder.path());
    REQUIRE_FALSE(generation.has_value());
    CHECK(generation.error().code() == ErrorCode::kInput);
    const std::string told = format_text(generation.error().faults());
    CHECK(told.find("lock") != std::string::npos);
    CHECK(told.find("broken.yaml") != std::string::npos);
    CHECK(told.find("jobs/a.yaml and jobs/b.yaml both make generated/a.sh") != std::string::npos);
    CHECK_FALSE(generate("/nonexistent").has_value());
}

TEST_CASE("a diff has the lines around, and says where a file ends without a newline") {
    CHECK(unified_diff("a\n", "a\n", "f").empty());
    CHECK(unified_diff("", "a\nb\n", "f") == "--- f\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    CHECK(unified_diff("a\n", "", "f") == "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n");
    CHECK(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", "f") ==
          "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
    const std::string two =
        unified_diff("a\n1\n2\n3\n4\n5\n6\n7\n8\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\n8\nB\n", "f");
    CHECK(two == "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
                 "@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-b\n+B\n");
    CHECK(unified_diff("a", "a\n", "f") ==
          "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

TEST_CASE("patterns name files of one folder level a star") {
    const GeneratePlace place;
    place.put("a/x.yaml", "");
    place.put("b/y.yaml", "");
    place.put("a/.z.yaml", "");
    place.put("x.yaml", "");
    CHECK(find_files(place.folder.path(), "*/*.yaml") ==
          std::vector<fs::path>{"a/x.yaml", "b/y.yaml"});
    CHECK(find_files(place.folder.path(), "./x.yaml") == std::vector<fs::path>{"x.yaml"});
    CHECK(find_files(place.folder.path(), "none/*").empty());
}

TEST_CASE("schemas are those of docs/schemas") {
    for (const char* kind : {"recipe", "lock", "job", "site", "project", "policy"}) {
        CAPTURE(kind);
        const fs::path file =
            fs::path(CYBELE_SOURCE_DIR) / "docs/schemas" / (std::string(kind) + ".schema.json");
        CHECK(schema_of(kind) == read_file(file).value_or(""));
    }
    CHECK_FALSE(schema_of("none").has_value());
}

} // namespace cybele::pipeline
