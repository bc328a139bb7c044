// SPDX-License-Identifier: Apache-2.0
// Rendered scripts, run by bash: with the host's own mpirun where MPI is meant, with logging
// launchers on PATH where only their arguments are.
#include "bench.hpp"

#include <array>
#include <chrono>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

namespace cybele::schedulers {
namespace {

namespace fs = std::filesystem;

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
    CHECK(holds(log, "--env=PLAIN=c\n"));
    CHECK(holds(log, "-B\n" + bench.work.native() + "/in:/in:ro\n"));
    CHECK(holds(log, bench.work.native() + "/my image.sif\nenv\nODD=a,$b\nprintenv\n"));
    const auto none = bench.run("image: none.sif\ncommand: [x]\n");
    CHECK(none.code == 1);
    CHECK(
        holds(none.errors, "error: cannot read the image '" + bench.work.native() + "/none.sif'"));
    CHECK(bench.record()["state"] == "failed");
}

// A machine with GPUs is told apart by a program of nvidia-smi's name; nothing here ran on a GPU.
TEST_CASE("GPUs are counted before the program starts, and the runtime is asked to bring them in") {
    Bench bench;
    bench.program("cybelectl", kHostRuntime);
    bench.program("nvidia-smi", "echo 'GPU 0: A (UUID: a)'; echo 'GPU 1: A (UUID: b)'\n");
    bench.file("a.sif", "image");
    const std::string fields =
        "image: a.sif\ncommand: [echo, ran]\nresources: {gpus-per-node: 2}\n";
    CHECK(bench.run(fields).output == "ran\n");
    CHECK(holds(read_file(bench.work / "runtime.log").value(), "exec\n--nv\n"));
    CHECK(bench.run("command: [echo, ran]\nresources: {gpus-per-node: 2}\n").output == "ran\n");

    // Of a card that is split, each slice is one.
    bench.program("nvidia-smi",
                  "echo 'GPU 0: A (UUID: a)'; echo '  MIG 3g.40gb Device 0: (UUID: b)'\n"
                  "echo '  MIG 3g.40gb Device 1: (UUID: c)'; echo 'GPU 1: A (UUID: d)'\n");
    CHECK(bench.run("command: [echo, ran]\nresources: {gpus-per-node: 3}\n").output == "ran\n");
    CHECK(bench.run("command: [echo, ran]\nresources: {gpus-per-node: 4}\n").code == 1);

    bench.program("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9\n");
    const auto none = bench.run(fields);
    CHECK(none.code == 1);
    CHECK(none.output.empty());
    CHECK(holds(none.errors, "error: this job needs 2 GPUs on a node\n"));
    CHECK(holds(none.errors, " has 0, by nvidia-smi -L\n"));
}

TEST_CASE("the image's label says whose GPUs they are") {
    Bench bench;
    bench.has_facts = true;
    const std::string fields = "image: a.sif\ncommand: [x]\nresources: {gpus-per-node: 1}\n";
    const std::array<std::pair<const char*, const char*>, 3> rows{
        {{"cuda 12.4", "options=(--nv)\n"},
         {"rocm 6.2", "options=(--rocm)\n"},
         {"oneapi 2024", "/dev/dri"}}};
    for (const auto& [label, part] : rows) {
        CAPTURE(label);
        bench.facts.labels["cybelectl.gpu"] = label;
        const std::string text = bench.script(fields, "local");
        CHECK(holds(text, part));
        CHECK(holds(text, "--nv") == holds(label, "cuda"));
    }
}

TEST_CASE("TORQUE's list of GPUs becomes the variable that programs read") {
    Bench bench;
    bench.program("nvidia-smi", "echo 'GPU 0: A'; echo 'GPU 1: A'; echo 'GPU 3: A'\n");
    bench.program("apptainer", kHostRuntime);
    bench.file("a.sif", "image");
    bench.file("nodes", "n1\n");
    bench.variables["PBS_O_WORKDIR"] = bench.work.native();
    bench.variables["PBS_NODEFILE"] = (bench.work / "nodes").native();
    bench.variables["PBS_GPUFILE"] = (bench.work / "gpus").native();
    for (const std::string image : {"image: a.sif\n", ""}) { // also of a program of the host
        CAPTURE(image);
        const std::string fields = image + "command: [sh, -c, 'echo "
                                           "devices ${CUDA_VISIBLE_DEVICES-all}']\n"
                                           "resources: {gpus-per-node: 2}\n"
                                           "output: {stdout: out, stderr: err}\n";
        const auto devices = [&](const std::string& list) {
            bench.file("gpus", list);
            CHECK(bench.run(fields, "torque").ok());
            return read_file(bench.work / "out").value();
        };
        CHECK(devices("n1-gpu1\nn1-gpu3\n") == "devices 1,3\n");
        CHECK(devices("n1-gpu1\nn1-gpu3\nnode-gpu-2-gpu1\nnode-gpu-2-gpu3\n") == "devices 1,3\n");
        CHECK(devices("n1-gpu1\nn1-gpu3\nn2-gpu0\nn2-gpu1\n") == "devices all\n");
    }
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
    CHECK(holds(errors, "because: looked for apptainer singularity cybelectl\n"));
}

TEST_CASE("signals reach the program immediately, and TERM makes the job a cancelled one") {
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
    for_each_at_once(kRows, [](const Row& row) {
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
    });
}

TEST_CASE("the clock of the script sends the signal before the end") {
    const Bench bench;
    const auto outcome =
        bench.run("script: |\n  trap 'echo near; exit 0' USR1\n  sleep 20 & wait $!\n"
                  "resources: {time: 61 s}\nsignal: {before: 60 s}\n");
    CHECK(outcome.output == "near\n");
    CHECK(bench.record()["state"] == "done");
}

TEST_CASE("each signal that a Job may ask for reaches the program, INT and QUIT too") {
    constexpr std::array kNames{"USR2", "TERM", "INT", "HUP", "QUIT", "CONT"};
    for_each_at_once(kNames, [](const char* const name) {
        CAPTURE(name);
        const Bench bench;
        const auto outcome = bench.run(
            fmt::format("script: |\n  trap 'echo near; exit 0' {0}\n  sleep 20 & wait $!\n"
                        "resources: {{time: 61 s}}\nsignal: {{name: {0}, before: 60 s}}\n",
                        name));
        CHECK(outcome.output == "near\n");
        CHECK(outcome.code == 0);
    });
}

TEST_CASE("more than the machine has is refused when the job starts") {
    const Bench bench;
    const auto cpus =
        bench.run("command: ['true']\nlaunch: openmp\nresources: {cpus-per-task: 5000}\n");
    CHECK(cpus.code == 1);
    CHECK(holds(cpus.errors, "error: too few CPUs per node: "));
    const auto memory = bench.run("command: ['true']\nresources: {memory-per-node: 900 TiB}\n");
    CHECK(holds(memory.errors, "error: 900 TiB of memory are requested"));
}

TEST_CASE("the Job's shell reads the script of one process, which may count its threads itself") {
    Bench bench;
    const auto own = bench.run("shell: bash\nlaunch: {kind: serial, threads: own}\nscript: |\n"
                               "  words=(a 'b c')\n"
                               "  false\n"
                               "  echo \"<${words[1]}> <$NOT_SET> <${MKL_NUM_THREADS-none}>\"\n");
    CHECK_MESSAGE(own.ok(), own.errors);
    CHECK(own.output == "<b c> <> <none>\n");
    const auto strict = bench.run("script: |\n  false\n  echo reached\n");
    CHECK(strict.code == 1);
    CHECK(strict.output.empty());
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
    CHECK(holds(ranks.errors, "cybelectl: job run, 1 node, 3 ranks, 1 thread each"));
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
    CHECK(holds(read_file(bench.work / "run-42-7.err").value(), "too few CPUs per node: 3, not "));
    bench.file("nodes", "n1\nn1\nn1\nn1\n");
    CHECK(bench.run(job, "torque").code == 1);
    bench.variables.erase("PBS_O_WORKDIR");
    const auto none = bench.run(job, "torque");
    CHECK(none.code == 1);
    CHECK(holds(none.errors, "error: this is not a job of TORQUE"));
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
    CHECK(holds(poor.errors, "too few CPUs per node: 3, not 2 x 2 (ranks x threads)"));
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
    bench.facts.mpi = "openmpi 4.1.4";
    bench.facts.mpi_probe = "/probe"; // is started in the image on each node: the same check
    bench.has_facts = true;
    bench.program("srun",
                  "[[ \" $* \" == *' /probe '* ]] || exec echo rank\n"
                  "echo 'FATAL:   could not open image a.sif' >&2\nexit 255\n");
    const auto probed = bench.run("image: a.sif\nlaunch: {kind: mpi, launcher: srun}\n"
                                  "resources: {nodes: 2}\n",
                                  "slurm");
    CHECK(probed.code == 1);
    CHECK(probed.output.empty());
    CHECK(holds(probed.errors, "because: could not open image a.sif\n"));
}

TEST_CASE("an image is relative to the folder of submission, whatever `workdir` is") {
    for (const std::string dialect : {"slurm", "torque", "pbspro"}) {
        for (const std::string workdir : {"sub", "/absolute"}) {
            CAPTURE(dialect);
            CAPTURE(workdir);
            Bench bench;
            const fs::path run =
                workdir == "sub" ? bench.work / "sub" : bench.folder.path() / "run";
            REQUIRE(make_directories(run).has_value());
            bench.variables["SLURM_SUBMIT_DIR"] = bench.work.native();
            bench.variables["PBS_O_WORKDIR"] = bench.work.native();
            bench.variables["PBS_JOBID"] = "7.server";
            bench.variables["PBS_ENVIRONMENT"] = "PBS_BATCH";
            bench.variables["PBS_NODEFILE"] = (bench.work / "nodes").native();
            bench.file("nodes", "here\n");
            bench.program("apptainer", kHostRuntime);
            bench.file("a.sif", "the Job's");
            REQUIRE(write_file(run / "a.sif", "another").has_value());
            const std::string fields = fmt::format("image: a.sif\nworkdir: {}\ncommand: [pwd]\n",
                                                   workdir == "sub" ? workdir : run.native());
            const auto outcome = bench.run(fields, dialect);
            CHECK_MESSAGE(outcome.code == 0, outcome.errors);
            if (dialect == "slurm") { // for PBS the script opens the outputs itself
                CHECK(outcome.output == run.native() + "\n");
            }
            const std::string words = read_file(bench.work / "runtime.log").value();
            CHECK(holds(words, (bench.work / "a.sif").native() + "\n"));
            CHECK_FALSE(holds(words, (run / "a.sif").native() + "\n"));
            const std::string text = bench.script(fields, dialect);
            CHECK(holds(text, "use_image \"$submitted\"/a.sif"));
        }
    }
}

} // namespace cybele::schedulers
