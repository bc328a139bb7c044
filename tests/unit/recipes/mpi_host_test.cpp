// SPDX-License-Identifier: Apache-2.0
#include "recipes/mpi/build_rows.hpp"
#include "recipes/mpi/mpi.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <array>
#include <set>

using namespace cybele;
using namespace cybele::recipes;

namespace {

Recipe read_host_recipe(const std::string& text) {
    auto recipe = read_recipe("kind: Recipe\nname: a\n" + text, "folder/a.yaml");
    REQUIRE_MESSAGE(recipe.has_value(), test::told(recipe));
    return *recipe;
}

struct Pair {
    const char* base;
    const char* family;
    const char* host;
    const char* refusal; ///< empty: it works
};
constexpr std::array kPairs{
    Pair{"debian:12", "openmpi", "{launcher: mpirun, family: openmpi, version: 4.1.4}", ""},
    Pair{"debian:13", "openmpi", "{launcher: mpirun, family: openmpi, version: 4.1.4}", ""},
    Pair{"debian:12", "openmpi", "{launcher: srun, pmi: pmix}", ""},
    Pair{"debian:12", "mpich", "{launcher: srun, pmi: pmi2}", ""},
    Pair{"debian:11", "mpich", "{launcher: mpirun, family: intel, version: 2021.13}", ""},
    Pair{"debian:12", "openmpi", "{launcher: srun, pmi: pmi2}", "aborts"},
    Pair{"debian:13", "openmpi", "{launcher: srun, pmi: pmi2}", "starts N jobs of one rank"},
    Pair{"debian:12", "mpich", "{family: openmpi, launcher: srun, pmi: pmi2}", ""},
    Pair{"debian:12", "mpich", "{family: openmpi}", "starts N jobs of one rank"},
    Pair{"debian:12", "mpich", "{launcher: srun, pmi: pmix}", "starts N jobs of one rank"},
    Pair{"rocky:9", "mvapich2", "{launcher: srun, pmi: pmix}", "starts N jobs of one rank"},
};

} // namespace

TEST_CASE("the host that the Recipe names is judged before anything is built") {
    for (const Pair& pair : kPairs) {
        CAPTURE(pair.base);
        CAPTURE(pair.host);
        const auto rendered = render_definition(read_host_recipe(std::string("base: ") + pair.base +
                                                                 "\nmpi: {family: " + pair.family +
                                                                 ", host: " + pair.host + "}\n"),
                                                "http://m.example");
        const std::string refusal = pair.refusal;
        CHECK_MESSAGE(rendered.has_value() == refusal.empty(), test::told(rendered));
        if (!refusal.empty() && !rendered) {
            const std::string told = test::told(rendered);
            CHECK_MESSAGE(told.find(refusal) != std::string::npos, told);
            CHECK(told.find("because: ") != std::string::npos);
            CHECK(told.find("help: ") != std::string::npos);
            CHECK(told.find("a.yaml:4:") != std::string::npos);
        }
    }
}

TEST_CASE("every packaged MPI renders for its base; what a base lacks is told") {
    std::set<std::string_view> layouts;
    for (const PackagedRow& row : packaged_rows()) {
        CAPTURE(row.release);
        CAPTURE(row.family);
        const auto rendered =
            render_definition(read_host_recipe("base: " + std::string(row.release) +
                                               "\nmpi: " + std::string(row.family) + "\n"),
                              "http://m.example");
        REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
        CHECK(rendered->labels.at("cybelectl.mpi") ==
              std::string(row.family) + " " + std::string(row.version));
        CHECK(rendered->labels.at("cybelectl.pmi") == row.pmi);
        const std::string prefix = rendered->labels.at("cybelectl.mpi-prefix");
        const auto& last = rendered->definition.stages.back();
        CHECK((prefix == "/usr" ||
               last.joined("environment").find("'" + prefix + "/bin'") != std::string::npos));
        for (const LayoutRow& layout : layout_rows()) {
            if (layout.family == row.family && layout.prefix == prefix &&
                last.joined("post").find(" " + std::string(layout.run) + "\n") !=
                    std::string::npos) {
                layouts.insert(layout.column);
            }
        }
    }
    CHECK(layouts.size() == 5);
    for (const BrokenRow& row : broken_rows()) {
        CAPTURE(row.release);
        const auto rendered =
            render_definition(read_host_recipe("base: " + std::string(row.release) +
                                               "\nmpi: " + std::string(row.family) + "\n"),
                              "http://m.example");
        CHECK(test::told(rendered).find(row.because) != std::string::npos);
    }
}

TEST_CASE("a cell that nobody looked up is refused, an MPI of the base needs its version") {
    const auto told = [](const std::string& text) {
        return test::told(render_definition(read_host_recipe(text), "http://m.example"));
    };
    CHECK(told("base: opensuse-leap:16.0\nmpi: openmpi\n").find("is not known") !=
          std::string::npos);
    CHECK(told("base: ubuntu:20.04\nmpi: openmpi\n").find("is not known") != std::string::npos);
    CHECK(told("base: debian:12\nmpi: intel\n").find("is not known") != std::string::npos);
    CHECK(told("base: debian:12\nmpi: {family: intel, from: base}\n").find("version") !=
          std::string::npos);
    CHECK(told("base: debian:12\nstages: [{name: b, mpi: {family: mpich, from: source}}]\n")
              .find("packages.source") != std::string::npos);
}

TEST_CASE("an MPI of the base image is taken as it is, and labelled") {
    const auto rendered = render_definition(
        read_host_recipe(
            "base: {image: base.sif}\nmpi: {family: intel, version: 2021.13, from: base}\n"),
        "http://m.example");
    REQUIRE_MESSAGE(rendered.has_value(), test::told(rendered));
    CHECK(rendered->labels.at("cybelectl.mpi") == "intel 2021.13");
    CHECK_FALSE(rendered->labels.contains("cybelectl.mpi-prefix"));
    CHECK(rendered->definition.stages.front().joined("post").find("mpicc -O1") !=
          std::string::npos);
}
