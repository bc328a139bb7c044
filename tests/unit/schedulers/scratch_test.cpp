// SPDX-License-Identifier: Apache-2.0
// The Site's folder for temporary data, as a word of the script.
#include "golden_case.hpp"
#include "launchers/documents/site.hpp"
#include "schedulers/scripts/values.hpp"

#include <array>

#include <doctest/doctest.h>

namespace cybele::schedulers {

TEST_CASE("a scratch folder: two variables are expanded, the home is found, the rest is literal") {
    struct Row {
        const char* path;
        const char* word;
    };
    constexpr std::array kRows{
        Row{"/local/$USER/a b", R"(/local/"${USER:-none}"'/a b')"},
        Row{"$CYBELE_JOB/x", R"("${CYBELE_JOB:-none}"/x)"},
        Row{"/s/$HOME", "/s/'$HOME'"},
        Row{"~/s#%", R"("$HOME"/'s#%')"},
        Row{"~/$USER", R"("$HOME"/"${USER:-none}")"},
        Row{"-s", "./-s"},
        Row{"/a/~/b", "'/a/~/b'"},
    };
    for (const auto& row : kRows) {
        CHECK(scratch_expression(row.path) == row.word);
    }
}

TEST_CASE("a scratch folder with variables of the node") {
    const launchers::Job job = job_of("kind: Job\nname: a\nlaunch: spark\nimage: a.sif\n"
                                      "command: [app.py]\nresources: {nodes: 2, cpus-per-task: 2, "
                                      "memory-per-node: 8 GiB}\n");
    const auto site = launchers::read_site("kind: Site\nname: hall\nscheduler: slurm\n"
                                           "scratch: {node: {expand: $LOCAL_SCRATCH/x y}}\n",
                                           "site.yaml");
    REQUIRE(site.has_value());
    RenderInput input;
    input.job = &job;
    input.site = &*site;
    input.dialect = "slurm";
    input.image = "a.sif";
    const auto script = render_script(input);
    REQUIRE_MESSAGE(script.has_value(), script.error().message());
    CHECK(script->text.find("mktemp -d \"$LOCAL_SCRATCH\"'/x y'/cybelectl-spark.XXXXXX") !=
          std::string::npos);
    CHECK(script->text.find("LOCAL_SCRATCH") <
          script->text.find("mktemp")); // is set: checked first
}

} // namespace cybele::schedulers
