// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/plan.hpp"

#include <array>
#include <tuple>

#include <doctest/doctest.h>

namespace cybele::launchers {
namespace {

/// The faults of a Job with these fields, a line each: where, message, help.
std::string faults_of(const std::string& fields) {
    const auto job = read_job("kind: Job\nname: a\n" + fields, "job.yaml");
    REQUIRE_MESSAGE(job.has_value(), job.error().message());
    Faults faults;
    (void)make_plan({&*job, nullptr, nullptr, {}}, faults);
    std::string text;
    for (const Fault& fault : faults.all()) {
        REQUIRE(fault.where.has_value());
        text += std::to_string(fault.where->line) + ":" + std::to_string(fault.where->column) +
                " " + fault.message + " -> " + fault.help + "\n";
    }
    return text;
}

} // namespace

TEST_CASE("a variable of the index is refused where no shell would read it") {
    for (const char* name :
         {"CYBELE_ARRAY_INDEX", "SLURM_ARRAY_TASK_ID", "PBS_ARRAYID", "PBS_ARRAY_INDEX"}) {
        CAPTURE(name);
        CHECK(faults_of("command: [run, 'x$" + std::string(name) + "']\narray: 0-9\n") ==
              "3:16 `$" + std::string(name) +
                  "` is not replaced here -> write `@{index}` in place of `$" + std::string(name) +
                  "`\n");
        CHECK(faults_of("command: [run]\nenvironment: {A: '$B ${" + std::string(name) +
                        "}'}\narray: 0-9\n")
                  .starts_with("4:18 "));
    }
    CHECK(faults_of("command: [run, '$CYBELE_ARRAY_INDEX']\n")
              .ends_with("write `'@{index}'`, and `array: 0-9`\n"));
    for (const char* good : {"'$CYBELE_ARRAY_INDEXES'", "CYBELE_ARRAY_INDEX", "'$OTHER'", "'$'"}) {
        CHECK(faults_of("command: [run, " + std::string(good) + "]\narray: 0-9\n").empty());
    }
}

TEST_CASE("a variable of a sweep's value is refused where no shell would read it") {
    const std::string sweep = "sweep: {lr: [1, 2], batch-size: [4]}\n";
    CHECK(faults_of("command: [run, '$CYBELE_SWEEP_lr']\n" + sweep) ==
          "3:16 `$CYBELE_SWEEP_lr` is not replaced here -> write `'@{lr}'`\n");
    CHECK(faults_of("command: [run]\nenvironment: {X: 'b-${CYBELE_SWEEP_batch_size}'}\n" + sweep) ==
          "4:18 `$CYBELE_SWEEP_batch_size` is not replaced here -> write `@{batch-size}` in place "
          "of `${CYBELE_SWEEP_batch_size}`\n");
    CHECK(faults_of("command: [run, '$CYBELE_SWEEP_lr']\n")
              .ends_with("write `'@{lr}'`, and its values under `sweep`\n"));
    CHECK(faults_of("command: [sh, -c, 'echo $CYBELE_SWEEP_lr']\n" + sweep).empty());
}

TEST_CASE("a `$` in a bind that is not expanded is a warning, in a bind of the Site, too") {
    const auto site = read_site("kind: Site\nname: hall\nscheduler: slurm\n"
                                "binds: ['/a$USER:/s', /plain, {expand: '/b$USER:/t'}]\n",
                                "site.yaml");
    REQUIRE_MESSAGE(site.has_value(), site.error().message());
    const auto job = read_job("kind: Job\nname: a\nimage: a.sif\ncommand: [p]\n"
                              "binds: [/plain, {expand: '/c$USER:/u'}, '/d$USER:/v']\n",
                              "job.yaml");
    REQUIRE(job);
    Faults faults;
    (void)make_plan({&*job, &*site, nullptr, {}}, faults);
    REQUIRE(faults.all().size() == 2);
    for (const auto& [at, file, bind] : {std::tuple(0U, "site.yaml", "'/a$USER:/s'"),
                                         std::tuple(1U, "job.yaml", "'/d$USER:/v'")}) {
        const Fault& fault = faults.all().at(at);
        CHECK(fault.id == "bind-not-expanded");
        CHECK(fault.is_warning);
        CHECK(fault.where.value_or(Place{}).file == file);
        CHECK(fault.message.ends_with(bind));
    }
}

TEST_CASE("a shell that the command names may read the variable") {
    for (const char* shell : {"sh, -c", "/bin/bash, -ec", "timeout, 5, dash, -c"}) {
        CAPTURE(shell);
        CHECK(faults_of("command: [" + std::string(shell) +
                        ", 'echo $CYBELE_ARRAY_INDEX']\narray: 0-9\n")
                  .empty());
    }
    for (const char* other : {"python3, -c", "sh, --c", "-c"}) {
        CAPTURE(other);
        CHECK_FALSE(faults_of("command: [" + std::string(other) +
                              ", 'echo $CYBELE_ARRAY_INDEX']\narray: 0-9\n")
                        .empty());
    }
}

TEST_CASE("words of the command that only a shell would act on are a warning") {
    CHECK(
        faults_of("command: [ls, '|', wc, '>', out]\n") ==
        "3:15 no shell reads `command`: the program gets `|` as it is -> write `[sh, -c, 'ls | wc "
        "> out']`, or a `script`\n");
    CHECK(faults_of("command: [ls, '$HOME/data', '*.txt']\n")
              .ends_with("write `[sh, -c, 'ls $HOME/data *.txt']`, or a `script`\n"));
    CHECK(faults_of("command: [ls, 'a b', 'data/*']\n")
              .ends_with("write `[sh, -c, 'ls ''a b'' data/*']`, or a `script`\n"));
    CHECK_FALSE(faults_of("command: [run, '${WORK}/x']\n").empty());
    CHECK_FALSE(faults_of("command: [run, $SLURM_JOB_ID]\n").empty());
    for (const char* good : {"find, ., -name, '*.txt'",
                             "expr, 2, '*', 3",
                             "sh, -c, 'ls *.txt | wc', '|'",
                             "grep, 'a.*b', file",
                             "grep, --include, '*.c', x",
                             "awk, '{print $1}', a.txt",
                             "perl, -e, '$x = 1'",
                             "run, '$OTHER', 'x>y', a;b"}) {
        CAPTURE(good);
        CHECK(faults_of("command: [" + std::string(good) + "]\n").empty());
    }
}

TEST_CASE("job: what follows from a wrong field is not reported, and each half of a range counts") {
    const auto count_of = [](const std::string& fields) {
        const auto job = read_job("kind: Job\nname: a\ncommand: [x]\n" + fields, "j.yaml");
        return job ? std::size_t{0} : job.error().faults().size();
    };
    CHECK(count_of("resources: {nodes: x, tasks: 4}\n") == 1);
    for (const char* range : {"a-5", "5-a", "a-b", "1-5:a", "-5", "5-"}) {
        CAPTURE(range);
        CHECK(count_of("array: '" + std::string(range) + "'\n") == 1);
    }
    CHECK(count_of("array: 1-5:2\n") == 0);
}

TEST_CASE("a name that the sweep does not have is refused with the near one") {
    const std::string sweep = "sweep: {lr: [a, b], seed: 1-2}\n";
    CHECK(faults_of("command: [run, '@{lr}', '@{seed}', '@{index}']\n" + sweep).empty());
    CHECK(faults_of("command: [run, '@{lr}', '@{sede}']\n" + sweep) ==
          "3:25 the sweep has no parameter 'sede' -> write `@{seed}`\n");
}

TEST_CASE("@{NAME} of a sweep is not replaced in a script") {
    const std::string sweep = "sweep: {lr: [a, b], seed: 1-2}\n";
    CHECK(faults_of("script: echo @{SEED}\n" + sweep) ==
          "3:9 `@{SEED}` is not replaced in `script` -> add `SEED` to `sweep`, and write "
          "`$CYBELE_SWEEP_SEED` in its place\n");
    CHECK(faults_of("script: echo @{seed}\n" + sweep)
              .ends_with("write `$CYBELE_SWEEP_seed` in its place\n"));
    CHECK(faults_of("script: echo @{sed}\n" + sweep)
              .ends_with("write `$CYBELE_SWEEP_seed` in its place\n"));
    CHECK(faults_of("script: git show @{1}; echo $CYBELE_SWEEP_lr\n" + sweep).empty());
    CHECK(faults_of("script: git show @{upstream}\n").empty());
}

TEST_CASE("a variable that the sweep does not set is a warning, with the one that it sets") {
    const std::string sweep = "sweep: {lr: [a, b], batch-size: 1-2}\n";
    CHECK(faults_of("script: echo $CYBELE_SWEEP_LR\n" + sweep) ==
          "3:9 the sweep sets no variable `CYBELE_SWEEP_LR` -> write `$CYBELE_SWEEP_lr`\n");
    CHECK(faults_of("script: 'echo ${CYBELE_SWEEP_Batch_Size:-1}'\n" + sweep)
              .ends_with("write `$CYBELE_SWEEP_batch_size`\n"));
    CHECK(faults_of("script: echo ${CYBELE_SWEEP_lr}${CYBELE_SWEEP_batch_size}\n" + sweep).empty());
    for (const char* dynamic : {"'eval x=\\$CYBELE_SWEEP_$name'", "env | grep ^CYBELE_SWEEP_"}) {
        CAPTURE(dynamic);
        CHECK(faults_of("script: " + std::string(dynamic) + "\n" + sweep).empty());
    }
}

TEST_CASE("a parameter of a sweep that nothing uses is a warning") {
    const std::string sweep = "sweep: {lr: [a, b], seed: 1-2}\n";
    CHECK(faults_of("command: [run, '@{lr}']\n" + sweep)
              .ends_with(" 'seed' is a parameter of the sweep, and nothing uses it -> write "
                         "`'@{seed}'` as a word of `command` or a value of `environment`, or "
                         "remove it\n"));
    for (const char* use : {"environment: {S: '@{seed}'}\n",
                            "environment: {S: {expand: '$HOME/@{seed}'}}\n",
                            "input: {expand: '$HOME/@{seed}'}\n",
                            "image: a.sif\nimage-copy: {expand: '$HOME/@{seed}'}\n",
                            "image: {expand: '$HOME/@{seed}'}\n",
                            "image: a.sif\nbinds: [{expand: '$HOME/@{seed}:/a'}]\n",
                            "make: [{expand: '$HOME/@{seed}'}]\n",
                            "workdir: {expand: '$HOME/@{seed}'}\n",
                            "output: {stdout: {expand: '$HOME/@{seed}'}}\n",
                            "output: {stderr: {expand: '$HOME/@{seed}'}}\n",
                            "setup: [{run: 'echo $CYBELE_SWEEP_seed'}]\n",
                            "teardown: [{run: 'echo $CYBELE_SWEEP_seed', when: failure}]\n"}) {
        CAPTURE(use);
        CHECK(faults_of("command: [run, '@{lr}']\n" + std::string(use) + sweep)
                  .find("nothing uses it") == std::string::npos);
    }
    CHECK(faults_of("command: [run, '@{lr}']\nsweep: {lr: [a, b], model: [x]}\n").empty());
}

TEST_CASE("@{index} is refused where there is no index, and where nothing replaces it") {
    CHECK(faults_of("command: [run, '@{index}']\n")
              .ends_with("add `array: 0-9`, or use `--array 0-9`\n"));
    CHECK(faults_of("command: [sh, -c, 'echo @{index}']\n").starts_with("3:19 "));
    CHECK(faults_of("command: [run]\nenvironment: {A: '@{index}'}\n").starts_with("4:18 "));
    CHECK(faults_of("command: [run, '@{index}']\nenvironment: {A: '@{index}'}\narray: '3'\n")
              .empty());
    struct Row {
        const char* field;
        const char* help;
    };
    constexpr std::array<Row, 12> kRows{
        {{"output: {stdout: '@{index}.out'}", "write `%a` in its place"},
         {"output: {stderr: '@{index}.err'}", "write `%a` in its place"},
         {"output: {to: 'r-@{index}', results: [x]}", "write the text without it"},
         {"workdir: 'w-@{index}'", "write the text without it"},
         {"job-name: 'w-@{index}'", "write the text without it"},
         {"queue: 'w-@{index}'", "write the text without it"},
         {"account: 'w-@{index}'", "write the text without it"},
         {"qos: 'w-@{index}'", "write the text without it"},
         {"reservation: 'w-@{index}'", "write the text without it"},
         {"comment: 'w-@{index}'", "write the text without it"},
         {"binds: ['/a:/@{index}']\nimage: a.sif", "write the text without it"},
         {"script: echo @{index}", "write `$CYBELE_ARRAY_INDEX` in its place"}}};
    for (const Row& row : kRows) {
        CAPTURE(row.field);
        const bool is_script = std::string_view(row.field).starts_with("script");
        const std::string program = is_script ? "" : "command: [run]\n";
        const std::string text = faults_of(program + row.field + "\narray: 0-9\n");
        CHECK(text.ends_with(" -> " + std::string(row.help) + "\n"));
    }
    CHECK(faults_of("command: [run, '@{lr}']\ncomment: 'rate @{lr}'\nsweep: {lr: [1, 2]}\n") ==
          "4:10 `@{lr}` is not replaced here -> write the text without it\n");
    CHECK(
        faults_of("command: [run, '@{lr}']\noutput: {results: ['o-@{lr}']}\nsweep: {lr: [1, 2]}\n")
            .ends_with("`@{lr}` is not replaced here -> write `*` in its place\n"));
    const std::string indexed = "command: [run, '@{lr}']\noutput: {results: ['o-@{index}']}\n";
    CHECK(faults_of(indexed + "sweep: {lr: [1, 2, 3]}\n").empty());
    for (const char* pack : {"2", "all"}) { // an element has several rows, each with its number
        CHECK(faults_of(indexed + "sweep: {lr: [1, 2, 3], pack: " + pack + "}\n")
                  .ends_with("`@{index}` is not replaced here -> write `*` in its place\n"));
    }
    CHECK(
        faults_of("command: [run, '@{lr}']\nsweep: {lr: [1, 2], atonce: [2]}\n")
            .ends_with("'atonce' is a parameter of the sweep, and nothing uses it -> did you mean "
                       "`at-once`?\n"));
    CHECK(faults_of("command: [run, '@{tables}']\nsweep: {tables: [1, 2]}\n").empty());
}

} // namespace cybele::launchers
