// SPDX-License-Identifier: Apache-2.0
// A batch script of the user's own: whose directives it has, what they ask for, and where its
// outputs are.
#include "submission/submit/own_script.hpp"
#include "support/file.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/utsname.h>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct ScriptDesk {
    TempDirectory directory = TempDirectory::make("/tmp", "cybele-test").value();
    Environment environment{
        EnvironmentMap{{"CYBELE_STATE_DIR", (directory.path() / "state").native()},
                       {"PATH", "/usr/bin:/bin"},
                       {"USER", "alice"}}};
    OwnScriptRequest request;
    std::string host;

    ScriptDesk() {
        request.folder = directory.path();
        request.file = directory.path() / "run.sh";
    }
    [[nodiscard]] Result<RenderedJob> ready(const std::string& scheduler, const std::string& text) {
        REQUIRE(write_file(directory.path() / "run.sh", text));
        request.scheduler = scheduler;
        return ready_script(request, host, environment);
    }
    /// The script with these directives of the batch system.
    [[nodiscard]] RenderedJob good(const std::string& scheduler, const Words& directives) {
        auto done = ready(scheduler, text_of(scheduler, directives));
        REQUIRE_MESSAGE(done.has_value(), done.error().message());
        return std::move(*done);
    }
    [[nodiscard]] static std::string text_of(const std::string& scheduler,
                                             const Words& directives) {
        const std::string mark =
            scheduler == "torque" || scheduler == "pbspro" ? "#PBS " : "#SBATCH ";
        std::string text = "#!/bin/sh\n";
        for (const std::string& directive : directives) {
            text += mark + directive + "\n";
        }
        return text + "true\n";
    }
    /// The names of the faults with their lines: "script-empty:1 "; empty: none.
    [[nodiscard]] std::string faults(const std::string& scheduler, const std::string& text) {
        const auto done = ready(scheduler, text);
        std::string ids;
        if (!done) {
            for (const Fault& fault : done.error().faults()) {
                ids +=
                    fault.id + (fault.where ? ":" + std::to_string(fault.where->line) : "") + " ";
            }
        }
        return ids;
    }
    [[nodiscard]] std::string because(const std::string& scheduler, const std::string& text) {
        const auto done = ready(scheduler, text);
        REQUIRE_FALSE(done.has_value());
        return done.error().faults().front().because;
    }
};

} // namespace

TEST_CASE("own script: by its first line or its directives a text is a batch script") {
    CHECK(is_own_script("#!/bin/sh\ntrue\n"));
    CHECK(is_own_script("#SBATCH -n 1\n"));
    CHECK(is_own_script("# mine\n#PBS -l nodes=1\n"));
    CHECK(is_own_script("    #!/bin/bash\n\n    #PBS -l nodes=1\n    true\n"));
    CHECK_FALSE(is_own_script("name: a\nscript: |\n    #PBS -l nodes=1\nkind: Job\n"));
    CHECK(is_own_script("#!/bin/sh\nkind: of a script\n"));
    CHECK(is_own_script("#PBS -l nodes=1\ncat <<END\nkind: Job\nEND\n"));
    CHECK_FALSE(is_own_script("kind: Job\n#SBATCH -n 1\n"));
    CHECK_FALSE(is_own_script("# a Job\nkind: Job\nscript: |\n#PBS -l nodes=1\n"));
    CHECK_FALSE(is_own_script("echo #SBATCH -n 1\n"));
    CHECK_FALSE(is_own_script(""));
}

TEST_CASE("own script: what is no script is refused with what it is") {
    ScriptDesk desk;
    CHECK(desk.because("slurm", "").starts_with("it is empty"));
    CHECK(desk.because("slurm", "kind: Job\nname: a\n") == "it is a Job");
    CHECK(desk.faults("slurm", "#!/bin/sh\ntrue\r\n") == "script-lines-carriage-return:2 ");
    CHECK(desk.faults("slurm", "true\n") == "script-without-shell:1 ");
    desk.request.file = desk.directory.path();
    CHECK(desk.because("slurm", "#!/bin/sh\n") == "it is a directory");
    desk.request.file = "/dev/null";
    CHECK(desk.because("slurm", "#!/bin/sh\n").starts_with("it is not a regular file"));
    desk.request.file = desk.directory.path() / "none";
    CHECK_FALSE(desk.ready("slurm", "#!/bin/sh\n").has_value());
}

TEST_CASE("own script: its directives are for its batch system, or it has none") {
    ScriptDesk desk;
    const std::string slurm = "#!/bin/sh\n#SBATCH -J s\ntrue\n";
    const std::string torque = "#!/bin/sh\n# first\n#PBS -l nodes=1:ppn=2\ntrue\n";
    const std::string pbspro = "#!/bin/sh\n#PBS -l select=1:ncpus=2\ntrue\n";
    const std::string both = "#!/bin/sh\n#PBS -N p\n#SBATCH -J s\ntrue\n";
    const std::string none = "#!/bin/sh\ntrue\n";
    CHECK(desk.faults("torque", slurm) == "script-directives-foreign:2 ");
    CHECK(desk.faults("pbspro", slurm) == "script-directives-foreign:2 ");
    CHECK(desk.faults("slurm", torque) == "script-directives-foreign:3 ");
    CHECK(desk.faults("torque", pbspro) == "script-directives-foreign:2 ");
    CHECK(desk.faults("slurm", pbspro) == "script-directives-foreign:2 ");
    const std::string lsf = "#!/bin/sh\n# first\n#BSUB -n 4\ntrue\n";
    for (const char* const scheduler : {"slurm", "torque", "pbspro", "local"}) {
        CHECK(desk.faults(scheduler, lsf) == "script-directives-unread:3 ");
    }
    CHECK(desk.faults("slurm-torque", slurm) == "script-scheduler-unsupported ");
    CHECK(desk.faults("lsf", slurm) == "script-scheduler-unsupported ");
    for (const char* const scheduler : {"slurm", "torque", "pbspro"}) {
        CAPTURE(scheduler);
        const bool is_slurm = std::string(scheduler) == "slurm";
        const auto read = desk.ready(scheduler, both);
        REQUIRE(read.has_value());
        CHECK(read->input.job.name == (is_slurm ? "s" : "p"));
        CHECK(read->own->reader == scheduler);
        CHECK(read->input.dialect == scheduler);
        CHECK(read->script == both);
        CHECK(desk.faults(scheduler, none) == "");
        CHECK(desk.ready(scheduler, none)->input.job.name == "run.sh");
    }
    for (const std::string& text : {slurm, torque, pbspro, none}) {
        CHECK(desk.faults("local", text) == "");
        CHECK(desk.faults("", text) == ""); // the default
    }
    const auto shell = desk.ready("torque", "#PBS -S /bin/bash\n#PBS -v A=1,B\n#PBS -v C\ntrue\n");
    REQUIRE(shell.has_value());
    CHECK(shell->own->shell == Words{"/bin/bash"});
    CHECK(shell->own->variables == "A=1,B,C");
    CHECK(shell->own->name == "run.sh");
}

TEST_CASE("own script: arguments reach it unchanged, or are refused") {
    ScriptDesk desk;
    const auto fault = [&](const std::string& scheduler, const Words& words) {
        desk.request.arguments = words;
        std::string ids = desk.faults(scheduler, "#!/bin/sh\ntrue\n");
        if (ids.empty()) {
            CHECK(desk.ready(scheduler, "#!/bin/sh\ntrue\n")->own->arguments == words);
        }
        return ids;
    };
    const Words odd{"two words", "", "$(x)"};
    CHECK(fault("slurm", odd) == "");
    CHECK(fault("local", odd) == "");
    CHECK(fault("pbspro", {"a"}) == "openpbs-arguments ");
    CHECK(fault("pbspro", {}) == "");
    CHECK(fault("torque", {"a-b", "C_1./:=,+@%9"}) == "");
    for (const char* const word : {"two words", "", "a;b", "'", "ä"}) {
        CAPTURE(word);
        CHECK(fault("torque", {"good", word}) == "torque-argument ");
    }
}

TEST_CASE("own script: its outputs have the names that the batch system gives them") {
    ScriptDesk desk;
    utsname names{};
    REQUIRE(::uname(&names) == 0);
    const std::string host =
        std::string(names.nodename).substr(0, std::string(names.nodename).find('.'));
    struct Row {
        const char* scheduler;
        Words directives;
        std::string output;
        std::string errors;
    };
    const Row rows[] = {
        {"slurm", {}, "slurm-%j.out", "slurm-%j.out"},
        {"slurm", {"-a 1-3"}, "slurm-%j_%a.out", "slurm-%j_%a.out"},
        {"slurm", {"-o %x.out"}, "%x.out", "%x.out"},
        {"slurm", {"-o a.out", "-e b-%j.err"}, "a.out", "b-%j.err"},
        {"slurm", {"-e b.err"}, "slurm-%j.out", "b.err"},
        {"slurm", {"-a 1-3", "-o %A_%a.out"}, "%j_%a.out", "%j_%a.out"},
        {"slurm", {"-a 1-3", "-o %j.out"}, "", ""}, // each element has an id of its own
        {"slurm", {"-o %a-%J.out"}, "4294967294-%j.out", "4294967294-%j.out"},
        {"slurm", {"-o 50%%.out"}, "50%%.out", "50%%.out"},
        {"slurm", {"-o %N.out"}, "", ""},
        {"slurm", {"-o %u.out"}, "", ""},
        {"slurm", {"-o 7%"}, "", ""},
        {"slurm", {"-o %4j.out"}, "", ""},
        {"slurm", {"-D /tmp", "-o o%j"}, "/tmp/o%j", "/tmp/o%j"},
        {"local", {"-o %N.%u.%n.%t.%s"}, host + ".alice.0.0.batch", host + ".alice.0.0.batch"},
        {"local", {"-a 1-3", "-o %j.%A.%a"}, "%j.%j.%a", "%j.%j.%a"},
        {"local", {"-o %4j.out"}, "", ""},
        {"torque", {}, "%x.o%j", "%x.e%j"},
        {"torque", {"-t 1-3"}, "%x.o%j-%a", "%x.e%j-%a"},
        {"torque", {"-j oe"}, "%x.o%j", "%x.o%j"},
        {"torque", {"-j eo"}, "%x.e%j", "%x.e%j"},
        {"torque", {"-o a.txt", "-j oe"}, "a.txt", "a.txt"},
        {"torque", {"-o a.txt", "-t 1-3"}, "a.txt-%a", "%x.e%j-%a"},
        {"torque", {"-d /tmp"}, "/tmp/%x.o%j", "/tmp/%x.e%j"},
        {"pbspro", {"-J 1-3"}, "%x.o%j.%a", "%x.e%j.%a"},
        {"pbspro", {"-o a.txt", "-J 1-3"}, "a.txt", "%x.e%j.%a"},
        {"pbspro", {"-e b.txt"}, "%x.o%j", "b.txt"},
        {"pbspro", {"-j n"}, "%x.o%j", "%x.e%j"}};
    for (const Row& row : rows) {
        CAPTURE(row.scheduler);
        for (const std::string& directive : row.directives) {
            CAPTURE(directive);
        }
        const auto done =
            desk.ready(row.scheduler, ScriptDesk::text_of(row.scheduler, row.directives));
        if (!done) { // the local scheduler has to name its outputs itself
            CHECK(std::string(row.scheduler) == "local");
            CHECK(row.output.empty());
            CHECK(done.error().faults().front().id == "script-output-pattern");
            continue;
        }
        CHECK(done->input.job.output.standard_output == row.output);
        CHECK(done->input.job.output.standard_error == row.errors);
        const bool is_noted =
            !done->notes.empty() && done->notes.front().id == "output-name-unknown";
        CHECK(is_noted == row.output.empty());
    }
}

TEST_CASE("own script: what its directives ask for is the job's") {
    ScriptDesk desk;
    const auto ready = desk.good("slurm",
                                 {"-N 2",
                                  "--ntasks-per-node=3",
                                  "-c 5",
                                  "-t 7",
                                  "-p long",
                                  "-A wheat",
                                  "--qos=high",
                                  "--exclusive",
                                  "--mem=11M",
                                  "--gpus-per-node=4",
                                  "-d afterok:17,afterany:19",
                                  "-a 2-8%3"});
    const launchers::Job& job = ready.input.job;
    CHECK(job.resources.nodes == 2);
    CHECK(job.resources.tasks_per_node == 3);
    CHECK(job.resources.tasks == 6);
    CHECK(job.resources.cpus_per_task == 5);
    CHECK(job.resources.time == std::chrono::minutes(7));
    CHECK(job.resources.memory_per_node_bytes == std::uint64_t{11} << 20U);
    CHECK_FALSE(job.resources.memory_per_cpu_bytes);
    CHECK(job.resources.gpus_per_node == 4);
    CHECK(job.resources.exclusive);
    CHECK(job.queue == "long");
    CHECK(job.account == "wheat");
    CHECK(job.qos == "high");
    CHECK(job.array == "2-8%3");
    REQUIRE(job.after.size() == 2);
    CHECK(job.after[0].job == "17");
    CHECK(job.after[0].when == "ok");
    CHECK(job.after[1].job == "19");
    CHECK(job.after[1].when == "any");
    CHECK(job.marks.at("resources.nodes").line == 2);
    CHECK(job.marks.at("resources.time").line == 5);
    CHECK(job.folder == desk.directory.path());

    const auto few = desk.good("slurm", {"-n 7", "--mem-per-cpu=13K"});
    CHECK(few.input.job.resources.tasks == 7);
    CHECK(few.input.job.resources.memory_per_cpu_bytes == std::uint64_t{13} << 10U);
    CHECK(few.notes.empty());
    CHECK(desk.faults("slurm",
                      ScriptDesk::text_of("slurm", {"-N 20000", "--ntasks-per-node=20000"})) ==
          "script-asks-too-much:1 ");
    CHECK(desk.faults("slurm", ScriptDesk::text_of("slurm", {"-t 5", "-a 5-"})) ==
          "script-array-malformed:3 ");
}

TEST_CASE("own script: what this machine cannot do is refused at its lines, all at once") {
    ScriptDesk desk;
    CHECK(desk.faults("local", "#!/none/csh\n#SBATCH -o %4j\n#SBATCH -N 2\ntrue\n") ==
          "script-shell-missing:1 script-output-pattern:2 script-nodes-local:3 ");
    CHECK(desk.faults("local", ScriptDesk::text_of("local", {"-t 1", "-n 90000"})) ==
          "machine-cores:3 ");
    const auto much = desk.good("local", {"-t 1", "-p a", "--mail-type=END", "-A b", "-p c"});
    REQUIRE(much.notes.size() == 1);
    CHECK(much.notes[0].id == "directives-without-effect");
    CHECK(much.notes[0].message ==
          "without effect on the local scheduler: --partition, --mail-type, --account");
    CHECK(much.notes[0].where->line == 3);
    CHECK(much.notes[0].is_warning);
    CHECK(desk.good("slurm", {"-p a"}).notes.empty());
    fs::create_directory(desk.directory.path() / "run");
    CHECK(desk.good("local", {"-D run", "-o o"}).input.job.workdir == "run");
    CHECK(desk.good("slurm", {"-D run", "-o o"}).input.job.workdir.empty());
}

TEST_CASE(
    "own script: through a login it needs a directory there, through a service it is refused") {
    ScriptDesk desk;
    const std::string text = "#!/bin/sh\ntrue\n";
    desk.host = "login.example";
    CHECK(desk.faults("slurm", text) == "script-directory-unknown ");
    desk.request.workdir = "work";
    CHECK(desk.faults("slurm", text) == "script-directory-unknown ");
    desk.request.workdir = "/none/work";
    CHECK(desk.faults("slurm", text) == "");
    CHECK(text_of(desk.ready("slurm", text)->connection) == "login.example");
    desk.host = "slurmrestd+https://s.example";
    CHECK(desk.faults("slurm", text) == "script-through-service ");
    desk.host.clear();
    CHECK(desk.faults("slurm", text) == "workdir-missing:1 ");
}

} // namespace cybele::submission
