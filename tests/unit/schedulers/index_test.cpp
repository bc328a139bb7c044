// SPDX-License-Identifier: Apache-2.0
// `@{index}` in command and environment: each element sees its own, whatever starts the program.
#include "bench.hpp"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

/// What the program of element 7 printed.
std::string said(const Bench& bench, const std::string& fields) {
    const auto outcome = bench.run(fields + "array: 3-9\n");
    CHECK_MESSAGE(outcome.ok(), outcome.errors);
    return outcome.output;
}

/// Whether a warning names the variable.
bool is_warned_of(const std::string& fields, const std::string& dialect, const std::string& name) {
    const launchers::Job job = job_of("kind: Job\nname: run\n" + fields);
    RenderInput input;
    input.job = &job;
    input.dialect = dialect;
    const auto rendered = render_script(input);
    REQUIRE(rendered);
    return std::any_of(rendered->notes.begin(), rendered->notes.end(), [&](const Fault& note) {
        return note.message.find(name) != std::string::npos;
    });
}

} // namespace

TEST_CASE("each element's words and variables hold its index, and nothing else is expanded") {
    Bench bench;
    bench.variables["CYBELE_ARRAY_INDEX"] = "7";
    bench.program("words", "printf '<%s>' \"$@\" \"$ODD\" \"$PLAIN\"\n");
    CHECK(said(bench,
               "command: [words, '@{index}', 'a@{index}.b@{index}', \"it's $HOME @{index}\", "
               "'{index}', "
               "'@{ index}']\n"
               "environment: {ODD: '`id` @{index}, $b', PLAIN: 'seed-@{index}'}\n") ==
          "<7><a7.b7><it's $HOME 7><{index}><@{ index}><`id` 7, $b><seed-7>");
    bench.file("key 7", "secret of 7\n");
    CHECK(
        said(bench, "command: [printenv, TOKEN]\nenvironment: {TOKEN: '@file:~/key @{index}'}\n") ==
        "secret of 7\n");
}

TEST_CASE("ranks, torchrun and a container are given the index") {
    Bench bench;
    bench.variables["CYBELE_ARRAY_INDEX"] = "7";
    bench.program("mpirun", "printf '%s ' \"$@\"\n");
    bench.program("python3", "printf '%s ' \"$@\"\n");
    bench.program("cybelectl", "printf '%s ' \"$@\"\n");
    CHECK(said(bench,
               "command: [app, 'in @{index}']\n"
               "launch: {kind: mpi, guard: false, allow-root: true}\n")
              .ends_with("app in 7 "));
    CHECK(said(bench, "command: [train.py, --seed, '@{index}']\nlaunch: torch\n")
              .ends_with("train.py --seed 7 "));
    bench.file("a.sif", "image");
    const std::string contained = said(bench,
                                       "image: a.sif\ncommand: [app, '@{index}']\n"
                                       "environment: {ODD: 'a,@{index}', PLAIN: 'p@{index}'}\n");
    CHECK(contained.find("--env=PLAIN=p7 ") != std::string::npos);
    CHECK(contained.ends_with(" env ODD=a,7 app 7 "));
}

TEST_CASE("an element of a sweep runs its own row, or its rows, and each has a record") {
    const std::string fields = "command: [sh, -c, 'echo lr $1; test $1 != 5', sh, '@{lr}']\n";
    Bench alone;
    alone.variables["CYBELE_ARRAY_INDEX"] = "2";
    const auto one = alone.run(fields + "sweep: {lr: [3, 4, 6]}\n");
    CHECK_MESSAGE(one.ok(), one.errors);
    CHECK(one.output == "lr 6\n");
    CHECK(fs::exists(alone.work / ".cybelectl" / kUuid / "2" / "exit.json"));
    Bench packed;
    packed.variables["CYBELE_ARRAY_INDEX"] = "1";
    const auto rows = packed.run(fields + "output: {stdout: 'row-%a'}\n"
                                          "sweep: {lr: [3, 4, 7, 5, 6], pack: 2, at-once: 1}\n");
    CHECK(rows.code == 1);
    CHECK(rows.output.empty());
    CHECK(read_file(packed.work / "row-row2").value() == "lr 7\n");
    CHECK(read_file(packed.work / "row-row3").value() == "lr 5\n");
    const fs::path record = packed.work / ".cybelectl" / kUuid / "1";
    for (const auto& [row, state] : {std::pair("2", "done"), std::pair("3", "failed")}) {
        const auto text = read_file(record / row / "exit.json");
        REQUIRE(text.has_value());
        CHECK(nlohmann::json::parse(*text)["state"] == state);
    }
    CHECK_FALSE(fs::exists(record / "4"));
}

TEST_CASE("a program can be interrupted, whatever starts it: it does not ignore INT and QUIT") {
    Bench bench;
    constexpr const char* kShowIgnored = "grep SigIgn /proc/self/status\n";
    constexpr const char* kNone = "SigIgn:\t0000000000000000\n";
    for (const char* name : {"mpirun", "python3", "show"}) {
        bench.program(name, kShowIgnored);
    }
    for (const std::string launch :
         {"", "launch: {kind: mpi, guard: false, allow-root: true}\n", "launch: torch\n"}) {
        CAPTURE(launch);
        CHECK(bench.run("command: [show]\n" + launch).output == kNone);
    }
    bench.variables["CYBELE_ARRAY_INDEX"] = "0";
    CHECK(bench
              .run("command: [show, '@{a}']\noutput: {stdout: 'row-%a'}\n"
                   "sweep: {a: [1, 2, 3], pack: 2}\n")
              .ok());
    CHECK(read_file(bench.work / "row-row1").value() == kNone);
}

TEST_CASE("the index comes from the scheduler's variable in every dialect") {
    struct Row {
        const char* dialect;
        const char* variable;
    };
    constexpr std::array<Row, 3> kRows{{{"slurm", "SLURM_ARRAY_TASK_ID"},
                                        {"torque", "PBS_ARRAYID"},
                                        {"pbspro", "PBS_ARRAY_INDEX"}}};
    for (const Row& row : kRows) {
        CAPTURE(row.dialect);
        for (const std::string launch :
             {"launch: serial\n",
              "launch: torch\nresources: {nodes: 2}\n",
              "launch: spark\nresources: {memory-per-node: 8 GiB, cpus-per-task: 2}\n"}) {
            CAPTURE(launch);
            const Bench bench;
            const std::string text =
                bench.script("command: [a.py, 'x @{index}']\narray: 0-9\n" + launch, row.dialect);
            CHECK(text.find(fmt::format("array_index=${{{}:-}}\n", row.variable)) !=
                  std::string::npos);
            CHECK(text.find("a.py 'x '\"$CYBELE_ARRAY_INDEX\"") != std::string::npos);
        }
    }
}

TEST_CASE("a script finds one variable of an index beside its scheduler's own, or none") {
    struct Row {
        const char* text;
        const char* dialect;
        const char* assigned; ///< "": none
    };
    constexpr std::array<Row, 6> kRows{{
        {"echo $PBS_ARRAYID $SLURM_ARRAY_TASK_ID", "slurm", ""},
        {"echo $PBS_ARRAYID $SLURM_ARRAY_TASK_ID", "torque", ""},
        {"echo $PBS_ARRAYID $SLURM_ARRAY_TASK_ID", "pbspro", "SLURM_ARRAY_TASK_ID"},
        {"echo $PBS_ARRAYID$PBS_ARRAY_INDEX", "slurm", "PBS_ARRAYID"},
        {"echo $PBS_ARRAY_INDEX", "local", "PBS_ARRAY_INDEX"},
        {"echo $CYBELE_ARRAY_INDEX", "slurm", ""},
    }};
    for (const Row& row : kRows) {
        CAPTURE(row.text);
        CAPTURE(row.dialect);
        const Bench bench;
        const std::string fields =
            fmt::format("launch: batch\narray: 0-9\nscript: '{}'\n", row.text);
        const std::string text = bench.script(fields, row.dialect);
        for (const std::string name : {"SLURM_ARRAY_TASK_ID", "PBS_ARRAYID", "PBS_ARRAY_INDEX"}) {
            const bool is_set = text.find("export " + name + "=\"$array_index\"") != text.npos;
            CHECK(is_set == (name == row.assigned));
            CHECK_FALSE((is_set && is_warned_of(fields, row.dialect, "$" + name)));
        }
    }
}

} // namespace cybele::schedulers
