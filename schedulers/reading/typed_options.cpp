// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_options.hpp"

#include "schedulers/reading/script_shell.hpp"
#include "schedulers/reading/typed_words.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace cybele::schedulers {
namespace {

bool is_option_of(std::string_view word, std::span<const std::string_view> options) {
    return is_one_of(word.substr(0, word.find('=')), options);
}

/// What a job of PBS may use at most; its place on nodes is another word.
bool is_limit_of_pbs(std::string_view word) {
    constexpr std::array<std::string_view, 10> kLimits{"-l mem=",
                                                       "-l pmem=",
                                                       "-l vmem=",
                                                       "-l pvmem=",
                                                       "-l cput=",
                                                       "-l scratch=",
                                                       "-l jobfs=",
                                                       "-l file=",
                                                       "-l software=",
                                                       "-l other="};
    return starts_with_one_of(word, kLimits);
}

} // namespace

bool is_free_word(const BatchScript& script, const std::string& word) {
    // `-p 100` and `-P NAME` of PBS are a priority and a project.
    if (is_of_pbs(script) && (word.starts_with("-p ") || word.starts_with("-P "))) {
        return true;
    }
    constexpr std::array<std::string_view, 26> kFree{
        "--gres-flags",  "--mail-type", "--mail-user",   "--exclude",    "--nodelist",
        "--reservation", "--licenses",  "--comment",     "--constraint", "--dependency",
        "--begin",       "--nice",      "--qos",         "--partition",  "--switches",
        "--tmp",         "--mem",       "--mem-per-cpu", "--requeue",    "--no-requeue",
        "--contiguous",  "--clusters",  "--wckey",       "--deadline",   "--time",
        "--account"};
    return is_option_of(word, kFree) || word.starts_with("-W group_list") ||
           word.starts_with("-M ") || word.starts_with("-m ") || word.starts_with("-A ");
}

bool is_launch_word(const BatchScript& script, const std::string& word) {
    constexpr std::array<std::string_view, 22> kSteps{"--output",
                                                      "--error",
                                                      "--open-mode",
                                                      "--hint",
                                                      "--distribution",
                                                      "--gpu-bind",
                                                      "--gpu-freq",
                                                      "--cpu-freq",
                                                      "--mem-bind",
                                                      "--acctg-freq",
                                                      "--profile",
                                                      "--ntasks-per-core",
                                                      "--cores-per-socket",
                                                      "--sockets-per-node",
                                                      "--ntasks-per-socket",
                                                      "--mincpus",
                                                      "--time-min",
                                                      "--wait-all-nodes",
                                                      "--oversubscribe",
                                                      "--share",
                                                      "--verbose",
                                                      "--ignore-pbs"};
    if (is_free_word(script, word)) {
        return true;
    }
    if (is_of_pbs(script)) { // of PBS: what the job inherits, when it starts, its limits
        return word == "-V" || word.starts_with("-W depend=") || is_limit_of_pbs(word);
    }
    // The batch shell alone gets a signal with `B:`; of ours, the program gets it too.
    return script.reader == Reader::kSlurm &&
           (is_option_of(word, kSteps) || word == "--export=ALL" ||
            (word.starts_with("--signal=") && word.find(':') == std::string::npos));
}

bool is_bound_word(const BatchScript& script, const std::string& word) {
    constexpr std::array<std::string_view, 22> kBound{
        "--ntasks",        "--ntasks-per-node", "--tasks-per-node", "--nodes",
        "--cpus-per-task", "--array",           "--job-name",       "--signal",
        "--export",        "--export-file",     "--get-user-env",   "--chdir",
        "--wrap",          "--parsable",        "--test-only",      "--input",
        "--overcommit",
        "--gpus", // says how many nodes, too
        "--gpus-per-node", "--gpus-per-socket", "--gpus-per-task",  "--ntasks-per-gpu"};
    if (script.reader == Reader::kSlurm || script.reader == Reader::kNone) {
        return !word.starts_with("--") || is_option_of(word, kBound);
    }
    return !is_free_word(script, word) && !is_limit_of_pbs(word);
}

bool is_passed_to_srun(std::string_view option) {
    constexpr std::array<std::string_view, 16> kPassed{"--cpu-bind",
                                                       "--cpu_bind",
                                                       "--distribution",
                                                       "-m",
                                                       "--hint",
                                                       "--unbuffered",
                                                       "-u",
                                                       "--label",
                                                       "-l",
                                                       "--gpu-bind",
                                                       "--mem-bind",
                                                       "--accel-bind",
                                                       "--comment",
                                                       "--job-name",
                                                       "--wait",
                                                       "-W"};
    return is_one_of(option, kPassed) || option.starts_with("--container-") || // of pyxis
           option.starts_with("--no-container-");
}

bool is_passed_to_mpirun(Starter starter, std::string_view option, std::string_view value) {
    if (starter == Starter::kHydra) {
        return is_option_named(starter,
                               option,
                               "genv genvlist genvall envall env envlist prepend-rank l "
                               "ordered-output print-rank-map print-all-exitcodes verbose v debug "
                               "prepend-pattern outfile-pattern errfile-pattern outfile errfile "
                               "silent-abort iface");
    }
    constexpr std::array<std::string_view, 4> kSettings{"--mca", "-mca", "--gmca", "-gmca"};
    constexpr std::array<std::string_view, 9> kOfMessages{
        "btl", "pml", "mtl", "coll", "osc", "io", "opal_cuda", "opal_warn", "mpi_"};
    constexpr std::array<std::string_view, 13> kPassed{"-x",
                                                       "--report-bindings",
                                                       "-report-bindings",
                                                       "--display-map",
                                                       "-display-map",
                                                       "--display-allocation",
                                                       "-display-allocation",
                                                       "--tag-output",
                                                       "-tag-output",
                                                       "--timestamp-output",
                                                       "-timestamp-output",
                                                       "--quiet",
                                                       "-q"};
    return is_one_of(option, kSettings) ? starts_with_one_of(value, kOfMessages)
                                        : is_one_of(option, kPassed);
}

std::string reason_of_word(const BatchScript& script, std::string_view word) {
    constexpr std::array<std::string_view, 3> kOfPbs{"-o ", "-e ", "-j "};
    constexpr std::array<std::string_view, 2> kOfSlurm{"--output", "--error"};
    const bool is_of_output =
        is_of_pbs(script) ? starts_with_one_of(word, kOfPbs) : is_option_of(word, kOfSlurm);
    return is_of_output ? "it names outputs in a form that no field has"
                        : "a Job has no field for it, and it may change what a launch starts";
}

std::size_t line_of_word(const BatchScript& script, std::string_view word) {
    const auto found = std::ranges::find_if(
        script.directives, [&](const Directive& each) { return word.starts_with(each.option); });
    return found == script.directives.end() ? 0 : found->line;
}

} // namespace cybele::schedulers
