// SPDX-License-Identifier: Apache-2.0
// Rules of rendered scripts that are seen only where the script runs: golden bytes hold them, too,
// but would be accepted with the fault in them.
#include "bench.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

namespace cybele::schedulers {
namespace {

bool is_in_text(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Runs a job whose script writes its own process to `pid`; sends TERM to it `after` that.
Outcome
ended_by_term(const Bench& bench, const std::string& fields, std::chrono::milliseconds after) {
    const Command command = bench.command(fields, "local");
    std::jthread sender([&] {
        for (int tries = 0; tries < 400; ++tries) {
            std::this_thread::sleep_for(std::chrono::milliseconds(25));
            const auto pid = read_file(bench.work / "pid");
            if (pid && pid->ends_with('\n')) {
                std::this_thread::sleep_for(after);
                ::kill(std::stoi(*pid), SIGTERM);
                return;
            }
        }
    });
    return run_process(command).value();
}

/// A job of PBS on n1, or on n1 and n2, with an element's id.
void be_pbs_job(Bench& bench, const std::string& nodes) {
    bench.variables["PBS_O_WORKDIR"] = bench.work.native();
    bench.variables["PBS_NODEFILE"] = (bench.work / "nodes").native();
    bench.file("nodes", nodes);
}

} // namespace

TEST_CASE("TERM: before the program it never starts, near the time limit it is a timeout") {
    struct Row {
        std::string fields;
        std::chrono::milliseconds after;
        const char* state;
        const char* output;
    };
    using std::chrono::milliseconds;
    const std::vector<Row> rows{
        {"setup: |\n  echo $$ >pid\n  sleep 1\nscript: echo started\n",
         milliseconds(0),
         "cancelled",
         ""},
        {"resources: {time: 3 s}\nscript: |\n  echo $PPID >pid\n  sleep 30 & wait $!\n",
         milliseconds(1300),
         "timeout",
         ""},
        {"resources: {time: 60 s}\nscript: |\n  echo $PPID >pid\n  sleep 30 & wait $!\n",
         milliseconds(1300),
         "cancelled",
         ""},
        {"script: |\n  echo $PPID >pid\n  sleep 30 & wait $!\n",
         milliseconds(1300),
         "cancelled",
         ""}};
    for_each_at_once(rows, [](const Row& row) {
        CAPTURE(row.fields);
        const Bench bench;
        const auto outcome = ended_by_term(bench, row.fields, row.after);
        CHECK(outcome.shell_code() == 143);
        CHECK(outcome.output == row.output);
        CHECK(bench.record()["state"] == row.state);
    });
}

TEST_CASE("a user's ranks in containers of their own do not copy between processes, root's and "
          "ours may") {
    struct Row {
        const char* runtime;
        const char* user;
        const char* mechanism;
    };
    for (const Row& row : {Row{"apptainer", "1000", "none"},
                           Row{"apptainer", "0", "unset"},
                           Row{"cybelectl", "1000", "unset"}}) {
        CAPTURE(row.runtime);
        CAPTURE(row.user);
        Bench bench;
        bench.variables["PATH"] = (bench.work / "bin").native() + ":/usr/bin:/bin";
        bench.variables["SLURM_SUBMIT_DIR"] = bench.work.native();
        bench.program("id", fmt::format("echo {}\n", row.user));
        bench.program(row.runtime, kHostRuntime);
        bench.program("srun", "echo ${OMPI_MCA_btl_vader_single_copy_mechanism-unset}\n");
        bench.file("a.sif", "image");
        const auto outcome = bench.run("image: a.sif\ncommand: [app]\n"
                                       "launch: {kind: mpi, guard: false, launcher: srun}\n",
                                       "slurm");
        CHECK_MESSAGE(outcome.ok(), outcome.errors);
        CHECK(outcome.output == std::string(row.mechanism) + "\n");
    }
}

TEST_CASE("a module that cannot be loaded ends the job before its program") {
    const Bench bench;
    bench.program("module", "echo \"$@\" >>\"$HOME/loaded\"\n[ \"$2\" != none/1 ]\n");
    CHECK(bench.run("modules: [gcc/12, mpi/4]\ncommand: [echo, ran]\n").output == "ran\n");
    CHECK(read_file(bench.work / "loaded").value() == "load gcc/12\nload mpi/4\n");
    const auto refused = bench.run("modules: [gcc/12, none/1, mpi/4]\ncommand: [echo, ran]\n");
    CHECK(refused.code == 1);
    CHECK(refused.output.empty());
    CHECK(is_in_text(refused.errors, "error: cannot load the module 'none/1'\n"));
}

TEST_CASE("OpenPBS: an element has the array's number and a record of its own, and runs once") {
    Bench bench;
    be_pbs_job(bench, "n1\n");
    bench.variables["PBS_JOBID"] = "42[7].head.example";
    bench.variables["PBS_ARRAY_INDEX"] = "7";
    const std::string job = "script: echo element $CYBELE_ARRAY_INDEX; exit 3\narray: 0-9\n";
    CHECK(bench.run(job, "pbspro").code == 3);
    CHECK(read_file(bench.work / "run-42-7.out").value() == "element 7\n");
    const fs::path record = bench.work / ".cybelectl" / kUuid / "7";
    CHECK(is_in_text(read_file(record / "exit.json").value(), "\"code\":3"));
    CHECK(read_file(record / "started" / "id").value() == "42[7].head.example\n");
    bench.variables["PBS_JOBID"] = "43[7].head.example"; // submitted a second time
    CHECK(bench.run(job, "pbspro").code == 0);
    CHECK(read_file(bench.work / "run-43-7.out").value().empty());
}

TEST_CASE("a node whose code never comes fails the job, and the codes that come count") {
    struct Row {
        const char* pbsdsh;
        int code;
    };
    // What is started for a node runs under its name, by a `uname` in front of the real one.
    const std::string start = "run() { NODE=$1 bash \"${@:2}\"; }\n"
                              "while [[ $1 != /bin/bash ]]; do shift; done\nshift\n";
    const std::vector<Row> rows{{"run n1 \"$@\"; run n2 \"$@\"\n", 0},
                                {"run n1 \"$@\"; run n2 \"$@\"\n", 5},
                                {"run n1 \"$@\"\n", 255}};
    for_each_at_once(rows, [&start](const Row& row) {
        CAPTURE(row.code);
        Bench bench;
        be_pbs_job(bench, "n1\nn2\n");
        bench.variables["PBS_JOBID"] = "42.head";
        bench.program("uname", "echo \"${NODE:-n1}\"\n");
        bench.program("pbsdsh", start + row.pbsdsh);
        bench.program("python3",
                      fmt::format("echo on $(uname -n); [ $(uname -n) = n1 ] || exit {}\n",
                                  row.code == 255 ? 0 : row.code));
        const auto outcome = bench.run("command: [a.py]\nlaunch: torch\nresources: {nodes: "
                                       "2}\noutput: {stdout: out, stderr: err}\n",
                                       "torque");
        const std::string output = read_file(bench.work / "out").value();
        CHECK_MESSAGE(outcome.code == row.code, read_file(bench.work / "err").value());
        CHECK(is_in_text(output, "on n1\n"));
        CHECK(is_in_text(output, "on n2\n") == (row.code != 255));
        CHECK(bench.record()["code"] == row.code);
    });
}

TEST_CASE("Spark: what its processes say to each other is authenticated and encrypted, and no page "
          "is open") {
    const Bench bench;
    bench.program("spark-submit", "exit 0\n");
    bench.program("java", "exit 0\n");
    bench.program("spark-class",
                  "cp -p \"$SPARK_CONF_DIR/spark-defaults.conf\" \"$HOME/conf\"\n"
                  "printf '%s\\n' \"$@\" >\"$HOME/words\"\n");
    const auto outcome = bench.run("command: [app.py]\nlaunch: {kind: spark, ready-within: 10 s}\n"
                                   "resources: {memory-per-node: 4 GiB}\n");
    CHECK(outcome.code == 1);
    CHECK(is_in_text(outcome.errors, "error: Spark's master did not come up"));
    const std::string conf = read_file(bench.work / "conf").value();
    for (const char* line : {"spark.authenticate true\n",
                             "spark.network.crypto.enabled true\n",
                             "spark.master.rest.enabled false\n",
                             "spark.ui.enabled false\n"}) {
        CAPTURE(line);
        CHECK(is_in_text(conf, line));
    }
    CHECK((fs::status(bench.work / "conf").permissions() & fs::perms::all) ==
          (fs::perms::owner_read | fs::perms::owner_write));
    const auto at = conf.find("spark.authenticate.secret ");
    REQUIRE(at != std::string::npos);
    const std::string secret = conf.substr(at + 26, conf.find('\n', at) - at - 26);
    CHECK(secret.size() == 64);
    CHECK_FALSE(is_in_text(read_file(bench.work / "words").value(), secret));
}

TEST_CASE("Spark of an image has none of the host's settings, and the folders of the job") {
    for (const bool has_image : {true, false}) {
        CAPTURE(has_image);
        Bench bench;
        bench.variables["SPARK_HOME"] = "/spark/of/host";
        bench.variables["SPARK_LOCAL_IP"] = "203.0.113.7";
        bench.program("cybelectl", kHostRuntime);
        bench.program("spark-submit", "exit 0\n");
        bench.program("java", "exit 0\n");
        bench.program("spark-class", "env >\"$HOME/seen\"\n");
        bench.file("a.sif", "image");
        const auto outcome = bench.run(std::string(has_image ? "image: a.sif\n" : "") +
                                       "command: [app.py]\n"
                                       "launch: {kind: spark, ready-within: 5 s}\n"
                                       "resources: {memory-per-node: 4 GiB}\n");
        CHECK(outcome.code == 1);
        const std::string seen = "\n" + read_file(bench.work / "seen").value();
        CHECK(is_in_text(seen, "\nSPARK_HOME=/spark/of/host\n") != has_image);
        CHECK_FALSE(is_in_text(seen, "203.0.113.7"));
        if (has_image) {
            const std::string log = read_file(bench.work / "runtime.log").value();
            CHECK(is_in_text(log, "\n-B\n" + bench.work.native() + "\n"));
            CHECK(is_in_text(log, "/spark-" + std::string(kUuid)));
        }
    }
}

TEST_CASE(
    "another runtime verifies the image with each key, and starts nothing that is not signed") {
    struct Row {
        const char* keys;
        const char* require;
        bool runs;
    };
    for (const Row& row : {Row{"good.pub", "any", true},
                           Row{"bad.pub", "any", false},
                           Row{"good.pub, bad.pub", "any", true},
                           Row{"good.pub, bad.pub", "all", false}}) {
        CAPTURE(row.keys);
        CAPTURE(row.require);
        Bench bench;
        // Not the program of ours that may be installed: it verifies by itself.
        bench.variables["PATH"] = (bench.work / "bin").native() + ":/usr/bin:/bin";
        bench.variables["SLURM_SUBMIT_DIR"] = bench.work.native();
        bench.program(
            "apptainer",
            std::string("if [ \"$1\" = verify ]; then [ \"$3\" = good.pub ]; exit; fi\n") +
                kHostRuntime);
        bench.program("openssl", "cat \"$4\"\n");
        bench.file("a.sif", "image");
        bench.file("good.pub", "1");
        bench.file("bad.pub", "2");
        const auto outcome = bench.run(fmt::format("image: a.sif\ncommand: [echo, ran]\n"
                                                   "verify: {{keys: [{}], require: {}}}\n",
                                                   row.keys,
                                                   row.require),
                                       "slurm");
        CHECK(outcome.ok() == row.runs);
        CHECK(outcome.output == (row.runs ? "ran\n" : ""));
        CHECK(is_in_text(outcome.errors, "is not verified") != row.runs);
    }
}

TEST_CASE("the guard names the runtime's own reason where no container starts") {
    Bench bench;
    bench.facts.mpi = "openmpi 4.1.4";
    bench.facts.mpi_probe = "/probe";
    bench.has_facts = true;
    bench.file("a.sif", "image");
    const std::string job = "image: a.sif\ncommand: [app]\nlaunch: {kind: mpi, allow-root: true}\n";
    struct Row {
        const char* said;
        const char* because;
    };
    for (const Row& row :
         {Row{"error: cannot bind '/none'", "because: cannot bind '/none'\n"},
          Row{"FATAL:   container creation failed", "because: container creation failed\n"}}) {
        CAPTURE(row.said);
        bench.program("cybelectl", fmt::format("echo \"{}\" >&2; exit 255\n", row.said));
        const auto outcome = bench.run(job);
        CHECK(outcome.code == 1);
        CHECK(is_in_text(outcome.errors, "error: the container did not start on "));
        CHECK(is_in_text(outcome.errors, row.because));
        CHECK_FALSE(is_in_text(outcome.errors, "MPI in the container"));
    }
}

} // namespace cybele::schedulers
