// SPDX-License-Identifier: Apache-2.0
#include "bench.hpp"
#include "invariant_rows.hpp"

#include <array>
#include <thread>

#include <signal.h>

namespace cybele::schedulers {
namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

Outcome run_in(const Bench& bench, const std::string& text) {
    return run_process(bench.text_command(text)).value();
}

std::string script_of(const std::string& fields, const std::string& dialect = "local") {
    return Bench().script(fields, dialect);
}

constexpr const char* kContainer = "image: a.sif\ncommand: [printenv, PYTHONPATH]\n";
constexpr const char* kRanks =
    "command: [bash, -c, 'echo started']\nlaunch: {kind: mpi, guard: false, allow-root: true, "
    "oversubscribe: true}\nresources: {tasks-per-node: 3}\n";

std::string words_script() {
    return script_of("command: [words, 'a b', '$HOME;*', \"it's\"]\n");
}
bool words_pass(const std::string& script) {
    const Bench bench;
    bench.program("words", "printf '<%s>' \"$@\"\n");
    return run_in(bench, script).output == "<a b><$HOME;*><it's>";
}

std::string directory_script() {
    return script_of("command: [pwd]\n");
}
bool runs_in_submission(const std::string& script) {
    const Bench bench;
    return run_in(bench, script).output == bench.work.native() + "\n";
}

std::string leak_script() {
    return script_of(kContainer);
}
bool host_stays_out(const std::string& script) {
    Bench bench;
    bench.program("cybelectl", kHostRuntime);
    bench.file("a.sif", "image");
    bench.variables["PYTHONPATH"] = "/host/python";
    return !has(run_in(bench, script).output, "/host/python");
}

std::string missing_script() {
    return script_of("image: none.sif\ncommand: ['true']\n");
}
bool missing_image_is_told(const std::string& script) {
    const Bench bench;
    bench.program("cybelectl", "exit 0\n");
    const auto outcome = run_in(bench, script);
    return outcome.code == 1 && has(outcome.errors, "cannot read the image");
}

std::string secret_script() {
    return script_of("image: a.sif\ncommand: ['true']\nenvironment: {KEY: '@file:token'}\n");
}
bool secret_stays_off_command_lines(const std::string& script) {
    const Bench bench;
    bench.program("cybelectl", kHostRuntime);
    bench.file("a.sif", "image");
    bench.file("token", "s3cret");
    const auto outcome = run_in(bench, script);
    const auto log = read_file(bench.work / "runtime.log");
    return outcome.ok() && log && !has(*log, "s3cret") && !has(outcome.errors, "s3cret");
}

std::string threads_script() {
    return script_of("command: [printenv, OMP_NUM_THREADS]\nlaunch: {kind: openmp, threads: 1}\n");
}
bool threads_reach_the_program(const std::string& script) {
    Bench bench;
    bench.variables["OMP_NUM_THREADS"] = "77";
    return run_in(bench, script).output == "1\n";
}

std::string too_many_script() {
    return script_of("command: [echo, ran]\nlaunch: openmp\nresources: {cpus-per-task: 5000}\n");
}
bool too_many_threads_end_the_job(const std::string& script) {
    const Bench bench;
    return !has(run_in(bench, script).output, "ran");
}

std::string ranks_script() {
    return script_of(kRanks);
}
bool three_starts(const std::string& script) {
    const Bench bench;
    return run_in(bench, script).output == "started\nstarted\nstarted\n";
}

std::string guard_script() {
    Bench bench;
    bench.facts.mpi = "openmpi 4.1.4";
    bench.facts.mpi_probe = "probe";
    bench.has_facts = true;
    return bench.script(
        "image: a.sif\ncommand: [echo, ran]\nlaunch: {kind: mpi, allow-root: true, oversubscribe: "
        "true}\nresources: {tasks-per-node: 3}\n",
        "local");
}
/// A launcher whose ranks see themselves alone, as 7 of the 20 measured pairs do.
bool singletons_end_the_job(const std::string& script) {
    const Bench bench;
    bench.program("cybelectl", kHostRuntime);
    bench.program("probe", "echo 'cybelectl-probe rank 0 of 1 host here'\n");
    bench.program(
        "mpirun",
        "while [[ $1 != */cybelectl ]]; do shift; done\nfor r in 1 2 3; do \"$@\"; done\n");
    bench.file("a.sif", "image");
    const auto outcome = run_in(bench, script);
    return outcome.code != 0 && !has(outcome.output, "ran");
}

std::string signal_script() {
    return script_of("script: |\n  trap 'exit 5' USR1\n  echo $PPID >pid\n  sleep 4 & wait $!\n");
}
bool signal_arrives(const std::string& script) {
    const Bench bench;
    auto command = bench.text_command(script);
    std::jthread sender([&] {
        for (int tries = 0; tries < 100; ++tries) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            const auto pid = read_file(bench.work / "pid");
            if (pid && pid->ends_with('\n')) {
                ::kill(std::stoi(*pid), SIGUSR1);
                return;
            }
        }
    });
    const auto begin = std::chrono::steady_clock::now();
    const auto outcome = run_process(command).value();
    return outcome.shell_code() == 5 &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(15);
}

std::string code_script() {
    return script_of("script: exit 3\n");
}
bool code_is_the_programs(const std::string& script) {
    const Bench bench;
    return run_in(bench, script).code == 3;
}
bool end_is_written_down(const std::string& script) {
    const Bench bench;
    (void)run_in(bench, script);
    const auto text = read_file(bench.work / ".cybelectl" / kUuid / "exit.json");
    return text && has(*text, "\"code\":3");
}
bool record_is_renamed_into_place(const std::string& script) {
    const Bench bench;
    // Killed before the rename: no file may stand under the final name.
    bench.program("mv", "kill -KILL $PPID\n");
    (void)run_in(bench, script);
    return !fs::exists(bench.work / ".cybelectl" / kUuid / "exit.json");
}

bool private_files_are_removed(const std::string& script) {
    Bench bench;
    REQUIRE(make_directories(bench.work / "tmp").has_value());
    bench.variables["TMPDIR"] = (bench.work / "tmp").native();
    bench.program("cybelectl", kHostRuntime);
    bench.program("probe", "echo 'cybelectl-probe rank 0 of 1 host here'\n");
    bench.program("mpirun", "while [[ $1 != */cybelectl ]]; do shift; done\n\"$@\"\n");
    bench.file("a.sif", "image");
    (void)run_in(bench, script);
    return fs::is_empty(bench.work / "tmp");
}

std::string verify_script() {
    return script_of(
        "image: a.sif\ncommand: [echo, ran]\nverify: {keys: [a.pub, b.pub], require: all}\n");
}
bool unsigned_image_does_not_run(const std::string& script) {
    const Bench bench;
    bench.program(
        "cybelectl", // of the two keys that are required b.pub did not sign
        std::string("if [[ $* == *--require\\ all* && $* == *--verify-key*/b.pub* ]]; then\n"
                    "    echo 'not verified' >&2\n    exit 255\nfi\n") +
            kHostRuntime);
    bench.file("a.sif", "image");
    bench.file("a.pub", "key");
    bench.file("b.pub", "key");
    const auto outcome = run_in(bench, script);
    return outcome.code != 0 && !has(outcome.output, "ran") && has(outcome.errors, "not verified");
}

bool shellcheck_is_content(const std::string& script) {
    const Bench bench;
    bench.file("judged.sh", script);
    Command command;
    command.argv = {"shellcheck", "-s", "bash", (bench.work / "judged.sh").native()};
    return run_process(command).value().ok();
}

std::string sh_script() {
    return script_of("script: |\n  readlink /proc/$$/exe\n  true\n");
}
bool program_text_is_run_by_sh(const std::string& script) {
    const Bench bench;
    const auto output = run_in(bench, script).output;
    return !has(output, "bash");
}

constexpr std::array kRunRows{
    RunRow{"B2",
           "the program prints where it runs",
           "the script stays where it was started",
           "cd -- \"$1\"",
           "true",
           directory_script,
           runs_in_submission},
    RunRow{"B3",
           "a secret's value is on no command line and in no log",
           "it is passed as an option",
           "read_secret KEY token\n",
           "read_secret KEY token\n    options+=(--env KEY=\"$KEY\")\n",
           secret_script,
           secret_stays_off_command_lines},
    RunRow{"B5",
           "the program prints its words",
           "words unquoted",
           "'exec \"$@\"'; ",
           "'exec $*'; ",
           words_script,
           words_pass},
    RunRow{"B6",
           "the program in the container prints the host's PYTHONPATH",
           "nothing is unset",
           "unset -v LD_{PRELOAD",
           ": LD_{PRELOAD",
           leak_script,
           host_stays_out},
    RunRow{"B7",
           "the image is not there",
           "the image is not looked for",
           "[ -r \"$image\" ]",
           "true",
           missing_script,
           missing_image_is_told},
    RunRow{"C1",
           "the program prints OMP_NUM_THREADS",
           "the submitter's value stays",
           "export {OMP,",
           ": {OMP,",
           threads_script,
           threads_reach_the_program},
    RunRow{"C2",
           "5000 threads are asked for",
           "CPUs are not counted",
           "cpus=$(OMP_NUM_THREADS='' OMP_THREAD_LIMIT='' nproc)",
           "cpus=0",
           too_many_script,
           too_many_threads_end_the_job},
    RunRow{"D1",
           "three ranks print a line each",
           "the program starts without its launcher",
           "launch \"${launcher[@]}\" ",
           "launch ",
           ranks_script,
           three_starts},
    RunRow{"D3",
           "ranks that see themselves alone",
           "the guard accepts any answer",
           "[ \"$code:$good\" != \"0:$1\" ]",
           "false",
           guard_script,
           singletons_end_the_job},
    RunRow{"G1",
           "USR1 reaches the program",
           "the program runs in front",
           "{idle}<&- &\n    local seen count=0 turns=0; payload=$! code=0\n",
           "{idle}<&-\n    local seen count=0 turns=0; payload=99999999 code=0\n",
           signal_script,
           signal_arrives},
    RunRow{"G2",
           "a program that ends with 3",
           "the last line returns 0",
           "&& return \"$code\"\n",
           "&& return 0\n",
           code_script,
           code_is_the_programs},
    RunRow{"G4",
           "a job that fails leaves no temporary file",
           "nothing is removed",
           "rm -rf -- \"$private\"",
           "true",
           guard_script,
           private_files_are_removed},
    RunRow{"G5",
           "the record's writer is killed half-way",
           "it writes under the final name",
           "\"$new\" &&\n        mv -f -- \"$new\" \"$record/exit.json\"",
           "\"$record/exit.json\"",
           code_script,
           record_is_renamed_into_place},
    RunRow{"G6",
           "the record of a program that ends with 3",
           "nothing is written",
           "[ -n \"$record\" ] && umask",
           "false && umask",
           code_script,
           end_is_written_down},
    RunRow{"H1",
           "shellcheck",
           "an unquoted variable",
           "mkdir -p -- \"$record\"",
           "mkdir -p -- $record",
           code_script,
           shellcheck_is_content},
    RunRow{"H2",
           "the job's script prints its shell",
           "bash runs it",
           "/bin/sh -eu",
           "/bin/bash -eu",
           sh_script,
           program_text_is_run_by_sh},
    RunRow{"H5",
           "one of two keys did not sign",
           "one is enough",
           "verified=(--require all)",
           "verified=(--require any)",
           verify_script,
           unsigned_image_does_not_run},
    RunRow{"H6",
           "the directory of submission has a blank",
           "it is not quoted",
           "cd -- \"$1\"",
           "cd -- $1",
           directory_script,
           runs_in_submission},
};

} // namespace

std::span<const RunRow> run_rows() {
    return kRunRows;
}

} // namespace cybele::schedulers
