// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/recipe.hpp"
#include "recipes/packages/tests.hpp"
#include "recipes/stage/compilers.hpp"
#include "recipes/tables/r_packages.hpp"
#include "recipes/tables/table.hpp"
#include "recipes/tables/tables.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <algorithm>

using namespace cybele;
using namespace cybele::recipes;

namespace {

const std::filesystem::path kDistributionsData =
    std::filesystem::path(CYBELE_SOURCE_DIR) / "tests/unit/recipes/data/distributions.yaml";

const yaml::Node& findings() {
    static const yaml::Document document = [] {
        auto parsed = yaml::parse(test::read(kDistributionsData), "distributions.yaml");
        REQUIRE_MESSAGE(parsed.has_value(), test::told(parsed));
        return *parsed;
    }();
    return document.root;
}

std::string mark_word(Mark mark) {
    switch (mark) {
    case Mark::kRan:
        return "ran";
    case Mark::kSource:
        return "source";
    case Mark::kDocumented:
        return "doc";
    case Mark::kUnknown:
        break;
    }
    return "unknown";
}

std::string scalar(const yaml::Node* node) {
    return node != nullptr && node->scalar != "null" ? node->scalar : std::string{};
}

std::string joined(const yaml::Node* list) {
    std::string text;
    for (const auto& item : list != nullptr ? list->items : std::vector<yaml::Node>{}) {
        text += (text.empty() ? "" : " ") + item.scalar;
    }
    return text;
}

/// What a Recipe needs more than the findings say: an MPI's launcher beside its library.
std::string expected(std::string_view need, std::string_view column, std::string packages) {
    if (column == "apt" && need == "openmpi-devel") {
        return packages + " openmpi-bin";
    }
    if (column == "apt" && need == "mpich-devel") {
        return packages + " mpich";
    }
    return packages;
}

} // namespace

TEST_CASE("releases: each value as it was found, with its mark") {
    const yaml::Node* list = findings().find("distributions");
    REQUIRE(list != nullptr);
    REQUIRE(list->items.size() == distributions().size());
    for (const auto& item : list->items) {
        std::string id = item.find("id")->scalar;
        id[id.rfind('-')] = ':';
        CAPTURE(id);
        const DistributionRow* row = find_distribution(id);
        REQUIRE(row != nullptr);
        CHECK(row->manager == item.find("family")->scalar);
        CHECK(row->suite == scalar(item.find("suite")));
        CHECK(row->image == item.find("images")->find("names")->items.front().scalar);
        const auto same = [&](const char* name, const Marked& own) {
            CAPTURE(name);
            const yaml::Node* cell = item.find(name);
            CHECK(mark_word(own.mark) == cell->find("mark")->scalar);
            CHECK(own.text == scalar(cell->find("value")));
        };
        same("python3", row->python);
        same("gcc", row->gcc);
        same("end_of_support", row->end_of_support);
        const yaml::Node* libc = item.find("libc");
        const std::string version = scalar(libc->find("value"));
        CHECK(row->libc == (version.empty() ? "" : libc->find("kind")->scalar + " " + version));
    }
}

TEST_CASE("generic names: each cell as it was found, with its mark and repositories") {
    const yaml::Node* list = findings().find("needs");
    REQUIRE(list != nullptr);
    REQUIRE(list->items.size() == needs().size());
    for (const auto& item : list->items) {
        const std::string need = item.find("need")->scalar;
        for (const auto column : need_columns()) {
            CAPTURE(need);
            CAPTURE(std::string(column));
            const NeedCell* cell = find_need(column, need);
            const yaml::Node* found = item.find(column);
            REQUIRE(cell != nullptr);
            REQUIRE(found != nullptr);
            CHECK(mark_word(cell->mark) == found->find("mark")->scalar);
            CHECK(cell->packages == expected(need, column, joined(found->find("packages"))));
            if (need != "parmetis" &&
                cell->mark !=
                    Mark::kUnknown) { // Debian's lies in non-free, which the findings say in words
                std::string repositories;
                for (const auto name : cell->repositories) {
                    repositories += (repositories.empty() ? "" : " ") + std::string(name);
                }
                CHECK(repositories == joined(found->find("needs_repository")));
            }
        }
    }
}

TEST_CASE("every generic name on every release: its packages, or a refusal with its place") {
    for (const auto& release : distributions()) {
        for (const auto& need : needs()) {
            CAPTURE(std::string(release.id));
            CAPTURE(std::string(need.need));
            const auto recipe =
                read_recipe("kind: Recipe\nname: a\nbase: " + std::string(release.id) +
                                "\npackages: {needs: [" + std::string(need.need) + "]}\n",
                            "a.yaml");
            REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
            const auto rendered = render_definition(*recipe);
            const NeedCell* cell = find_need(release.column, need.need);
            const RepositoryRow* own = find_repository(release.column);
            const bool is_here =
                !cell->packages.empty() &&
                std::all_of(
                    cell->repositories.begin(), cell->repositories.end(), [&](auto repository) {
                        return own != nullptr &&
                               own->repositories.find(repository) != std::string_view::npos;
                    });
            REQUIRE(rendered.has_value() == is_here);
            if (!is_here) {
                const Fault& fault = rendered.error().faults().front();
                CHECK(fault.where->line == 4);
                CHECK(fault.where->column == 20);
                CHECK(fault.because != "");
                continue;
            }
            const std::string post = rendered->definition.stages[0].joined("post");
            for (const auto& package : words_of(cell->packages)) {
                CHECK(post.find(" \\\n    " + package + "\n") +
                          post.find(" \\\n    " + package + " \\") !=
                      2 * std::string::npos);
            }
        }
    }
}

TEST_CASE("package managers: called as it was found, cleaned up in the same step") {
    const yaml::Node* list = findings().find("package_managers");
    REQUIRE(list != nullptr);
    // yum is documented only: no distribution that has it and not dnf can be fetched any more.
    CHECK(list->entries.size() == managers().size() - 1);
    for (const auto& row : managers()) {
        CAPTURE(std::string(row.name));
        if (row.name == "yum") {
            continue;
        }
        const yaml::Node* found = list->find(row.name);
        REQUIRE(found != nullptr);
        std::string install = found->find("install")->scalar;
        install.resize(install.find(" {packages}"));
        CHECK(install.find(row.install) != std::string::npos);
        const std::string pin = found->find("pin")->scalar;
        CHECK(pin.starts_with("{name}" + std::string(row.pin) + "{version}"));
        std::string clean = scalar(found->find("clean"));
        for (auto at = clean.find("; "); at != std::string::npos; at = clean.find("; ")) {
            clean.replace(at, 2, "\n");
        }
        CHECK(row.after == (clean.empty() ? "" : clean + "\n"));
    }
    for (const auto& row : repositories()) {
        CAPTURE(std::string(row.column));
        const yaml::Node* found = findings().find("enable_repositories")->find(row.column);
        REQUIRE(found != nullptr);
        std::string lines;
        for (const auto& command : found->find("commands")->items) {
            lines += command.scalar + "\n";
        }
        CHECK(row.lines == lines);
    }
}

TEST_CASE("images of registries tell their release by their name") {
    for (const auto& row : distributions()) {
        CAPTURE(std::string(row.id));
        const DistributionRow* found = distribution_of_image("docker://" + std::string(row.image));
        REQUIRE(found != nullptr);
        CHECK(found->id == row.id);
    }
    const std::string digest = "@sha256:" + std::string(64, 'a');
    CHECK(distribution_of_image("docker://debian:12-slim" + digest)->id == "debian:12");
    CHECK(distribution_of_image("docker://python:3.12-bookworm")->id == "debian:12");
    CHECK(distribution_of_image("docker://registry.example:5000/rocm/dev-ubuntu-24.04:7.2")->id ==
          "ubuntu:24.04");
    CHECK(distribution_of_image("docker://almalinux:9-minimal") == nullptr);
    CHECK(distribution_of_image("docker://example/app:1") == nullptr);
    CHECK(distribution_of_image("images/a.sif") == nullptr);
}

TEST_CASE("GPU images: each row is chosen by its vendor, version and release") {
    for (const auto& row : gpus()) {
        CAPTURE(std::string(row.image));
        const auto recipe = read_recipe("kind: Recipe\nname: a\nbase: " + std::string(row.release) +
                                            "\ngpu: {vendor: " + std::string(row.vendor) +
                                            ", version: " + std::string(row.version) + "}\n",
                                        "a.yaml");
        REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
        const auto rendered = render_definition(*recipe);
        REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
        CHECK(rendered->definition.stages[0].header_value("from") == row.image);
        CHECK(distribution_of_image(row.image)->id == row.release);
        const std::string environment = rendered->definition.stages[0].joined("environment");
        CHECK((row.path.empty() || environment.find(row.path) != std::string::npos));
    }
    const auto recipe =
        read_recipe("kind: Recipe\nname: a\nbase: debian:12\ngpu: cuda\n", "a.yaml");
    REQUIRE(recipe.has_value());
    const auto rendered = render_definition(*recipe);
    REQUIRE_FALSE(rendered.has_value());
    CHECK(rendered.error().faults().front().where->line == 4);
    CHECK(rendered.error().faults().front().because.find("13.4.2 on ubuntu:26.04") !=
          std::string::npos);
}

TEST_CASE("targets: GCC that knows one, and GCC that does not") {
    for (const auto& target : targets()) {
        for (const char* release : {"debian:11", "debian:12", "rocky:8", "fedora:44"}) {
            CAPTURE(std::string(target.word));
            CAPTURE(release);
            const auto recipe = read_recipe(
                "kind: Recipe\nname: a\nbase: " + std::string(release) +
                    "\ncompilers: {target: " + std::string(target.word) + "}\nsteps: [make]\n",
                "a.yaml");
            REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
            const bool is_known = major_of(find_distribution(release)->gcc.text) >= target.since;
            CHECK(render_definition(*recipe).has_value() == is_known);
        }
    }
}

TEST_CASE("every generated test belongs to a generic name") {
    for (const auto& row : test_rows()) {
        CAPTURE(std::string(row.need));
        const auto recipe =
            read_recipe("kind: Recipe\nname: a\nbase: debian:12\npackages: {needs: [" +
                            std::string(row.need) + "]}\n",
                        "a.yaml");
        REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
        const auto rendered = render_definition(*recipe);
        REQUIRE(rendered.has_value());
        CHECK(rendered->definition.stages[0].joined("test").find(row.command) != std::string::npos);
    }
    for (const auto& row : import_rows()) {
        CAPTURE(std::string(row.package));
        const auto recipe =
            read_recipe("kind: Recipe\nname: a\nbase: debian:12\npackages: {system: [python3-" +
                            std::string(row.package) + "]}\n",
                        "a.yaml");
        REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
        CHECK(render_definition(*recipe)->definition.stages[0].joined("test").find(
                  "import " + std::string(row.module)) != std::string::npos);
    }
    const auto recipe = read_recipe("kind: Recipe\nname: a\nbase: debian:12\npackages:\n  pip:\n"
                                    "    - nvidia-nccl-cu12==2.32.3 --hash=sha256:" +
                                        std::string(64, 'a') +
                                        "\n"
                                        "    - types-requests==2.0 --hash=sha256:" +
                                        std::string(64, 'b') + "\n",
                                    "a.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    const std::string tests = render_definition(*recipe)->definition.stages[0].joined("test");
    CHECK(tests.find("pip check") != std::string::npos);
    CHECK(tests.find("import") == std::string::npos);
}

TEST_CASE("the table of R's packages in Debian 12 is sorted, and each of its names is found") {
    const auto rows = table_rows("r-debian-12.txt");
    CHECK(rows.size() > 1200);
    std::string_view last;
    for (const auto& row : rows) {
        REQUIRE(row.size() == 2);
        CAPTURE(row[0]);
        CHECK(last < row[0]);
        last = row[0];
        CHECK((row[0].starts_with("r-cran-") || row[0].starts_with("r-bioc-")));
        CHECK(row[0].find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") ==
              std::string_view::npos);
        CHECK(row[1].find_first_not_of("0123456789.-r") == std::string_view::npos);
        CHECK(find_r_package(row[0].substr(std::string_view("r-cran-").size())));
    }
    CHECK(find_r_package("ggplot2")->version == "3.4.1");
    CHECK(find_r_package("Matrix")->package == "r-cran-matrix");
    CHECK(find_r_package("DESeq2")->package == "r-bioc-deseq2");
    CHECK_FALSE(find_r_package("nosuchpackage"));
    CHECK_FALSE(find_r_package(""));
}
