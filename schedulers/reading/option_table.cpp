// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/option_table.hpp"

#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace cybele::schedulers {
namespace {

constexpr std::string_view kSlurm = "slurm";
constexpr std::string_view kTorque = "torque";
constexpr std::string_view kPbspro = "pbspro";
constexpr std::string_view kBoth = "torque pbspro";
constexpr OptionValue kNo = OptionValue::kNothing;
constexpr OptionValue kYes = OptionValue::kValue;
constexpr OptionValue kMaybe = OptionValue::kMaybe;
constexpr std::string_view kOfSite =
    "put it into `queue` or ask the support of the site for a field";
constexpr std::string_view kSubmit = "give it when the job is submitted";
constexpr std::string_view kAsWritten = "write it under `directives`";

// sbatch(1) of Slurm 19.05 to 24.11; qsub(1) of TORQUE 6.1 and OpenPBS 23.06.
constexpr std::array kRows{
    OptionRow{kSlurm, "-J", "--job-name", kYes, "name", ""},
    OptionRow{kSlurm, "-N", "--nodes", kYes, "nodes", ""},
    OptionRow{kSlurm, "-n", "--ntasks", kYes, "tasks", ""},
    OptionRow{kSlurm, "", "--ntasks-per-node", kYes, "tasks-per-node", ""},
    OptionRow{kSlurm, "-c", "--cpus-per-task", kYes, "cpus-per-task", ""},
    OptionRow{kSlurm, "", "--mem", kYes, "memory-per-node", ""},
    OptionRow{kSlurm, "", "--mem-per-cpu", kYes, "memory-per-cpu", ""},
    OptionRow{kSlurm, "", "--gpus-per-node", kYes, "gpus-per-node", ""},
    OptionRow{kSlurm, "", "--gres", kYes, "gres", ""},
    OptionRow{kSlurm, "-G", "--gpus", kYes, "gpus", ""},
    OptionRow{kSlurm, "", "--gpus-per-task", kYes, "gpus-per-task", ""},
    OptionRow{kSlurm, "-t", "--time", kYes, "time", ""},
    OptionRow{kSlurm, "-p", "--partition", kYes, "queue", ""},
    OptionRow{kSlurm, "-A", "--account", kYes, "account", ""},
    OptionRow{kSlurm, "-q", "--qos", kYes, "qos", ""},
    OptionRow{kSlurm, "-C", "--constraint", kYes, "constraint", ""},
    OptionRow{kSlurm, "-a", "--array", kYes, "array", ""},
    OptionRow{kSlurm, "-d", "--dependency", kYes, "after", ""},
    OptionRow{kSlurm, "", "--mail-user", kYes, "mail-to", ""},
    OptionRow{kSlurm, "", "--mail-type", kYes, "mail-on", ""},
    OptionRow{kSlurm, "", "--signal", kYes, "signal", ""},
    OptionRow{kSlurm, "-o", "--output", kYes, "stdout", ""},
    OptionRow{kSlurm, "-e", "--error", kYes, "stderr", ""},
    OptionRow{kSlurm, "-D", "--chdir", kYes, "workdir", ""},
    OptionRow{kSlurm, "", "--exclusive", kMaybe, "exclusive", ""},
    OptionRow{kSlurm, "", "--export", kYes, "export", ""},
    OptionRow{kSlurm, "", "--no-requeue", kNo, "no-requeue", ""},
    OptionRow{kSlurm, "-L", "--licenses", kYes, "licenses", ""},
    OptionRow{kSlurm, "-w", "--nodelist", kYes, "hosts", ""},
    OptionRow{kSlurm, "-x", "--exclude", kYes, "hosts-not", ""},
    OptionRow{kSlurm, "", "--reservation", kYes, "reservation", ""},
    OptionRow{kSlurm, "-M", "--clusters", kYes, "clusters", "write a Site for each"},
    OptionRow{kSlurm, "-i", "--input", kYes, "stdin", "open the file in the program"},
    OptionRow{kSlurm, "", "--comment", kYes, "comment", ""},
    OptionRow{kSlurm, "", "--requeue", kNo, "requeue", ""},
    OptionRow{kSlurm, "", "--open-mode", kYes, "open-mode", ""},
    OptionRow{kSlurm,
              "",
              "--hint",
              kYes,
              "hint",
              "`nomultithread` is near to `threads-per-core: 1`; `directives` carries it as it is"},
    OptionRow{kSlurm, "-m", "--distribution", kYes, "distribution", "use `binding` under launch"},
    OptionRow{kSlurm, "", "--mem-per-gpu", kYes, "mem-per-gpu", ""},
    OptionRow{kSlurm, "", "--mem-bind", kYes, "mem-bind", "use `binding` under launch"},
    OptionRow{kSlurm, "", "--cpus-per-gpu", kYes, "cpus-per-gpu", ""},
    OptionRow{kSlurm, "", "--ntasks-per-socket", kYes, "per-socket", "write `tasks-per-node`"},
    OptionRow{kSlurm, "", "--ntasks-per-core", kYes, "per-core", "write `tasks-per-node`"},
    OptionRow{kSlurm, "", "--ntasks-per-gpu", kYes, "per-gpu", "write `tasks-per-node`"},
    OptionRow{kSlurm, "", "--threads-per-core", kYes, "threads-per-core", ""},
    OptionRow{kSlurm, "", "--sockets-per-node", kYes, "sockets", "use `constraint`"},
    OptionRow{kSlurm, "", "--cores-per-socket", kYes, "cores-per-socket", "use `constraint`"},
    OptionRow{kSlurm, "-B", "--extra-node-info", kYes, "node-info", "use `constraint`"},
    OptionRow{kSlurm, "", "--mincpus", kYes, "mincpus", "use `constraint`"},
    OptionRow{kSlurm, "", "--tmp", kYes, "tmp", "use `constraint`"},
    OptionRow{kSlurm, "", "--contiguous", kNo, "contiguous", "use `constraint`"},
    OptionRow{kSlurm, "", "--switches", kYes, "switches", "use `constraint`"},
    OptionRow{kSlurm, "-s", "--oversubscribe", kNo, "share", "drop it"},
    OptionRow{kSlurm, "-O", "--overcommit", kNo, "overcommit", "use `oversubscribe` under launch"},
    OptionRow{kSlurm, "-b", "--begin", kYes, "begin", ""},
    OptionRow{kSlurm, "", "--deadline", kYes, "deadline", kSubmit},
    OptionRow{kSlurm, "", "--time-min", kYes, "time-min", kSubmit},
    OptionRow{kSlurm, "", "--nice", kMaybe, "nice", kSubmit},
    OptionRow{kSlurm, "", "--priority", kYes, "priority", kSubmit},
    OptionRow{kSlurm, "-H", "--hold", kNo, "hold", kSubmit},
    OptionRow{kSlurm, "-k", "--no-kill", kMaybe, "no-kill", "a lost node ends the job"},
    OptionRow{kSlurm, "", "--kill-on-invalid-dep", kYes, "kill-invalid", kSubmit},
    OptionRow{kSlurm, "", "--get-user-env", kMaybe, "user-env", "use `environment`"},
    OptionRow{kSlurm, "", "--propagate", kMaybe, "limits", "set the limit in the program"},
    OptionRow{kSlurm, "", "--profile", kYes, "profile", kSubmit},
    OptionRow{kSlurm, "", "--acctg-freq", kYes, "accounting", kSubmit},
    OptionRow{kSlurm, "", "--wckey", kYes, "wckey", kOfSite},
    OptionRow{kSlurm, "", "--bb", kYes, "burst-buffer", "use `stage-in`"},
    OptionRow{kSlurm, "-S", "--core-spec", kYes, "core-spec", "drop it"},
    OptionRow{kSlurm, "", "--container", kYes, "container", "write `image`"},
    OptionRow{kSlurm, "-v", "--verbose", kNo, "verbose", kSubmit},
    OptionRow{kSlurm, "-Q", "--quiet", kNo, "quiet", kSubmit},
    OptionRow{kSlurm, "-W", "--wait", kNo, "wait", "submit with --wait"},
    OptionRow{kSlurm, "", "--parsable", kNo, "parsable", kSubmit},
    OptionRow{kSlurm, "", "--x11", kMaybe, "x11", "a batch job has no screen"},

    OptionRow{kSlurm, "", "--batch", kYes, "batch", kAsWritten},
    OptionRow{kSlurm, "", "--bbf", kYes, "bbf", kAsWritten},
    OptionRow{kSlurm, "", "--consolidate-segments", kNo, "consolidate-segments", kAsWritten},
    OptionRow{kSlurm, "", "--cluster-constraint", kYes, "cluster-constraint", kAsWritten},
    OptionRow{kSlurm, "", "--cluster", kYes, "clusters", "write a Site for each"},
    OptionRow{kSlurm, "", "--container-id", kYes, "container-id", kAsWritten},
    OptionRow{kSlurm, "", "--runtime", kYes, "runtime", kAsWritten},
    OptionRow{kSlurm, "", "--context", kYes, "context", kAsWritten},
    OptionRow{kSlurm, "", "--cpu-freq", kYes, "cpu-freq", kAsWritten},
    OptionRow{kSlurm, "", "--delay-boot", kYes, "delay-boot", kAsWritten},
    OptionRow{kSlurm, "", "--export-file", kYes, "export-file", kAsWritten},
    OptionRow{kSlurm, "", "--external", kNo, "external", kAsWritten},
    OptionRow{kSlurm, "", "--extra", kYes, "extra", kAsWritten},
    OptionRow{kSlurm, "", "--gid", kYes, "gid", kAsWritten},
    OptionRow{kSlurm, "", "--gpu-bind", kYes, "gpu-bind", kAsWritten},
    OptionRow{kSlurm, "", "--tres-bind", kYes, "tres-bind", kAsWritten},
    OptionRow{kSlurm, "", "--gpu-freq", kYes, "gpu-freq", kAsWritten},
    OptionRow{kSlurm, "", "--gpus-per-socket", kYes, "gpus-per-socket", kAsWritten},
    OptionRow{kSlurm, "", "--tres-per-task", kYes, "tres-per-task", kAsWritten},
    OptionRow{kSlurm, "", "--gres-flags", kYes, "gres-flags", kAsWritten},
    OptionRow{kSlurm, "-h", "--help", kNo, "help", kAsWritten},
    OptionRow{kSlurm, "", "--ignore-pbs", kNo, "ignore-pbs", kAsWritten},
    OptionRow{kSlurm, "", "--mcs-label", kYes, "mcs-label", kAsWritten},
    OptionRow{kSlurm, "", "--oom-kill-step", kMaybe, "oom-kill-step", kAsWritten},
    OptionRow{kSlurm, "", "--mem-update", kYes, "mem-update", kAsWritten},
    OptionRow{kSlurm, "", "--network", kYes, "network", kAsWritten},
    OptionRow{kSlurm, "-F", "--nodefile", kYes, "nodefile", kAsWritten},
    OptionRow{kSlurm, "", "--ntasks-per-tres", kYes, "ntasks-per-tres", kAsWritten},
    OptionRow{kSlurm, "", "--prefer", kYes, "prefer", kAsWritten},
    OptionRow{kSlurm, "", "--reboot", kNo, "reboot", kAsWritten},
    OptionRow{kSlurm, "", "--resources", kYes, "resources", kAsWritten},
    OptionRow{kSlurm, "", "--resv-ports", kMaybe, "resv-ports", kAsWritten},
    OptionRow{kSlurm, "", "--segment", kYes, "segment", kAsWritten},
    OptionRow{kSlurm, "", "--spread-job", kNo, "spread-job", kAsWritten},
    OptionRow{kSlurm, "", "--spread-segments", kNo, "spread-segments", kAsWritten},
    OptionRow{kSlurm, "", "--stepmgr", kNo, "stepmgr", kAsWritten},
    OptionRow{kSlurm, "", "--tasks-per-node", kYes, "tasks-per-node", ""},
    OptionRow{kSlurm, "", "--test-only", kNo, "test-only", kAsWritten},
    OptionRow{kSlurm, "", "--thread-spec", kYes, "thread-spec", kAsWritten},
    OptionRow{kSlurm, "", "--uid", kYes, "uid", kAsWritten},
    OptionRow{kSlurm, "", "--use-min-nodes", kNo, "use-min-nodes", kAsWritten},
    OptionRow{kSlurm, "", "--usage", kNo, "usage", kAsWritten},
    OptionRow{kSlurm, "-V", "--version", kNo, "version", kAsWritten},
    OptionRow{kSlurm, "", "--wait-all-nodes", kYes, "wait-all-nodes", kAsWritten},
    OptionRow{kSlurm, "", "--wrap", kYes, "wrap", kAsWritten},
    OptionRow{kSlurm, "", "--mem_bind", kYes, "mem-bind", kAsWritten},
    OptionRow{kSlurm, "", "--share", kNo, "share", kAsWritten},
    OptionRow{kSlurm, "", "--workdir", kYes, "workdir", ""},
    OptionRow{kSlurm, "", "--power", kYes, "power", kAsWritten},

    OptionRow{kBoth, "-N", "", kYes, "name", ""},
    OptionRow{kBoth, "-l", "", kYes, "list", ""},
    OptionRow{kBoth, "-q", "", kYes, "queue", ""},
    OptionRow{kBoth, "-A", "", kYes, "account", ""},
    OptionRow{kPbspro, "-P", "", kYes, "project", kAsWritten},
    OptionRow{kTorque, "-P", "", kYes, "proxy-user", kSubmit},
    OptionRow{kTorque, "-t", "", kYes, "array", ""},
    OptionRow{kPbspro, "-J", "", kYes, "array", ""},
    OptionRow{kBoth, "-W", "", kYes, "attributes", ""},
    OptionRow{kBoth, "-M", "", kYes, "mail-to", ""},
    OptionRow{kBoth, "-m", "", kYes, "mail-on", ""},
    OptionRow{kBoth, "-o", "", kYes, "stdout", ""},
    OptionRow{kBoth, "-e", "", kYes, "stderr", ""},
    OptionRow{kBoth, "-j", "", kYes, "join", ""},
    OptionRow{kTorque, "-d", "", kYes, "workdir", ""},
    OptionRow{kTorque, "-w", "", kYes, "submit-folder", ""},
    OptionRow{kTorque, "-n", "", kNo, "exclusive", ""},
    OptionRow{kBoth, "-v", "", kYes, "variables", ""},
    OptionRow{kBoth, "-V", "", kNo, "export", ""},
    OptionRow{kBoth, "-k", "", kYes, "keep", "name the outputs in `output`"},
    OptionRow{kBoth, "-S", "", kYes, "shell", "name the shell in `command`"},
    OptionRow{kBoth, "-r", "", kYes, "rerun", ""},
    OptionRow{kBoth, "-p", "", kYes, "priority", kSubmit},
    OptionRow{kBoth, "-a", "", kYes, "begin", ""},
    OptionRow{kBoth, "-c", "", kYes, "checkpoint", "let the program continue from its files"},
    OptionRow{kBoth, "-h", "", kNo, "hold", kSubmit},
    OptionRow{kBoth, "-I", "", kNo, "interactive", kSubmit},
    OptionRow{kBoth, "-X", "", kNo, "x11", "a batch job has no screen"},
    OptionRow{kBoth, "-z", "", kNo, "quiet", kSubmit},
    OptionRow{kBoth, "-u", "", kYes, "user", kSubmit},
    OptionRow{kBoth, "-C", "", kYes, "prefix", kSubmit},
    OptionRow{kPbspro, "-R", "", kYes, "remove-files", "name the outputs in `output`"},
    OptionRow{kTorque, "-K", "", kYes, "kill-delay", "use `signal`"},
    OptionRow{kTorque, "-F", "", kYes, "arguments", "write them into `command`"},
    OptionRow{kTorque, "-T", "", kYes, "prologue", kSubmit},
    OptionRow{kTorque, "-b", "", kYes, "connect", kSubmit},
    OptionRow{kTorque, "-D", "", kYes, "root-directory", kSubmit},
    OptionRow{kTorque, "-f", "", kNo, "fault-tolerant", "a lost node ends the job"},
    OptionRow{kTorque, "-L", "", kYes, "numa", kAsWritten},
    OptionRow{kTorque, "-x", "", kNo, "command", kSubmit},
    OptionRow{kTorque, "-J", "", kYes, "job-id", kSubmit},
    OptionRow{kPbspro, "-f", "", kNo, "foreground", kSubmit},
    OptionRow{kPbspro, "-G", "", kNo, "gui", kSubmit},
};

/// A letter more, less or changed, or two that are swapped: a plugin may have names that are
/// further from those of sbatch.
bool is_one_edit(std::string_view a, std::string_view b) {
    while (!a.empty() && !b.empty() && a.front() == b.front()) {
        a.remove_prefix(1);
        b.remove_prefix(1);
    }
    while (!a.empty() && !b.empty() && a.back() == b.back()) {
        a.remove_suffix(1);
        b.remove_suffix(1);
    }
    const bool is_swapped = a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
    return (a.size() <= 1 && b.size() <= 1) || is_swapped;
}

} // namespace

const OptionRow* find_option(Reader reader, std::string_view option) {
    const auto is_read = [reader](const OptionRow& row) {
        return row.readers.find(reader_text(reader)) != std::string_view::npos;
    };
    const auto* const exact = std::ranges::find_if(kRows, [&](const OptionRow& row) {
        return is_read(row) && (row.shorter == option || row.longer == option);
    });
    if (exact != kRows.end()) {
        return exact;
    }
    const OptionRow* found = nullptr;
    for (const OptionRow& row : kRows) {
        if (is_read(row) && option.size() > 2 && row.longer.starts_with(option)) {
            if (found != nullptr) {
                return nullptr; // more than one begins so
            }
            found = &row;
        }
    }
    return found;
}

std::string nearest_option(Reader reader, std::string_view option) {
    const std::string_view name = option.substr(0, option.find('='));
    std::vector<std::string_view> known;
    for (const OptionRow& row : kRows) {
        if (!row.longer.empty() && is_one_edit(name, row.longer) && row.need != "usage" &&
            row.need != "help" && row.readers.find(reader_text(reader)) != std::string_view::npos) {
            known.push_back(row.longer);
        }
    }
    return nearest(name, known);
}

std::string spelling_help(Reader reader, std::string_view option) {
    const std::string meant = nearest_option(reader, option);
    return meant.empty() ? "look for its spelling in the manual" : "did you mean `" + meant + "`?";
}

std::string_view reason_against(Reader reader, std::string_view need) {
    struct Row {
        std::string_view readers;
        std::string_view need;
        std::string_view because;
    };
    constexpr std::string_view kSubmitsNothing = "it submits nothing";
    constexpr std::string_view kHidesId = "it changes what is printed, by which the job is known";
    constexpr std::string_view kNeedsTerminal = "it is for a session at a terminal";
    constexpr std::array kAgainst{
        Row{kSlurm, "help", kSubmitsNothing},
        Row{kSlurm, "usage", kSubmitsNothing},
        Row{kSlurm, "version", kSubmitsNothing},
        Row{kSlurm, "test-only", kSubmitsNothing},
        Row{kSlurm, "parsable", kHidesId},
        Row{kSlurm, "wrap", "sbatch accepts it in place of a script, and refuses both"},
        Row{kBoth, "interactive", kNeedsTerminal},
        Row{kBoth, "x11", kNeedsTerminal},
        Row{kPbspro, "gui", kNeedsTerminal},
        Row{kPbspro, "foreground", kNeedsTerminal},
        Row{kBoth, "quiet", kHidesId},
        Row{kBoth, "prefix", "it changes which lines of the script qsub reads"},
        Row{kTorque, "command", "qsub would run it in place of the script"},
        Row{kTorque, "arguments", "the arguments of the script are those of the Job"},
    };
    const auto* const found = std::ranges::find_if(kAgainst, [&](const Row& row) {
        return row.need == need && row.readers.find(reader_text(reader)) != std::string_view::npos;
    });
    return found == kAgainst.end() ? std::string_view() : found->because;
}

const OptionRow* find_need(Reader reader, std::string_view need) {
    return find_row(kRows, [&](const OptionRow& row) {
        return row.need == need && row.readers.find(reader_text(reader)) != std::string_view::npos;
    });
}

} // namespace cybele::schedulers
