// SPDX-License-Identifier: Apache-2.0
// Rendered scripts, run by bash: with the host's own mpirun where MPI is meant, with logging
// launchers on PATH where only their arguments are.
#include "golden_case.hpp"
#include "support/environment.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <array>
#include <chrono>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <signal.h>

namespace cybele::schedulers {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUuid = "0b2f8a4e-5c3d-4e6f-8a9b-1c2d3e4f5a6b";

/// A private directory with a blank in its name, in which scripts run as jobs.
struct Bench {
    TempDirectory folder;
    fs::path work;
    EnvironmentMap variables;
    images::ImageFacts facts;
    bool has_facts = false;

    Bench() : folder(TempDirectory::make("/tmp", "cybele-run").value()) {
        work = folder.path() / "a b";
        REQUIRE(make_directories(work / "bin").has_value());
        const auto own = Environment::of_this_process();
        variables = {{"PATH", (work / "bin").native() + ":" + own.get_or("PATH", "/usr/bin:/bin")},
                     {"HOME", work.native()},
                     {"CYBELE_SUBMIT_DIR", work.native()},
                     {"CYBELE_JOB", kUuid}};
    }

    void program(const std::string& name, const std::string& text) const {
        REQUIRE(write_file(work / "bin" / name, "#!/bin/bash\n" + text, 0755).has_value());
    }
    void file(const std::string& name, const std::string& text) const {
        REQUIRE(write_file(work / name, text).has_value());
    }

    [[nodiscard]] Command command(const std::string& fields, const std::string& dialect) const {
        const launchers::Job job = job_of("kind: Job\nname: run\n" + fields);
        RenderInput input;
        input.job = &job;
        input.dialect = dialect;
        input.facts = has_facts ? &facts : nullptr;
        input.image = job.image ? job.image->reference : "";
        const auto script = render_script(input);
        REQUIRE_MESSAGE(script.has_value(), script.error().message());
        file("job.sh", script->text);
        Command bash;
        bash.argv = {"/bin/bash", (work / "job.sh").native()};
        bash.environment = variables;
        bash.directory = "/";
        bash.limit = std::chrono::seconds(90);
        return bash;
    }
    [[nodiscard]] Outcome run(const std::string& fields,
                              const std::string& dialect = "local") const {
        return run_process(command(fields, dialect)).value();
    }
    [[nodiscard]] nlohmann::json record() const {
        const auto text = read_file(work / ".cybelectl" / kUuid / "exit.json");
        REQUIRE(text.has_value());
        return nlohmann::json::parse(*text, nullptr, false);
    }
};

/// A stand-in for a runtime: the "container" is the host. `options` are dropped up to the image.
constexpr const char* kHostRuntime = "printf '%s\\n' \"$@\" >>\"$HOME/runtime.log\"\n"
                                     "until [[ $1 == *.sif ]]; do shift; done\n"
                                     "shift\nexec \"$@\"\n";

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("the program's exit code is the job's, and the record says how it ended") {
    struct Row {
        const char* program;
        int code;
        int signal;
        const char* state;
    };
    constexpr std::array<Row, 6> kRows{{{"exit 0", 0, 0, "done"},
                                        {"exit 1", 1, 0, "failed"},
                                        {"exit 3", 3, 0, "failed"},
                                        {"no-such-program", 127, 0, "failed"},
                                        {"kill -SEGV $$", 139, 11, "failed"},
                                        {"kill -KILL $$", 137, 9, "failed"}}};
    for (const Row& row : kRows) {
        CAPTURE(row.program);
        const Bench bench;
        const auto outcome = bench.run(fmt::format("script: |\n  {}\n", row.program));
        CHECK(outcome.shell_code() == row.code);
        const auto record = bench.record();
        CHECK(record["uuid"] == kUuid);
        CHECK(record["state"] == row.state);
        CHECK(record["code"] == row.code);
        CHECK(record["signal"] == row.signal);
        CHECK(record["end"].get<long>() >= record["start"].get<long>());
        CHECK(fs::status(bench.work / ".cybelectl" / kUuid).permissions() == fs::perms::owner_all);
    }
}

TEST_CASE("arguments and environment pass unchanged") {
    Bench bench;
    bench.program("words", "printf '<%s>' \"$@\" \"$ODD\" \"$OMP_NUM_THREADS\" \"$PWD\"\n");
    bench.file("token", "s3cret, $HOME\n");
    const auto outcome = bench.run("command: [words, '', 'a b', \"it's\", '$HOME;*', '\"x\"']\n"
                                   "environment: {ODD: 'a, $b `c`', TOKEN: '@file:token'}\n"
                                   "launch: openmp\n");
    CHECK(outcome.output ==
          "<><a b><it's><$HOME;*><\"x\"><a, $b `c`><1><" + bench.work.native() + ">");
    CHECK(outcome.ok());
    CHECK_FALSE(holds(outcome.errors, "s3cret"));
    CHECK(bench.run("command: [printenv, TOKEN]\nenvironment: {TOKEN: '@file:token'}\n").output ==
          "s3cret, $HOME\n");
    const auto missing = bench.run("command: [x]\nenvironment: {TOKEN: '@file:none'}\n");
    CHECK(missing.code == 1);
    CHECK(holds(missing.errors, "error: cannot read 'none'"));
}

TEST_CASE("into a container go options, plain variables and odd ones, and the runscript") {
    const Bench bench;
    bench.program("cybelectl", kHostRuntime);
    bench.file("my image.sif", "image");
    const auto outcome = bench.run("image: my image.sif\ncommand: [printenv, ODD, PLAIN]\n"
                                   "binds: ['~/in:/in:ro']\n"
                                   "environment: {ODD: 'a,$b', PLAIN: c}\n");
    CHECK(outcome.output == "a,$b\nc\n");
    const std::string log = read_file(bench.work / "runtime.log").value();
    CHECK(holds(log, "--env\nPLAIN=c\n"));
    CHECK(holds(log, "-B\n" + bench.work.native() + "/in:/in:ro\n"));
    CHECK(holds(log, bench.work.native() + "/my image.sif\nenv\nODD=a,$b\nprintenv\n"));
    const auto none = bench.run("image: none.sif\ncommand: [x]\n");
    CHECK(none.code == 1);
    CHECK(
        holds(none.errors, "error: cannot read the image '" + bench.work.native() + "/none.sif'"));
    CHECK(bench.record()["state"] == "failed");
}

TEST_CASE("without a runtime the job says so") {
    Bench bench;
    bench.variables["PATH"] = "/usr/bin:/bin";
    bench.variables["PBS_O_WORKDIR"] = bench.work.native();
    bench.variables["PBS_NODEFILE"] = (bench.work / "nodes").native();
    bench.file("nodes", "n1\n");
    bench.file("a.sif", "image");
    const auto outcome = bench.run("image: a.sif\n", "torque");
    CHECK(outcome.code == 1);
    const auto errors = read_file(bench.work / "run-local.err").value();
    CHECK(holds(errors, "because: looked for apptainer, singularity, cybelectl\n"));
}

TEST_CASE("signals reach the program at once, and TERM makes the job a cancelled one") {
    struct Row {
        int sent;
        const char* trap;
        int code;
        const char* state;
    };
    constexpr std::array<Row, 4> kRows{{{SIGUSR1, "trap 'exit 5' USR1", 5, "failed"},
                                        {SIGTERM, "trap 'exit 6' TERM", 6, "cancelled"},
                                        {SIGTERM, ":", 143, "cancelled"},
                                        {SIGINT, ":", 143, "cancelled"}}};
    for (const Row& row : kRows) {
        CAPTURE(row.trap);
        const Bench bench;
        Command command = bench.command(
            fmt::format("script: |\n  {}\n  echo $PPID >pid\n  sleep 30 & wait $!\n", row.trap),
            "local");
        std::jthread sender([&] {
            for (int tries = 0; tries < 200; ++tries) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                const auto pid = read_file(bench.work / "pid");
                if (pid && pid->ends_with('\n')) {
                    ::kill(std::stoi(*pid), row.sent);
                    return;
                }
            }
        });
        const auto begin = std::chrono::steady_clock::now();
        const auto outcome = run_process(command);
        CHECK(outcome->shell_code() == row.code);
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));
        CHECK(bench.record()["state"] == row.state);
    }
}

TEST_CASE("the clock of the script sends the signal before the end") {
    const Bench bench;
    const auto outcome =
        bench.run("script: |\n  trap 'echo near; exit 0' USR1\n  sleep 20 & wait $!\n"
                  "resources: {time: 61 s}\nsignal: {before: 60 s}\n");
    CHECK(outcome.output == "near\n");
    CHECK(bench.record()["state"] == "done");
}

TEST_CASE("more than the machine has is refused when the job starts") {
    const Bench bench;
    const auto cpus =
        bench.run("command: ['true']\nlaunch: openmp\nresources: {cpus-per-task: 5000}\n");
    CHECK(cpus.code == 1);
    CHECK(holds(cpus.errors, "error: 1 ranks a node with 5000 threads each do not fit on "));
    const auto memory = bench.run("command: ['true']\nresources: {memory-per-node: 900 TiB}\n");
    CHECK(holds(memory.errors, "error: 900 TiB of memory are asked"));
}

TEST_CASE("the host's mpirun starts the ranks, and a dead rank ends the job") {
    Bench bench;
    const std::string head = "launch: {kind: mpi, guard: false, allow-root: true, oversubscribe: "
                             "true}\nresources: {tasks-per-node: 3}\n";
    const auto ranks = bench.run(
        head +
        "script: echo \"rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE $OMP_NUM_THREADS\"\n");
    CHECK_MESSAGE(ranks.ok(), ranks.errors);
    for (int rank = 0; rank < 3; ++rank) {
        CHECK(holds(ranks.output, fmt::format("rank {} of 3 1\n", rank)));
    }
    CHECK(holds(ranks.errors, "cybelectl: job run, 1 nodes, 3 ranks, 1 threads each"));
    const auto dead = bench.run(
        head + "script: if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then exit 3; fi; sleep 20\n");
    CHECK(dead.code == 3);
    CHECK(bench.record()["state"] == "failed");
}

TEST_CASE("the guard lets ranks that see each other start, and stops N jobs of one rank") {
    Bench bench;
    Command compile;
    compile.argv = {"mpicc",
                    "-o",
                    (bench.work / "probe").native(),
                    std::string(CYBELE_SOURCE_DIR) + "/recipes/probe/mpi-probe.c"};
    const auto compiled = run_process(compile);
    REQUIRE(compiled.has_value());
    REQUIRE_MESSAGE(compiled->ok(), compiled->errors);
    bench.facts.mpi = "openmpi 4.1.4";
    bench.facts.mpi_probe = (bench.work / "probe").native();
    bench.has_facts = true;
    bench.file("a.sif", "image");
    const std::string job =
        "image: a.sif\ncommand: [echo, started]\nlaunch: {kind: mpi, allow-root: "
        "true, oversubscribe: true}\nresources: {tasks-per-node: 3}\n";
    bench.program("cybelectl", kHostRuntime);
    const auto good = bench.run(job);
    CHECK_MESSAGE(good.ok(), good.errors);
    CHECK(good.output == "started\nstarted\nstarted\n");
    bench.program("cybelectl",
                  std::string("until [[ $1 == *.sif ]]; do shift; done\nshift\n") +
                      "exec env -i PATH=\"$PATH\" \"$@\"\n");
    const auto cleared = bench.run(job);
    CHECK(cleared.code == 1);
    CHECK(holds(cleared.errors, "error: 3 ranks were started, but MPI in the container sees 1\n"));
    CHECK(holds(cleared.errors, "its environment was cleared"));
    CHECK_FALSE(holds(cleared.output, "started"));
    CHECK(bench.record()["state"] == "failed");
    bench.program("cybelectl", "exit 255\n");
    const auto broken = bench.run(job);
    CHECK(broken.code == 1);
    CHECK(holds(broken.errors, "did not start (code "));
}

TEST_CASE("under PBS hosts and variables are named to mpirun, from the node file") {
    Bench bench;
    bench.variables["PBS_O_WORKDIR"] = bench.work.native();
    bench.variables["PBS_NODEFILE"] = (bench.work / "nodes").native();
    bench.variables["PBS_JOBID"] = "42[7].head.example";
    bench.variables["PBS_ARRAYID"] = "7";
    bench.file("nodes", "n1\nn1\nn1\nn1\nn2\nn2\nn2\nn2\n");
    bench.program("mpirun", "printf '%s ' \"$@\"\n");
    const std::string job = "command: [app]\nlaunch: {kind: mpi, guard: false, allow-root: true}\n"
                            "environment: {LEVEL: '3'}\narray: 0-9\n"
                            "resources: {nodes: 2, tasks-per-node: 2, cpus-per-task: 2}\n";
    const auto outcome = bench.run(job, "torque");
    CHECK_MESSAGE(outcome.ok(), outcome.errors);
    const std::string words = read_file(bench.work / "run-42-7.out").value();
    CHECK(words.starts_with("--hostfile " + bench.work.native() + "/nodes -x OMP_NUM_THREADS "));
    CHECK(holds(words,
                "-x LEVEL -x CYBELE_ARRAY_INDEX -np 4 --map-by ppr:2:node --bind-to none app"));
    bench.file("nodes", "n1\nn1\nn1\nn2\nn2\nn2\nn2\n");
    CHECK(bench.run(job, "torque").code == 1);
    CHECK(holds(read_file(bench.work / "run-42-7.err").value(), "do not fit on 3 CPUs"));
    bench.file("nodes", "n1\nn1\nn1\nn1\n");
    CHECK(bench.run(job, "torque").code == 1);
    bench.variables.erase("PBS_O_WORKDIR");
    const auto none = bench.run(job, "torque");
    CHECK(none.code == 1);
    CHECK(holds(none.errors, "error: this is no job of TORQUE"));
}

TEST_CASE("under Slurm srun gets its CPUs, and the poorest node counts") {
    Bench bench;
    bench.variables["SLURM_SUBMIT_DIR"] = bench.work.native();
    bench.variables["SLURM_JOB_CPUS_PER_NODE"] = "4(x2),6";
    bench.program("srun",
                  "echo \"$@\" \"$SRUN_CPUS_PER_TASK $SLURM_CPUS_PER_TASK $SLURM_EXPORT_ENV\"\n");
    const std::string job = "command: [app]\nlaunch: {kind: mpi, guard: false, launcher: srun}\n"
                            "resources: {nodes: 3, tasks-per-node: 2, cpus-per-task: 2}\n";
    const auto outcome = bench.run(job, "slurm");
    CHECK(outcome.output == "--mpi=pmix --nodes=3 --ntasks=6 --ntasks-per-node=2 --cpus-per-task=2 "
                            "--kill-on-bad-exit=1 app 2 2 ALL\n");
    bench.variables["SLURM_JOB_CPUS_PER_NODE"] = "4(x2),3";
    const auto poor = bench.run(job, "slurm");
    CHECK(poor.code == 1);
    CHECK(holds(poor.errors, "2 ranks a node with 2 threads each do not fit on 3 CPUs"));
}

TEST_CASE("an image that one node cannot read stops the job before any rank") {
    Bench bench;
    bench.variables["SLURM_SUBMIT_DIR"] = bench.work.native();
    bench.program("apptainer", "echo started\n");
    bench.program("srun", "[[ \" $* \" != *' test -r '* ]] || exit 1\necho rank\n");
    bench.file("a.sif", "image");
    const auto outcome =
        bench.run("image: a.sif\nlaunch: {kind: mpi, guard: false, launcher: srun}\n"
                  "resources: {nodes: 2}\n",
                  "slurm");
    CHECK(outcome.code == 1);
    CHECK(outcome.output.empty());
    CHECK(holds(outcome.errors, "cannot be read on every node"));
}

} // namespace cybele::schedulers
