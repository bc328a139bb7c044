// SPDX-License-Identifier: Apache-2.0
// `directives`, and what a script says to another batch system.
#include "batch_parts.hpp"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace cybele::schedulers {

TEST_CASE("directives: each word is an option that no field says already") {
    struct Row {
        const char* fields;
        const char* dialect;
        std::vector<const char*> told;
    };
    const std::array rows{
        Row{"resources: {nodes: 2}\ndirectives:\n  slurm:\n    - --switches=1\n    - --nodes=3\n",
            "slurm",
            {"`--nodes` is already given by `resources.nodes`", "test.yaml:8:7"}},
        Row{"directives: {slurm: ['--array=1-3']}\n", "slurm", {"`--array` makes an array"}},
        Row{"directives: {slurm: [-a 1-3]}\n", "slurm", {"`--array` makes an array"}},
        Row{"directives: {torque: [-t 1-3]}\n", "torque", {"`-t` makes an array"}},
        Row{"directives: {pbspro: [-J 1-3]}\n", "pbspro", {"`-J` makes an array"}},
        Row{"directives: {slurm: [--swiches=1]}\n",
            "slurm",
            {"slurm has no option '--swiches'", "did you mean `--switches`?"}},
        Row{"directives: {slurm: [switches]}\n", "slurm", {"'switches' is not an option"}},
        Row{"directives: {slurm: [--switches=1 more]}\n", "slurm", {"'more' is not an option"}},
        Row{"job-name: y\ndirectives: {slurm: [--job-name=x]}\n",
            "slurm",
            {"already given by `job-name`"}},
        Row{"resources: {tasks-per-node: 2}\ndirectives: {torque: ['-l nodes=3']}\n",
            "torque",
            {"`-l nodes` is already given by `resources.tasks-per-node`"}},
        Row{"resources: {memory-per-cpu: 1 GiB}\ndirectives: {slurm: [--mem=0]}\n",
            "slurm",
            {"`--mem` is already given by `resources.memory-per-cpu`"}},
        Row{"resources: {tasks: 3}\n", "torque", {"`tasks` without `tasks-per-node`"}},
    };
    for (const Row& row : rows) {
        CAPTURE(row.fields);
        const std::string told = fault_of(batch(row.fields, "true\n"), row.dialect);
        for (const char* part : row.told) {
            CHECK_MESSAGE(told.find(part) != std::string::npos, told);
        }
    }
    const std::string typed = "command: [app]\ndirectives: {slurm: [--ntasks=2, --mem=0]}\n";
    CHECK(fault_of(typed, "slurm").find("`--ntasks` is already given by") != std::string::npos);
    const auto local = render_batch(batch("directives: {slurm: [--mem=0]}\n", "true\n"), "local");
    REQUIRE(local.has_value());
    CHECK(format_text(local->notes).find("without effect in local: `directives`") !=
          std::string::npos);
}

TEST_CASE("directives for other batch systems only are told, and refused where they are the size") {
    struct Row {
        const char* directives;
        const char* dialect;
        const char* said; ///< empty: nothing
        bool is_refused;
    };
    for (const Row& row :
         {Row{"{pbspro: [-l place=pack]}",
              "slurm",
              "the directives for pbspro are left out",
              false},
          Row{"{pbspro: [-l place=pack], slurm: []}", "slurm", "", false},
          Row{"{pbspro: [-l place=pack]}", "pbspro", "", false},
          Row{"{slurm: [--switches=1]}", "slurm-torque", "", false},
          Row{"{slurm: [--switches=1]}", "torque", "the directives for slurm are left out", false},
          Row{"{pbspro: ['-l select=2:ncpus=8']}",
              "slurm",
              "the size of the job is only given for pbspro, by `-l select=2:ncpus=8`",
              true},
          Row{"{torque: [-V, '-l nodes=2:ppn=8,walltime=1:00:00']}",
              "pbspro",
              "the size of the job is only given for torque",
              true},
          Row{"{slurm: [--nodes=2]}",
              "torque",
              "the size of the job is only given for slurm",
              true}}) {
        CAPTURE(row.directives);
        CAPTURE(row.dialect);
        const auto rendered = render_batch(
            batch("directives: " + std::string(row.directives) + "\n", "true\n"), row.dialect);
        CHECK(rendered.has_value() != row.is_refused);
        const std::string said =
            rendered ? format_text(rendered->notes) : format_text(rendered.error().faults());
        CHECK(said.empty() == std::string_view(row.said).empty());
        CHECK(said.find(row.said) != std::string::npos);
        CHECK((row.is_refused || said.empty() || said.find("help: add `") != std::string::npos));
    }
}

TEST_CASE("a script that needs another batch system is told, with the line") {
    struct Row {
        const char* script;
        const char* dialect;
        const char* said; ///< empty: nothing
    };
    for (const Row& row :
         {Row{"true\nsrun ./app\n", "torque", "the script calls srun in line 2"},
          Row{"echo $SLURM_NTASKS\n", "pbspro", "reads $SLURM_NTASKS in line 1"},
          Row{"echo \"${PBS_NODEFILE}\"\n", "slurm", "reads $PBS_NODEFILE in line 1"},
          Row{"echo ${SLURM_NTASKS:-1}\n", "torque", ""},
          Row{"# srun is not here\necho 'srun'\n", "torque", ""},
          Row{"srun ./app\n", "slurm", ""},
          Row{"srun ./app\n", "slurm-torque", ""},
          Row{"cat $PBS_NODEFILE\n", "torque", ""},
          Row{"cd $SLURM_SUBMIT_DIR\nsrun -n $SLURM_NTASKS ./a\nsrun ./b\n",
              "torque",
              "the script calls srun in line 2, and reads $SLURM_SUBMIT_DIR in line 1 and "
              "$SLURM_NTASKS in line 2"}}) {
        CAPTURE(row.script);
        CAPTURE(row.dialect);
        const auto rendered = render_batch(batch("", row.script), row.dialect);
        REQUIRE(rendered.has_value());
        const std::string said = format_text(rendered->notes);
        CHECK((said.find("the script ") == std::string::npos) ==
              std::string_view(row.said).empty());
        CHECK(said.find(row.said) != std::string::npos);
    }
}

TEST_CASE("directives: those of the Site, of its queue and of the Job come in this order") {
    const launchers::Job job = job_of(
        "kind: Job\nname: run\nqueue: q\ndirectives: {slurm: [--mem=0]}\n" + batch("", "true\n"));
    const auto site = launchers::read_site(
        "kind: Site\nname: hall\nscheduler: slurm\ndirectives: {slurm: [--reboot]}\nqueues:\n"
        "  - {name: p}\n  - {name: q, directives: {slurm: [--switches=1, --rebooot=2]}}\n",
        "site.yaml");
    REQUIRE(site.has_value());
    RenderInput input;
    input.job = &job;
    input.site = &*site;
    input.dialect = "slurm";
    const auto script = render_script(input);
    REQUIRE_FALSE(script.has_value());
    const std::string told = format_text(script.error().faults());
    CHECK_MESSAGE(told.find("site.yaml:7:50") != std::string::npos, told);
    launchers::Site good = *site;
    good.queues[1].directives["slurm"].pop_back();
    input.site = &good;
    const auto rendered = render_script(input);
    REQUIRE(rendered.has_value());
    CHECK(rendered->text.find("#SBATCH --reboot\n#SBATCH --switches=1\n#SBATCH --mem=0\n") !=
          std::string::npos);
}

TEST_CASE("a Site of PBS Pro says by which option jobs name who pays") {
    const launchers::Job job = job_of("kind: Job\nname: run\ncommand: [a]\n");
    const auto site = launchers::read_site("kind: Site\nname: hall\naccount: grant\n"
                                           "scheduler: {dialect: pbspro, account-option: -P}\n"
                                           "queues: [{name: q, directives: {pbspro: [-P b]}}]\n",
                                           "site.yaml");
    REQUIRE(site.has_value());
    RenderInput input;
    input.job = &job;
    input.site = &*site;
    input.dialect = "pbspro";
    const auto refused = render_script(input);
    REQUIRE_FALSE(refused.has_value());
    const Fault& fault = refused.error().faults().front();
    CHECK(fault.message == "`-P` has no place in a Site");
    CHECK(fault.help == "remove it; `account` of the Site is the default");
    CHECK(fault.where->line == 5);
    launchers::Site good = *site;
    good.queues[0].directives.clear();
    input.site = &good;
    const auto script = render_script(input);
    REQUIRE(script.has_value());
    CHECK(script->text.find("#PBS -P grant\n") != std::string::npos);
    CHECK(script->text.find("#PBS -A") == std::string::npos);
}

TEST_CASE("an exact serial launch asks for what the Job says, as a batch launch does") {
    struct Row {
        const char* fields;
        const char* dialect;
    };
    for (const Row& row :
         {Row{"", "slurm"},
          Row{"resources: {tasks: 14}\n", "slurm"},
          Row{"resources: {nodes: 2, tasks-per-node: 8, time: 1 h}\noutput: {stdout: o.txt}\n",
              "slurm"},
          Row{"directives: {slurm: [--ntasks=8, --export=NONE, --output=a.%N]}\n", "slurm"},
          Row{"directives: {pbspro: [\"-l select=1:ncpus=8:mem=4gb\", \"-j oe\"]}\n", "pbspro"},
          Row{"directives: {torque: [\"-l nodes=1:ppn=4:gpus=1\", \"-o logs\"]}\n", "torque"}}) {
        CAPTURE(row.fields);
        const std::string same = fmt::format("{}shell: bash\nscript: |\n  ./x\n", row.fields);
        const std::string exact = "launch: {kind: serial, exact: true, threads: own}\n" + same;
        CHECK(head_of(exact, row.dialect) == head_of(kBatchHead + same, row.dialect));
        const auto script = render_batch(exact, row.dialect);
        CHECK(script->text.find("need_cpus") == std::string::npos);
    }
    const auto ranks = launchers::read_job(
        "kind: Job\nname: a\ncommand: [p]\nlaunch: {kind: mpi, exact: true}\n", "a.yaml");
    REQUIRE_FALSE(ranks.has_value());
    CHECK(format_text(ranks.error().faults()).find("it belongs to: serial") != std::string::npos);
}

} // namespace cybele::schedulers
