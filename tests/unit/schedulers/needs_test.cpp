// SPDX-License-Identifier: Apache-2.0
#include "golden_case.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "schedulers/dialects/needs.hpp"
#include "schedulers/scripts/values.hpp"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

constexpr const char* kNeedsHead = "kind: Job\nname: needs\nimage: a.sif\ncommand: [app]\n";

struct NeedRow {
    const char* need;
    const char* fields;
    std::array<const char*, 5> carried; ///< in the order of kNeedsDialects; nullptr: refused
};
constexpr std::array<const char*, 5> kNeedsDialects{
    "slurm", "torque", "pbspro", "slurm-torque", "local"};

// What the script must hold for each need, in each dialect.
constexpr std::array kNeedRows{
    NeedRow{"name", "", {"--job-name=needs", "-N needs", "-N needs", "-N needs", "name=needs"}},
    NeedRow{"nodes",
            "launch: mpi\nresources: {nodes: 2}\n",
            {"--nodes=2", "nodes=2:ppn=1", "select=2:ncpus=1", "select=2:ncpus=1", nullptr}},
    NeedRow{"tasks",
            "launch: mpi\nresources: {nodes: 2, tasks-per-node: 2, tasks: 3}\n",
            {"--ntasks=3", "-np 3", "-np 3", "-np 3", nullptr}},
    NeedRow{"tasks-per-node",
            "launch: mpi\nresources: {tasks-per-node: 2}\n",
            {"--ntasks-per-node=2",
             "nodes=1:ppn=2",
             "ncpus=2:mpiprocs=2",
             "ncpus=2:mpiprocs=2",
             "need_cpus 2 1 "}},
    NeedRow{"cpus-per-task",
            "launch: openmp\nresources: {cpus-per-task: 3}\n",
            {"--cpus-per-task=3",
             "ppn=3",
             "ncpus=3:mpiprocs=1",
             "ncpus=3:mpiprocs=1",
             "need_cpus 1 3 "}},
    NeedRow{"memory-per-node",
            "launch: mpi\nresources: {memory-per-node: 1025 KiB}\n",
            {"--mem=2M", "mem=2mb", ":mem=2mb", ":mem=2mb", "need_memory 1 "}},
    NeedRow{
        "memory-per-cpu",
        "resources: {memory-per-cpu: 2 GiB}\n",
        {"--mem-per-cpu=2048M", "mem=2048mb", ":mem=2048mb", ":mem=2048mb", "need_memory 2048 "}},
    NeedRow{"memory-per-cpu of several",
            "launch: mpi\nresources: {nodes: 3, tasks-per-node: 5, cpus-per-task: 7, "
            "memory-per-cpu: 1025 KiB}\n",
            {"--mem-per-cpu=2M", "mem=108mb", ":mem=36mb", ":mem=36mb", nullptr}},
    NeedRow{
        "memory-per-cpu of one node",
        "launch: mpi\nresources: {tasks-per-node: 5, cpus-per-task: 7, memory-per-cpu: 3 MiB}\n",
        {"--mem-per-cpu=3M", "mem=105mb", ":mem=105mb", ":mem=105mb", "need_memory 105 "}},
    NeedRow{"memory-per-cpu beside GPUs",
            "resources: {cpus-per-task: 6, gpus-per-node: 4, memory-per-cpu: 3 GiB}\n",
            {"--mem-per-cpu=3072M",
             "mem=18432mb",
             ":mem=18432mb:ngpus=4",
             nullptr,
             "need_memory 18432 "}},
    NeedRow{"memory-per-node beside GPUs",
            "resources: {gpus-per-node: 4, memory-per-node: 5 GiB}\n",
            {"--mem=5120M", "mem=5120mb", ":mem=5120mb:ngpus=4", nullptr, "need_memory 5120 "}},
    NeedRow{
        "gpus-per-node",
        "resources: {gpus-per-node: 2}\n",
        {"--gpus-per-node=2", ":gpus=2", ":ngpus=2", nullptr, "this job needs 2 GPUs on a node"}},
    NeedRow{"gpu-type",
            "resources: {gpus-per-node: {count: 2, type: a100}}\n",
            {"--gpus-per-node=a100:2", nullptr, nullptr, nullptr, nullptr}},
    NeedRow{"gpu-type as gres",
            "resources: {gpus-per-node: {count: 2, type: a100, form: gres}, gres: {lscratch: 9}}\n",
            {"#SBATCH --gres=gpu:a100:2,lscratch:9\n", nullptr, nullptr, nullptr, nullptr}},
    NeedRow{"gpus",
            "resources: {gpus: 3}\n",
            {"--gpus=3", nullptr, nullptr, nullptr, "this job needs 3 GPUs on a node"}},
    NeedRow{
        "gpus-per-task",
        "launch: mpi\nresources: {tasks-per-node: 2, gpus-per-task: 3}\n",
        {"--gpus-per-task=3", ":gpus=6", ":ngpus=6", nullptr, "this job needs 6 GPUs on a node"}},
    NeedRow{"memory-per-gpu",
            "resources: {memory-per-gpu: 1025 KiB, gpus-per-node: 2}\n",
            {"--mem-per-gpu=2M", nullptr, nullptr, nullptr, ""}},
    NeedRow{"memory", "resources: {memory: all}\n", {"--mem=0", nullptr, nullptr, nullptr, ""}},
    NeedRow{"hosts",
            "launch: mpi\nresources: {nodes: 2, tasks-per-node: 3, hosts: [n4, n5]}\n",
            {"--nodelist=n4,n5",
             "nodes=n4:ppn=3+n5:ppn=3",
             "select=1:host=n4:ncpus=3:mpiprocs=3+1:host=n5:ncpus=3:mpiprocs=3",
             nullptr,
             nullptr}},
    NeedRow{"exclude",
            "resources: {exclude: [n4, 'n[6-7]']}\n",
            {"--exclude=n4,n[6-7]", nullptr, nullptr, nullptr, ""}},
    NeedRow{"threads-per-core",
            "resources: {threads-per-core: 1}\n",
            {"--threads-per-core=1", nullptr, nullptr, nullptr, ""}},
    NeedRow{"licenses",
            "resources: {licenses: {matlab: 2, a: 1}}\n",
            {"--licenses=a:1,matlab:2", nullptr, nullptr, nullptr, ""}},
    NeedRow{"gres",
            "resources: {gres: {lscratch: 100}}\n",
            {"--gres=lscratch:100", nullptr, nullptr, nullptr, ""}},
    NeedRow{"reservation",
            "reservation: school\n",
            {"--reservation=school", nullptr, nullptr, nullptr, ""}},
    NeedRow{"begin",
            "begin: 2026-11-26T22:05\n",
            {"--begin=2026-11-26T22:05:00",
             "#PBS -a 202611262205.00\n",
             "#PBS -a 202611262205.00\n",
             nullptr,
             nullptr}},
    NeedRow{
        "comment", "comment: for me\n", {"--comment=\"for me\"", nullptr, nullptr, nullptr, ""}},
    NeedRow{"requeue",
            "requeue: true\n",
            {"#SBATCH --requeue\n", "#PBS -r y\n", "#PBS -r y\n", nullptr, ""}},
    NeedRow{"append-output",
            "append-output: true\noutput: {stdout: o, stderr: e}\n",
            {"--open-mode=append", "exec >>o 2>>e", "exec >>o 2>>e", nullptr, nullptr}},
    NeedRow{"append-output to one file",
            "append-output: true\noutput: {stdout: o, stderr: o}\n",
            {"--open-mode=append", "exec >>o 2>&1", "exec >>o 2>&1", nullptr, nullptr}},
    NeedRow{"time",
            "resources: {time: 49 h}\n",
            {"--time=49:00:00",
             "walltime=49:00:00",
             "walltime=49:00:00",
             "walltime=49:00:00",
             "[ \"$SECONDS\" -lt 176398 ] || state=timeout"}},
    NeedRow{"exclusive",
            "resources: {exclusive: true}\n",
            {"#SBATCH --exclusive\n", "#PBS -n\n", "place=excl", nullptr, ""}},
    NeedRow{"constraint",
            "resources: {constraint: [ib, nvme]}\n",
            {"--constraint=ib&nvme", ":ib:nvme", nullptr, nullptr, ""}},
    NeedRow{"queue", "queue: q1\n", {"--partition=q1", "-q q1", "-q q1", "-q q1", ""}},
    NeedRow{"account", "account: a1\n", {"--account=a1", "-A a1", "-A a1", "-A a1", ""}},
    NeedRow{"qos", "qos: high\n", {"--qos=high", nullptr, nullptr, nullptr, ""}},
    NeedRow{"directives",
            "directives: {slurm: [--switches=1], torque: [-W group_list=x], pbspro: [-l "
            "software=x]}\n",
            {"#SBATCH --switches=1\n",
             "#PBS -W group_list=x\n",
             "#PBS -l software=x\n",
             "#SBATCH --switches=1\n",
             ""}},
    NeedRow{"array",
            "array: 0-9\n",
            {"--array=0-9", "-t 0-9", "-J 0-9", "-t 0-9", "array_index=${CYBELE_ARRAY_INDEX:-}"}},
    NeedRow{"array with a step",
            "array: 0-9:3\n",
            {"--array=0-9:3", nullptr, "-J 0-9:3", "-t 0-9:3", ""}},
    NeedRow{"array list", "array: 1,4\n", {"--array=1,4", "-t 1,4", nullptr, "-t 1,4", ""}},
    NeedRow{"after",
            "after: [{job: '12', when: failed}]\n",
            {"--dependency=afternotok:12",
             "depend=afternotok:12",
             "depend=afternotok:12",
             nullptr,
             ""}},
    NeedRow{"mail",
            "mail: {to: a@b.example, on: [begin, fail]}\n",
            {"--mail-type=BEGIN,FAIL", "-m ba", "-m ba", "-m ba", ""}},
    NeedRow{"signal",
            "resources: {time: 1 h}\nsignal: {name: USR2, before: 10 min}\n",
            {"--signal=B:USR2@600",
             "send_signal_after 3000 USR2",
             "send_signal_after 3000 USR2",
             "send_signal_after 3000 USR2",
             "send_signal_after 3000 USR2"}},
    NeedRow{"workdir",
            "workdir: runs\n",
            {"--chdir=runs", "workdir=runs", "workdir=runs", "workdir=runs", "workdir=runs"}},
    NeedRow{"stdout",
            "output: {stdout: a/%x.%j}\n",
            {"--output=a/%x.%j",
             "exec >a/needs.\"$job_number\"",
             "exec >a/needs.\"$job_number\"",
             "-o a/%x.%j",
             ""}},
};

} // namespace

TEST_CASE("each need is carried by each dialect or refused with its place, never dropped") {
    for (const NeedRow& row : kNeedRows) {
        const launchers::Job job = job_of(std::string(kNeedsHead) + row.fields);
        for (std::size_t index = 0; index < kNeedsDialects.size(); ++index) {
            CAPTURE(row.need);
            CAPTURE(kNeedsDialects[index]);
            RenderInput input;
            input.job = &job;
            input.dialect = kNeedsDialects[index];
            input.image = "a.sif";
            const auto script = render_script(input);
            if (row.carried[index] != nullptr) {
                REQUIRE_MESSAGE(script.has_value(), script.error().message());
                CHECK_MESSAGE(script->text.find(row.carried[index]) != std::string::npos,
                              script->text);
                continue;
            }
            REQUIRE_FALSE(script.has_value());
            const auto& all = script.error().faults();
            const auto& fault = *std::find_if(
                all.begin(), all.end(), [](const Fault& each) { return !each.is_warning; });
            CHECK_MESSAGE((fault.message.find("cannot be expressed") != std::string::npos ||
                           fault.message.starts_with("not yet")),
                          fault.message);
            CHECK(fault.where.has_value());
            CHECK_FALSE(fault.because.empty());
            CHECK_FALSE(fault.help.empty());
        }
    }
}

TEST_CASE("what a dialect takes without effect is one note at the first of its fields") {
    const launchers::Job job =
        job_of(std::string(kNeedsHead) + "qos: high\nqueue: q1\nresources: {constraint: [ib]}\n"
                                         "mail: {to: a@b.example}\naccount: a1\n");
    RenderInput input;
    input.job = &job;
    input.dialect = "local";
    input.image = "a.sif";
    const auto script = render_script(input);
    REQUIRE(script.has_value());
    const auto is_note = [](const Fault& note) {
        return note.message ==
               "without effect in local: `constraint`, `queue`, `account`, `qos`, `mail`";
    };
    CHECK(std::count_if(script->notes.begin(), script->notes.end(), is_note) == 1);
    const auto note = std::find_if(script->notes.begin(), script->notes.end(), is_note);
    CHECK(note->is_warning);
    CHECK(note->where->line == 7); // the constraint's
    CHECK(script->text.find("q1") == std::string::npos);
}

TEST_CASE("odd names reach the script as the words that they are") {
    struct OddRow {
        std::string fields;
        std::string dialect;
        std::string image;
        std::string carried;
    };
    const OddRow rows[] = {
        {"output: {stdout: ~/x}\n", "torque", "a.sif", "exec >\"$HOME\"/x"},
        {"binds: ['~/my data:/d']\n", "torque", "a.sif", "\"$HOME\"/'my data:/d'"},
        {"binds: []\n", "torque", "-x.sif", "./-x.sif"},
        {"array: 0-1\nenvironment: {K: '@file:-k@{index}'}\n", "torque", "a.sif", "./-k"},
        {"resources: {time: 1 h}\nsignal: {name: TERM, before: 10 min}\n",
         "torque",
         "a.sif",
         "send_signal_after 3000 HUP"},
        {"resources: {time: 1 h}\nsignal: {name: TERM, before: 10 min}\n",
         "slurm-torque",
         "a.sif",
         "send_signal_after 3000 TERM"},
        {"launch: {kind: torch, processes-per-node: 5}\nresources: {nodes: 3, cpus-per-task: 7}\n",
         "torque",
         "a.sif",
         "--nnodes=3 --nproc_per_node=5"}};
    for (const OddRow& row : rows) {
        CAPTURE(row.carried);
        const launchers::Job job = job_of(kNeedsHead + row.fields);
        RenderInput input;
        input.job = &job;
        input.dialect = row.dialect;
        input.image = row.image;
        const auto script = render_script(input);
        REQUIRE_MESSAGE(script.has_value(), script.error().message());
        CHECK_MESSAGE(script->text.find(row.carried) != std::string::npos, script->text);
    }
}

TEST_CASE("a signal that would come when the job begins is refused") {
    const launchers::Job job =
        job_of(std::string(kNeedsHead) + "signal: {name: USR1, before: 10 min}\n");
    for (const int minutes : {10, 11}) {
        launchers::Site site;
        site.queues.push_back({});
        site.queues.front().name = "q";
        site.queues.front().time = std::chrono::minutes(minutes);
        RenderInput input;
        input.job = &job;
        input.site = &site;
        input.dialect = "torque";
        input.image = "a.sif";
        const auto script = render_script(input);
        CHECK(script.has_value() == (minutes > 10));
    }
}

TEST_CASE("a head that drops a need is found out") {
    auto dialect = find_dialect("slurm");
    REQUIRE(dialect.has_value());
    const launchers::Job job = job_of(std::string(kNeedsHead) + "account: a1\n");
    Faults faults;
    check_carried(job, *dialect, {"name", "stdout", "stderr"}, faults);
    REQUIRE(faults.all().size() == 1);
    CHECK(faults.all()[0].message == "the head's template for slurm drops `account`");
}

TEST_CASE("values that a directive cannot carry are refused, in Slurm blanks are grouped") {
    const std::array nasty{"a'b\"c", "$HOME/x", "a\\b", "-x", "a`b"};
    for (const char* value : nasty) {
        launchers::Job job = job_of(std::string(kNeedsHead));
        job.account = value;
        for (const char* dialect : {"slurm", "torque", "pbspro", "slurm-torque"}) {
            CAPTURE(value);
            CAPTURE(dialect);
            RenderInput input;
            input.job = &job;
            input.dialect = dialect;
            input.image = "a.sif";
            const auto script = render_script(input);
            REQUIRE_FALSE(script.has_value());
            CHECK(script.error().message().find("cannot be carried") != std::string::npos);
        }
    }
    launchers::Job job = job_of(std::string(kNeedsHead));
    job.output.standard_output = "out put/#1 %j";
    RenderInput input;
    input.job = &job;
    input.image = "a.sif";
    input.dialect = "slurm";
    CHECK(render_script(input)->text.find("#SBATCH --output=\"out put/#1 %j\"\n") !=
          std::string::npos);
    input.dialect = "torque";
    CHECK(render_script(input)->text.find("exec >'out put/#1 '\"$job_number\"") !=
          std::string::npos);
}

TEST_CASE("several queues are Slurm's alone, and the help of the others says so") {
    launchers::Job job = job_of(std::string(kNeedsHead));
    job.queue = "short,long";
    RenderInput input;
    input.job = &job;
    input.image = "a.sif";
    input.dialect = "slurm";
    CHECK(render_script(input)->text.find("#SBATCH --partition=short,long\n") != std::string::npos);
    for (const char* dialect : {"torque", "pbspro", "slurm-torque"}) {
        CAPTURE(dialect);
        input.dialect = dialect;
        const auto script = render_script(input);
        REQUIRE_FALSE(script.has_value());
        CHECK(script.error().faults().front().help == "name one queue");
    }
}

TEST_CASE(
    "an output below the home is refused where a directive names it, else the shell finds it") {
    launchers::Job job = job_of(std::string(kNeedsHead));
    job.output.standard_error = "~/of errors/%j";
    RenderInput input;
    input.job = &job;
    input.image = "a.sif";
    for (const char* dialect : {"slurm", "slurm-torque"}) {
        CAPTURE(dialect);
        input.dialect = dialect;
        const auto script = render_script(input);
        REQUIRE_FALSE(script.has_value());
        const Fault& fault = script.error().faults().front();
        CHECK(fault.message == "`~` cannot be carried by a directive");
        CHECK(fault.help == "write the absolute path");
    }
    for (const char* dialect : {"torque", "pbspro"}) {
        CAPTURE(dialect);
        input.dialect = dialect;
        CHECK(render_script(input)->text.find(R"(2>"$HOME"/'of errors/'"$job_number")") !=
              std::string::npos);
    }
}

TEST_CASE("time is HH:MM:SS with any number of hours") {
    CHECK(clock_text(std::chrono::seconds(59)) == "00:00:59");
    CHECK(clock_text(std::chrono::hours(49)) == "49:00:00");
    CHECK(clock_text(std::chrono::hours(1000) + std::chrono::seconds(61)) == "1000:01:01");
}

TEST_CASE("an unknown dialect names the near one; tables are read strictly") {
    CHECK(find_dialect("slrum").error().faults()[0].help == "did you mean 'slurm'?");
    Dialect dialect;
    dialect.name = "x";
    CHECK(read_needs("need name directive\n", dialect).error().message() ==
          "dialects/x.needs says nothing of 'nodes'");
    for (const char* bad : {"need nmae directive\n",
                            "need name maybe\n",
                            "trait a b\n",
                            "need name cannot why\n",
                            "word\n"}) {
        Dialect empty;
        CHECK_FALSE(read_needs(bad, empty).has_value());
    }
}

TEST_CASE("A1 to A8 hold for every golden script") {
    for (const GoldenCase& golden : golden_cases()) {
        for (const auto& dialect : dialect_names()) {
            const auto script = render_script(golden.input(dialect));
            if (!script) {
                continue;
            }
            CAPTURE(golden.name);
            CAPTURE(dialect);
            const std::string& text = script->text;
            CHECK(text.starts_with("#!/bin/bash\n"));
            CHECK(text.find("--allow-run-as-root") == std::string::npos);
            if (!golden.job.launch.allow_root) {
                CHECK(text.find("ALLOW_RUN_AS_ROOT") == std::string::npos);
            }
            bool is_head = true;
            std::size_t at = text.find('\n') + 1;
            while (at < text.size()) {
                const auto line = text.substr(at, text.find('\n', at) - at);
                const bool is_directive = line.starts_with("#SBATCH") || line.starts_with("#PBS");
                CHECK_MESSAGE((!is_directive || is_head), line);
                if (is_directive) {
                    CHECK_MESSAGE(line.find('$') == std::string::npos, line);
                    CHECK(line.starts_with(dialect == "slurm" ? "#SBATCH --" : "#PBS -"));
                }
                is_head = is_head && is_directive;
                at += line.size() + 1;
            }
            const auto strict = text.find("\nset -euo pipefail\n");
            REQUIRE(strict != std::string::npos);
            for (const char* wrong : {" --pid ", "--contain", "--cleanenv"}) {
                const auto found = text.find(wrong);
                CHECK((found == std::string::npos || text.find("(no --cleanenv") < found));
            }
        }
    }
}

TEST_CASE("a `job-name` that qsub refuses is refused at its line, and no other") {
    struct Row {
        const char* name;
        bool torque;
        bool pbspro;
    };
    for (const Row& row : {Row{"\xc3\xa4", false, false},
                           Row{"a;b", true, false},
                           Row{"[x]", true, false},
                           Row{"a!b", true, false},
                           Row{"%x", true, false},
                           Row{"1-a.b_c+", true, true}}) {
        CAPTURE(row.name);
        const launchers::Job job = job_of(fmt::format(
            "kind: Job\nname: a\njob-name: '{}'\nlaunch: batch\nscript: echo\n", row.name));
        for (const auto& [dialect, is_good] : {std::pair("torque", row.torque),
                                               std::pair("pbspro", row.pbspro),
                                               std::pair("slurm", true)}) {
            CAPTURE(dialect);
            RenderInput input;
            input.job = &job;
            input.dialect = dialect;
            const auto script = render_script(input);
            CHECK(script.has_value() == is_good);
            CHECK((is_good || script.error().faults().front().id == "job-name-refused"));
            CHECK((is_good || script.error().faults().front().where->line == 3));
        }
    }
}

} // namespace cybele::schedulers
