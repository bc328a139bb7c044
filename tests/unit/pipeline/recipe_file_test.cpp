// SPDX-License-Identifier: Apache-2.0
#include "pipeline/recipe_file.hpp"
#include "recipes/model/recipe.hpp"
#include "support/file.hpp"
#include "support/message.hpp"

#include <doctest/doctest.h>

namespace cybele::pipeline {
namespace {

struct RecipePlace {
    TempDirectory folder = TempDirectory::make("/tmp", "cybele-recipe-file").value();

    Result<recipes::Recipe> read(const std::string& family, const std::string& site) const {
        if (!site.empty()) {
            REQUIRE(write_file(folder.path() / "site.yaml", "kind: Site\nname: hall\n" + site)
                        .has_value());
        }
        const auto file = folder.path() / "a.yaml";
        return read_variant("kind: Recipe\nname: a\nbase: debian:12\nmpi: {family: " + family +
                                ", host: site.yaml}\n",
                            file,
                            {},
                            {});
    }
};

struct Row {
    const char* family;
    const char* site;
    const char* launcher;
    const char* host;
    const char* pmi;
    const char* refusal; ///< of rendering; empty: it works
};

constexpr Row kRows[] = {
    {"openmpi",
     "scheduler: torque\nmpi: [{family: openmpi, version: 4.1.4}]\n",
     "mpirun",
     "openmpi",
     "",
     ""},
    {"mpich",
     "scheduler: torque\nmpi: [{family: openmpi, version: 4.1.4}]\n",
     "mpirun",
     "openmpi",
     "",
     "starts N jobs of one rank"},
    {"mpich",
     "scheduler: torque\nmpi: [{family: openmpi, version: 4.1.4}, {family: mpich, version: "
     "\"4.0\"}]\n",
     "mpirun",
     "mpich",
     "",
     ""},
    {"openmpi", "scheduler: slurm\npmi: [pmi2, pmix_v4]\n", "srun", "", "pmix_v4", ""},
    {"openmpi",
     "scheduler: slurm\nmpi: [{family: openmpi, version: 4.1.4}]\npmi: [pmi2, none]\n",
     "mpirun",
     "openmpi",
     "",
     ""},
};

} // namespace

TEST_CASE("a Site says what the host of a Recipe offers, and the verdict follows") {
    const RecipePlace place;
    for (const Row& row : kRows) {
        CAPTURE(row.family);
        CAPTURE(row.site);
        const auto recipe = place.read(row.family, row.site);
        REQUIRE_MESSAGE(recipe.has_value(), format_text(recipe.error().faults()));
        REQUIRE(recipe->mpi.host);
        CHECK(recipe->mpi.host->launcher == row.launcher);
        CHECK(recipe->mpi.host->family == row.host);
        CHECK(recipe->mpi.host->pmi == row.pmi);
        const auto rendered = recipes::render_definition(*recipe, "http://m.example");
        const std::string told = rendered ? std::string{} : format_text(rendered.error().faults());
        CHECK_MESSAGE(rendered.has_value() == std::string_view(row.refusal).empty(), told);
        CHECK(told.find(row.refusal) != std::string::npos);
    }
}

TEST_CASE("a Site that is not there, is none, or says nothing of an MPI is told at its place") {
    const RecipePlace place;
    const auto missing = place.read("openmpi", "");
    REQUIRE(!missing.has_value());
    CHECK(missing.error().code() == ErrorCode::kInput);
    CHECK(missing.error().message() == "cannot read the Site 'site.yaml'");
    REQUIRE(missing.error().faults().front().where);
    CHECK(missing.error().faults().front().where->line == 4);
    const auto silent = place.read("openmpi", "scheduler: torque\n");
    REQUIRE(!silent.has_value());
    CHECK(silent.error().message() == "the Site 'hall' does not say what MPI it has");
    const auto wrong = place.read("openmpi", "scheduler: torqe\n");
    REQUIRE(!wrong.has_value());
    CHECK(format_text(wrong.error().faults()).find("site.yaml:3:") != std::string::npos);
}

} // namespace cybele::pipeline
