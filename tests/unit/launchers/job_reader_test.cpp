// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/job.hpp"
#include "launchers/documents/job_fields.hpp"
#include "tests/unit/support/document_fields.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <algorithm>
#include <sstream>

using namespace cybele;
using namespace cybele::launchers;

namespace {

constexpr const char* kEveryJobField = R"(kind: Job
format: 1
name: everything
job-name: Every_Thing
image: {recipe: a.yaml, variant: gpu}
command: [program, "", --flag]
launch:
  kind: mpi
  threads: all
  exact: true
  places: threads
  bind: spread
  launcher: mpirun
  pmi: pmix
  binding: core
  guard: false
  ranks-multiple-of: 2
  oversubscribe: true
  allow-root: true
  options: [--verbose]
  host-mpi: /opt/openmpi
  processes-per-node: 2
  max-restarts: 1
  worker-cores: 4
  worker-memory: 4 GiB
  driver-memory: 2 GiB
  executor-cores: 2
  ready-within: 5 min
  properties: {spark.ui.enabled: "false"}
resources:
  nodes: 2
  tasks-per-node: 4
  tasks: 6
  cpus-per-task: 3
  memory-per-node: 16 GiB
  memory-per-cpu: 1 GiB
  memory-per-gpu: 1 GiB
  memory: all
  gpus-per-node: {count: 2, type: a100, form: gres}
  gpus: {count: 2, type: a100}
  gpus-per-task: {count: 2, type: a100}
  cpus-per-gpu: 4
  time: 1h30m
  exclusive: true
  constraint: [ib]
  hosts: [n1]
  exclude: [n2]
  threads-per-core: 1
  licenses: {matlab: 2}
  gres: {lscratch: 100}
shell: [bash, -l]
arguments: ["", a b]
modules: [gcc/12]
setup: |
  source /opt/site.sh
teardown: [{run: echo, when: failure}]
directives: {slurm: [--mem=0], torque: [-V], pbspro: [-V]}
queue: batch
account: me
qos: high
reservation: school
begin: 2026-11-26T22:00
comment: for grain
requeue: true
append-output: true
array: 0-9:3%2
after: [{job: "12", when: any}]
mail: {to: a@example.org, on: [begin]}
signal: {name: USR2, before: 2 min}
continue: {on: [timeout], most: 3}
binds: [~/a:/a:ro, /b]
environment: {A: "", B: "@file:/run/secret"}
workdir: /scratch/x
output: {stdout: o, stderr: e, results: [a/*.csv], to: out}
stage-in: [{from: a, to: b}]
verify: {keys: [a.pub], require: 1}
target: auto
kubernetes:
  namespace: lab
  image: lab/a:1
  node-selector: {kubernetes.io/arch: amd64}
  results: {claim: data, path: /out, host-path: /x}
script: echo
)";

Result<Job> read(const std::string& text) {
    return read_job("kind: Job\nname: a\nimage: a.sif\n" + text, "folder/job.yaml");
}

} // namespace

TEST_CASE("job: every field, once right and once wrong") {
    // the excluding ones take turns
    std::string text = kEveryJobField;
    const auto without = [&](const std::string& line) {
        std::string less = text;
        const auto at = less.find(line);
        REQUIRE(at != std::string::npos);
        return less.erase(at, line.size());
    };
    text = without("script: echo\n");
    for (const char* rival : {"  memory-per-cpu: 1 GiB\n",
                              "  memory-per-gpu: 1 GiB\n",
                              "  memory: all\n",
                              "  gpus: {count: 2, type: a100}\n",
                              "  gpus-per-task: {count: 2, type: a100}\n",
                              "  cpus-per-gpu: 4\n"}) {
        text = without(rival);
    }
    text = without(", host-path: /x");
    test::check_every_field(
        job_kind(),
        {text,
         ("kind: Job\nname: a\nscript: |\n  echo a\nresources: {memory-per-cpu: 1 GiB}\n"
          "kubernetes: {results: {host-path: /x}}\n"),
         ("kind: Job\nname: a\nscript: echo\nresources: {memory-per-gpu: 1 GiB, gpus: {count: 2, "
          "type: a}, cpus-per-gpu: 3}\n"),
         ("kind: Job\nname: a\nscript: echo\nsetup: [{run: echo, on: each-node}]\n"
          "resources: {memory: all, gpus-per-task: {count: 2, "
          "type: a}}\n"),
         ("kind: Job\nname: a\nimage: {expand: $A}\nbinds: [{expand: $A}]\nworkdir: {expand: $A}\n"
          "make: [{expand: $A}]\nimage-copy: {expand: $A}\ninput: {expand: $A}\n"
          "environment: {A: {expand: $A}}\noutput: {stdout: {expand: $A}, stderr: {expand: $A}}\n"
          "sweep: {table: a.csv, exclude: [{a: b}], pack: 2, at-once: 3}\n")});
}

TEST_CASE("job: the schema, the page and its example") {
    test::compare_generated(job_kind(), "job");
    const auto job = read_job(test::example_of("job"), "docs/job.yaml");
    REQUIRE_MESSAGE(job.has_value(), test::told(job));
    CHECK(job->name == "soybean-preprocess");
    CHECK(job->image->recipe == "soybean-preprocess.yaml");
    CHECK(job->command == std::vector<std::string>{"preprocess", "--years", "2017,2018,2019"});
    CHECK(job->launch.kind == LaunchKind::kMpi);
    CHECK(job->launch.guard);
    CHECK(job->launch.launcher == "auto");
    CHECK(job->resources.nodes == 1);
    CHECK(job->resources.tasks == 6);
    CHECK(job->resources.cpus_per_task == 2);
    CHECK(job->resources.memory_per_node_bytes == std::uint64_t{16} << 30U);
    CHECK(job->resources.time == std::chrono::minutes(30));
    CHECK(job->queue == "batch");
    CHECK(job->binds == std::vector<std::string>{"~/sentinel:/data:ro"});
    CHECK(job->output.results == std::vector<std::string>{"tiles.csv"});
    CHECK(job->output.standard_output == "%x-%j.out");
    CHECK(job->verify_keys == std::vector<std::string>{"centre.pub"});
    CHECK(job->folder == "docs");
    CHECK(job->digest.size() == 64);
    CHECK(job->marks.at("resources.time").line == 10);
}

TEST_CASE("job: values reach their place") {
    const auto job = read(R"(command: [a]
launch: {kind: horovod, guard: false, ranks-multiple-of: 2, options: [-v], allow-root: true}
resources: {nodes: 2, tasks-per-node: 4, tasks: 6, gpus-per-node: 2, time: 1-12:00:00}
array: 0-9%2
after: [{job: "12"}]
mail: {to: a@example.org}
signal: {}
environment: {A: 1.10, B: "@file:/x"}
stage-in: [{from: a, to: b}]
verify: policy.yaml
kubernetes: {results: {claim: data, path: /out}}
)");
    REQUIRE_MESSAGE(job.has_value(), test::told(job));
    CHECK(job->image->reference == "a.sif");
    CHECK(job->launch.kind == LaunchKind::kHorovod);
    CHECK_FALSE(job->launch.guard);
    CHECK(job->launch.allow_root);
    CHECK(job->resources.tasks == 6);
    CHECK(job->resources.gpus_per_node == 2);
    CHECK(job->resources.time == std::chrono::hours(36));
    CHECK(job->after.front().when == "ok");
    CHECK(job->mail->on == std::vector<std::string>{"end", "fail"});
    CHECK(job->signal->before == std::chrono::minutes(5));
    CHECK(job->environment.at("A") == "1.10");
    CHECK(job->stage_in.front().second == "b");
    CHECK(job->verify_policy == "policy.yaml");
    CHECK(job->verify_keys.empty());
    CHECK(job->kubernetes->name_space == "default");
    CHECK(job->kubernetes->results_claim == "data");
}

TEST_CASE("job: nothing that is counted may be none") {
    const std::pair<const char*, const char*> rows[] = {
        {"resources: {nodes: 0}\n", "resources.nodes"},
        {"resources: {tasks-per-node: 0}\n", "resources.tasks-per-node"},
        {"resources: {tasks: 0}\n", "resources.tasks"},
        {"resources: {cpus-per-task: 0}\n", "resources.cpus-per-task"},
        {"launch: {kind: mpi, ranks-multiple-of: 0}\n", "launch.ranks-multiple-of"},
        {"launch: {kind: openmp, threads: 0}\n", "launch.threads"},
        {"launch: {kind: torch, processes-per-node: 0}\n", "launch.processes-per-node"},
        {"launch: {kind: spark, worker-cores: 0}\n", "launch.worker-cores"},
        {"launch: {kind: spark, executor-cores: 0}\n", "launch.executor-cores"},
        {"continue: {on: [timeout], most: 0}\n", "continue.most"}};
    for (const auto& [text, field] : rows) {
        CAPTURE(text);
        const auto job = read_job("kind: Job\nname: demo\ncommand: [a]\n" + std::string(text), "j");
        REQUIRE_FALSE(job);
        CHECK(job.error().faults().front().id == "value-is-zero");
        CHECK(job.error().faults().front().message == "'" + std::string(field) + "' is 0");
    }
}

TEST_CASE("job: refusals across fields, with place and remedy") {
    struct Row {
        const char* text;
        const char* message;
        std::size_t line;
        std::size_t column;
    };
    const Row rows[] = {
        {"resources: {tasks: 3}\n", "tasks: 3 do not fit", 4, 20},
        {"resources: {nodes: 7, tasks: 3}\n", "3 tasks do not use 7 nodes", 4, 30},
        {"resources: {nodes: 0}\n", "'resources.nodes' is 0", 4, 20},
        {"resources: {time: 0 s}\n", "'resources.time' is 0", 4, 19},
        {"resources: {memory-per-node: 1G, memory-per-cpu: 1G}\n",
         "'memory-per-cpu' and 'memory-per-node' exclude each other",
         4,
         34},
        {"launch: mpi\nresources: {tasks-per-node: 5, cpus-per-task: 7, memory-per-cpu: "
         "1000000 TiB}\n",
         "the memory of a node is too large",
         5,
         66},
        {"command: [a]\nscript: b\n", "'script' and 'command' exclude each other", 5, 1},
        {"command: []\n", "'command' is empty", 4, 10},
        {"launch: {kind: mpi, ranks-multiple-of: 3}\nresources: {tasks-per-node: 4}\n",
         "4 tasks are not a multiple of 3",
         4,
         40},
        {"launch: mpi\nscript: b\nshell: bash\n",
         "`shell` belongs to a launch of one process, or of `batch`",
         6,
         8},
        {"command: [a]\nshell: bash\n", "`shell` without a `script`", 5, 8},
        {"script: |\n  #!/usr/bin/perl -w\n  print 1;\n",
         "the first line of `script` names a program that is not known to read a text after `-c`",
         4,
         9},
        {"launch: mpi\nscript: |\n  #!/bin/bash\n  hostname\n",
         "the first line of `script` names another program than `sh`",
         5,
         9},
        {"command: [b]\narguments: [a]\n",
         "`arguments` belongs to a `script` that one process reads",
         5,
         12},
        {"launch: {kind: serial, guard: false}\n",
         "'guard' is not a setting of launch kind 'serial'",
         4,
         31},
        {"signal: {before: 10 min}\nresources: {time: 5 min}\n",
         "the signal comes before the job begins",
         4,
         18},
        {"signal: {before: 5 min}\nresources: {time: 5 min}\n",
         "the signal comes before the job begins",
         4,
         18},
        {"binds: [a:b]\n", "'binds[0]' requires a bind SRC[:DST[:ro]], not 'a:b'", 4, 9},
        {"binds: [/a:/b:rw]\n", "'binds[0]' requires a bind SRC[:DST[:ro]], not '/a:/b:rw'", 4, 9},
        {"array: 9-0\n", "'array' requires an array of indexes, not '9-0'", 4, 8},
        {"array: 1,,2\n", "'array' requires an array of indexes, not '1,,2'", 4, 8},
        {"array: 0-9%0\n", "'array' requires an array of indexes, not '0-9%0'", 4, 8},
        {"environment: {A-B: x}\n", "the key 'A-B' is not a variable's name", 4, 15},
        {"environment: {A: \"@file:\"}\n", "'environment.A' requires a text, not '@file:'", 4, 18},
        {"resources: {tsks: 4}\n", "unknown field 'tsks'", 4, 13},
        {"target: clster\n",
         "'target' requires one of auto, cluster, kubernetes, not 'clster'",
         4,
         9},
        {"kubernetes: {results: {path: /a}}\n", "one of 'host-path', 'claim' is missing", 4, 23},
    };
    for (const auto& row : rows) {
        CAPTURE(std::string(row.text));
        const auto job = read(row.text);
        REQUIRE_FALSE(job.has_value());
        REQUIRE(job.error().faults().size() == 1);
        const Fault& fault = job.error().faults().front();
        CHECK(fault.message == row.message);
        CHECK(fault.where->file == "folder/job.yaml");
        CHECK(fault.where->line == row.line);
        CHECK(fault.where->column == row.column);
        CHECK(fault.because != "");
        CHECK(fault.help != "");
        CHECK(job.error().code() == ErrorCode::kInput);
    }
}

TEST_CASE("job: a setting belongs to the launch kinds that the page names before it, else to all") {
    const std::string page =
        test::read(std::filesystem::path(CYBELE_SOURCE_DIR) / "docs/reference/job.md");
    const std::string every(kEveryJobField);
    const std::vector<std::string> kinds{
        "serial", "openmp", "mpi", "mpi-bind", "horovod", "torch", "spark", "batch"};
    const auto begin = page.find("### Map launch");
    std::istringstream rows(page.substr(begin, page.find("###", begin + 3) - begin));
    int settings = 0;
    for (std::string row; std::getline(rows, row);) {
        if (!row.starts_with("| `") || row.starts_with("| `kind`")) {
            continue;
        }
        const std::string name = row.substr(3, row.find('`', 3) - 3);
        const auto meaning = row.rfind("| ", row.size() - 3) + 2;
        const std::string owners =
            ", " + row.substr(meaning, row.find(": ", meaning) - meaning) + ",";
        const bool has_owners = row.find(": ", meaning) != row.npos &&
                                std::ranges::any_of(kinds, [&](const std::string& kind) {
                                    return owners.starts_with(", " + kind + ",");
                                });
        const auto at = every.find("\n  " + name + ": ", every.find("launch:")) + 3;
        const std::string setting = every.substr(at, every.find('\n', at) - at);
        for (const std::string& kind : kinds) {
            CAPTURE(kind);
            CAPTURE(setting);
            const auto job = read(
                std::string("launch: {kind: ").append(kind).append(", ").append(setting) + "}\n");
            const bool is_refused =
                !job && std::ranges::any_of(job.error().faults(), [](const Fault& fault) {
                    return fault.id == "launch-setting-unknown";
                });
            CHECK(is_refused == (has_owners && owners.find(", " + kind + ",") == owners.npos));
        }
        ++settings;
    }
    CHECK(settings == 21);
}

TEST_CASE("job: the program that reads a script is that of its first line") {
    using Words = std::vector<std::string>;
    const auto shell_of = [](const std::string& launch, const std::string& line) {
        const auto job = read_job("kind: Job\nname: a\nlaunch: " + launch + "\nscript: |\n  " +
                                      line + "\n  exit 1\n",
                                  "job.yaml");
        REQUIRE_MESSAGE(job.has_value(), test::told(job));
        return job->shell;
    };
    CHECK(shell_of("serial", "exit 0").empty());
    CHECK(shell_of("batch", "exit 0") == Words{"bash"});
    for (const char* line : {"#!/bin/sh", "#!/usr/bin/sh"}) { // what runs it without a first line
        CHECK(shell_of("serial", line).empty());
        CHECK(shell_of("batch", line) == Words{line + 2});
        CHECK(shell_of("mpi", line).empty());
    }
    for (const char* line : {"#!/bin/bash", "#!/bin/dash", "#!/opt/bin/sh", "#!/opt/bin/python3"}) {
        CHECK(shell_of("serial", line) == Words{line + 2});
        CHECK(shell_of("batch", line) == Words{line + 2});
    }
    CHECK(shell_of("serial", "#!/bin/sh -e") == Words{"/bin/sh", "-e"});
    CHECK(shell_of("serial", "#!/usr/bin/env bash") == Words{"/usr/bin/env", "bash"});
}

TEST_CASE("job: a set-up runs on the first node, unless it says that it runs on each") {
    const auto job = read("setup: [{run: a}, {run: b, on: each-node}, {run: c, on: first-node}]\n");
    REQUIRE_MESSAGE(job.has_value(), test::told(job));
    CHECK(job->setup == std::vector<Setup>{{"a", false}, {"b", true}, {"c", false}});
    CHECK(read("setup: a\n")->setup == std::vector<Setup>{{"a", false}});
}

TEST_CASE("job: all faults at once") {
    const auto job = read("resources: {time: 30, memory-per-node: 4}\nlaunch: mip\nnope: 1\n");
    REQUIRE_FALSE(job.has_value());
    CHECK(job.error().faults().size() == 4);
}

TEST_CASE("job: a program, an image or a script must be there") {
    const auto job = read_job("kind: Job\nname: a\n", "job.yaml");
    REQUIRE_FALSE(job.has_value());
    CHECK(job.error().message() == "nothing to run");
    CHECK(read_job("kind: Job\nname: a\nscript: hostname\n", "job.yaml").has_value());
}

TEST_CASE("job: the catalogue's and arrays that are right") {
    const auto path =
        std::filesystem::path(CYBELE_SOURCE_DIR) / "recipes/catalogue/hello-mpi/job.yaml";
    const auto job = read_job(test::read(path), path);
    REQUIRE_MESSAGE(job.has_value(), test::told(job));
    CHECK(job->launch.allow_root);
    CHECK(job->resources.tasks == 2);
    for (const char* array : {"0-9", "0-9:3", "1,4,7", "0-9%2", "1-3,7", "0"}) {
        CAPTURE(array);
        CHECK(read("array: " + std::string(array) + "\n").has_value());
    }
}

TEST_CASE("job: a word with a colon is quoted up to its own bracket") {
    const auto help_of = [](const std::string& words) {
        const auto job = read_job("kind: Job\nname: a\ncommand: " + words + "\n", "job.yaml");
        REQUIRE_FALSE(job.has_value());
        return job.error().faults().front().help;
    };
    CHECK(help_of("[python3, -c, print(\"a: b, c\")]") == "write `'print(\"a: b, c\")'`");
    CHECK(help_of("[echo, a: b, c]") == "write `'a: b'`");
    CHECK(help_of("\n  - print(\"a: b, c\")") == "write `'print(\"a: b, c\")'`");
}

TEST_CASE("job: what is proposed means the same as what was written") {
    struct Row {
        const char* fields;
        const char* help;
    };
    const Row rows[] = {
        {"binds: ['/tmp:/data:rw']\n", "write `/tmp:/data`"},
        {"binds: ['/tmp:/data:r']\n", "write `/tmp:/data:ro`"},
        {"modules: gcc/12 openmpi/4.1\n", "write `[gcc/12, openmpi/4.1]`"},
        {"modules: gcc/12, openmpi/4.1\n", "write `[gcc/12, openmpi/4.1]`"},
        {"setup: [export A=1]\n", "write `{run: 'export A=1'}`"},
        {"environment: [export A=1]\n", "write `{A: 1}`"},
        {"resources: {gpus-per-node: 'a100:4'}\n", "write `{count: 4, type: a100}`"},
        {"resources: {gpus-per-node: a100}\n", "write a number in digits"},
        {"resources: {nodes: 'a:4'}\n", "write a number in digits"},
        {"modules:\n", "remove `modules`, or give it a value"},
        {"script: |\necho hi\n", "indent the lines of `script` by two blanks"},
    };
    for (const Row& row : rows) {
        CAPTURE(std::string(row.fields));
        const auto job = read(row.fields);
        REQUIRE_FALSE(job.has_value());
        for (const Fault& fault : job.error().faults()) {
            CHECK(fault.help == row.help);
        }
    }
}
