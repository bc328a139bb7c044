// SPDX-License-Identifier: Apache-2.0
// Directives and options of launchers that a launch with a kind has, or does without.
#include "launchers/documents/job.hpp"
#include "schedulers/reading/convert.hpp"
#include "schedulers/reading/explain.hpp"
#include "schedulers/reading/launcher_options.hpp"
#include "schedulers/scripts/render.hpp"
#include "support/message.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>

namespace cybele::schedulers {

TEST_CASE("options that each PBS script of ours has, or that start nothing, keep no launch back") {
    struct Row {
        const char* options;
        const char* yaml; ///< a part of the Job
    };
    constexpr std::array kRows{
        Row{"#PBS -l nodes=2:ppn=8\n#PBS -j oe\n", "  stderr: \"%x.o%j\"\n  stdout: \"%x.o%j\"\n"},
        Row{"#PBS -l nodes=2:ppn=8\n#PBS -V\n", "  torque:\n    - \"-V\"\n"},
        Row{"#PBS -l nodes=2:ppn=8\n#PBS -l mem=64gb\n", "    - \"-l mem=64gb\"\n"},
        Row{"#PBS -l nodes=2:ppn=8\n#PBS -W depend=afterok:1\n", "    - \"-W depend=afterok:1\"\n"},
        Row{"#PBS -l select=2:ncpus=8:mpiprocs=8\n#PBS -l place=scatter\n", "  nodes: 2\n"}};
    for (const Row& row : kRows) {
        CAPTURE(row.options);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n") + row.options +
                               "module load openmpi\ncd $PBS_O_WORKDIR\n"
                               "mpirun -np 16 -machinefile $PBS_NODEFILE ./a\n",
                           "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        CHECK_MESSAGE(conversion->yaml.find("launch: {kind: mpi, launcher: mpirun") !=
                          std::string::npos,
                      conversion->yaml);
        CHECK_MESSAGE(conversion->yaml.find(row.yaml) != std::string::npos, conversion->yaml);
        CHECK(conversion->yaml.find("-j oe") == std::string::npos);
        CHECK(conversion->yaml.find("scatter") == std::string::npos);
        const auto job = launchers::read_job(conversion->yaml, "s.yaml");
        REQUIRE_MESSAGE(job.has_value(), format_text(job.error().faults()));
        RenderInput input;
        input.job = &*job;
        input.dialect = reader_text(explanation->script.reader);
        const auto script = render_script(input); // it takes what the conversion wrote
        CHECK_MESSAGE(script.has_value(), format_text(script.error().faults()));
    }
}

TEST_CASE("an exclusive place of one chunk is a field, and of several it stays as it is") {
    struct Row {
        const char* options;
        bool is_field;
    };
    constexpr std::array kRows{
        Row{"#PBS -l select=1:ncpus=8:mem=2gb -l place=pack:excl\n", true},
        Row{"#PBS -l place=scatter:excl\n#PBS -l select=1:ncpus=8:mpiprocs=8\n", true},
        Row{"#PBS -l select=1:ncpus=8:model=ivy\n#PBS -l place=excl\n", true},
        Row{"#PBS -l select=1:ncpus=8\n#PBS -l place=exclhost\n", false},
        Row{"#PBS -l select=2:ncpus=8\n#PBS -l place=pack:excl\n", false},
        Row{"#PBS -l select=1:ncpus=4+2:ncpus=8\n#PBS -l place=pack:excl\n", false},
        Row{"#PBS -l place=pack:excl\n", false}};
    for (const Row& row : kRows) {
        CAPTURE(row.options);
        const auto explanation = explain_script(
            std::string("#!/bin/bash\n") + row.options + "cd $PBS_O_WORKDIR\n./a; ./b\n", "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        const std::string& yaml = conversion->yaml;
        CHECK((yaml.find("  exclusive: true\n") != std::string::npos) == row.is_field);
        CHECK((yaml.find("\"-l place=") == std::string::npos) == row.is_field);
        const auto job = launchers::read_job(yaml, "s.yaml");
        REQUIRE_MESSAGE(job.has_value(), format_text(job.error().faults()));
        RenderInput input;
        input.job = &*job;
        input.dialect = "pbspro";
        const auto script = render_script(input);
        REQUIRE_MESSAGE(script.has_value(), format_text(script.error().faults()));
        CHECK((script->text.find("#PBS -l place=excl\n") != std::string::npos) == row.is_field);
    }
}

TEST_CASE("hydra's options are known in each spelling, with the words that follow them") {
    struct Row {
        const char* option;
        int words; ///< -1: none of MPICH 4.3 or Intel MPI 2021.19 has it
    };
    constexpr std::array kRows{Row{"-n", 1},
                               Row{"--np", 1},
                               Row{"-PPN", 1},
                               Row{"---perhost", 1},
                               Row{"-genv", 2},
                               Row{"-envexcl", 1},
                               Row{"-genvall", 0},
                               Row{"-l", 0},
                               Row{"-profile", 0},
                               Row{"-gwdir", 1},
                               Row{"-tune", 1},
                               Row{"-aps", 0},
                               Row{"-order-nodes", 1},
                               Row{"-pmi_args", 4},
                               Row{"-localroot", -1},
                               Row{"--map-byy", -1}};
    for (const Row& row : kRows) {
        CAPTURE(row.option);
        const StarterOption* const found = find_starter_option(Starter::kHydra, row.option);
        CHECK((found == nullptr ? -1 : found->words) == row.words);
    }
    CHECK(find_starter_option(Starter::kOpenMpi, "-NP") == nullptr);
}

TEST_CASE("as many tasks as nodes are one on each, and of other numbers Slurm decides") {
    const auto job_of = [](const char* options) {
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n#SBATCH ") + options + "\nsrun ./p\n", "s.sh");
        return convert_script(*explanation, "s")->yaml;
    };
    const std::string yaml = job_of("-N 4 -n 4");
    CHECK(yaml.find("launch: {kind: mpi") != std::string::npos);
    CHECK(yaml.find("  nodes: 4\n") != std::string::npos);
    CHECK(yaml.find("tasks") == std::string::npos);
    CHECK(job_of("-N 4 -n 8").find("launch: batch\n") != std::string::npos);
    const std::string gpus = job_of("-n 1 --gpus-per-task=2");
    CHECK(gpus.find("  gpus-per-task: 2\n") != std::string::npos);
    CHECK(gpus.find("launch: {kind: mpi") != std::string::npos);
    CHECK(job_of("-n 2 --gpus-per-task=2").find("launch: batch\n") != std::string::npos);
}

} // namespace cybele::schedulers
