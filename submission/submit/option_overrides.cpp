// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/option_overrides.hpp"

#include "launchers/documents/job_fields_rules.hpp"
#include "schedulers/reading/asked.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

using launchers::Job;

constexpr std::array kOptionOverrides{
    OptionOverride{
        "-G,--gpus", "--gpus", "resources.gpus", "number of GPUs of the job, or TYPE:N", "2"},
    OptionOverride{"--gpus-per-node",
                   "--gpus-per-node",
                   "resources.gpus-per-node",
                   "number of GPUs per node, or TYPE:N",
                   "2"},
    OptionOverride{"--gpus-per-task",
                   "--gpus-per-task",
                   "resources.gpus-per-task",
                   "number of GPUs per task, or TYPE:N",
                   "1"},
    OptionOverride{
        "--cpus-per-gpu", "--cpus-per-gpu", "resources.cpus-per-gpu", "batch: cores per GPU", "8"},
    OptionOverride{"--mem-per-gpu",
                   "--mem-per-gpu",
                   "resources.memory-per-gpu",
                   "memory per GPU, e.g. 16G",
                   "16G"},
    OptionOverride{"--reservation", "--reservation", "reservation", "reservation to use"},
    OptionOverride{"-w,--nodelist",
                   "--nodelist",
                   "resources.hosts",
                   "nodes that the job must get",
                   "node1,node2"},
    OptionOverride{"-x,--exclude",
                   "--exclude",
                   "resources.exclude",
                   "nodes that the job must not get",
                   "node1,node2"},
    OptionOverride{"--threads-per-core",
                   "--threads-per-core",
                   "resources.threads-per-core",
                   "hardware threads used per core",
                   "1"},
    OptionOverride{
        "-L,--licenses", "--licenses", "resources.licenses", "licences: NAME[:N],…", "matlab:2"},
    OptionOverride{"--gres",
                   "--gres",
                   "resources.gres",
                   "other resources of each node: NAME[:N],…",
                   "lscratch:100"},
    OptionOverride{"--requeue",
                   "--requeue",
                   "requeue",
                   "permission to start again after a failure of a node",
                   "",
                   true},
    OptionOverride{"--no-requeue",
                   "--no-requeue",
                   "requeue",
                   "no second start after a failure of a node",
                   "",
                   true},
    OptionOverride{"--open-mode",
                   "--open-mode",
                   "append-output",
                   "mode of opening the output files",
                   "append"},
    OptionOverride{"-b,--begin",
                   "--begin",
                   "begin",
                   "earliest start, e.g. 2026-11-26T22:00",
                   "2026-11-26T22:00"},
    OptionOverride{"--comment", "--comment", "comment", "comment that the batch system stores"},
    OptionOverride{"--oversubscribe",
                   "--oversubscribe",
                   "launch.oversubscribe",
                   "let ranks or threads share cores",
                   "",
                   true},
};

/// Of one option while it is applied: its value, and what is wrong with it.
struct Applied {
    const OptionOverride& option;
    const std::string& value;
    Job& job;
    document::ValueFault complaint{};

    bool refuse(std::string because, std::string help) {
        complaint = {std::move(because), std::move(help)};
        return false;
    }
    /// With the option's example as help.
    bool refuse(std::string because) {
        return refuse(std::move(because), "write for example " + with(option.example));
    }
    bool refuse_for(std::string because, std::string_view corrected) {
        return refuse(std::move(because), "write " + with(corrected));
    }
    bool refuse_at_all(std::string because) {
        return refuse(std::move(because), fmt::format("leave `{}` out", option.option));
    }

private:
    [[nodiscard]] std::string with(std::string_view text) const {
        return fmt::format("`{} {}`", option.option, printable(text));
    }
};
using Put = bool (*)(Applied& applied);

std::optional<std::uint32_t> count_of_text(std::string_view text) {
    const auto count = text::number(text);
    const bool is_good =
        count && *count > 0 && static_cast<std::uint64_t>(*count) <= launchers::kMostTasks;
    return is_good ? std::optional(static_cast<std::uint32_t>(*count)) : std::nullopt;
}

template <std::uint32_t launchers::Resources::*kMember>
bool put_gpu_count(Applied& applied) {
    launchers::Resources& resources = applied.job.resources;
    const auto colon = applied.value.rfind(':');
    const auto count =
        count_of_text(colon == std::string::npos ? applied.value : applied.value.substr(colon + 1));
    if (!count) {
        const bool is_swapped =
            colon != std::string::npos && count_of_text(applied.value.substr(0, colon));
        constexpr const char* kForm = "it is [TYPE:]COUNT, and the count 1 or more";
        return is_swapped ? applied.refuse_for(kForm,
                                               applied.value.substr(colon + 1) + ":" +
                                                   applied.value.substr(0, colon))
                          : applied.refuse(kForm);
    }
    resources.gpus_per_node = resources.gpus = resources.gpus_per_task = 0;
    resources.gpu_form.reset(); // as the Site says of the queue
    resources.*kMember = *count;
    resources.gpu_type =
        colon == std::string::npos ? std::string() : applied.value.substr(0, colon);
    return true;
}

template <std::optional<std::uint32_t> launchers::Resources::*kMember>
bool put_number(Applied& applied) {
    const auto count = count_of_text(applied.value);
    if (!count) {
        return applied.refuse("it is a count of 1 or more");
    }
    applied.job.resources.*kMember = count;
    return true;
}

/// `16 giga` is 16G; empty: it is not known what is meant.
std::string corrected_size(const std::string& text) {
    constexpr std::string_view kUnits = "KMGT";
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::size_t unit = std::min(text.find_first_not_of(' ', digits), text.size());
    if (digits == 0 || unit == text.size()) {
        return {};
    }
    const auto letter = static_cast<char>(std::toupper(static_cast<unsigned char>(text[unit])));
    return kUnits.find(letter) == std::string_view::npos
               ? std::string()
               : text.substr(0, digits) + std::string(1, letter);
}

bool put_gpu_memory(Applied& applied) {
    const auto bytes = schedulers::slurm_memory(applied.value);
    if (!bytes || *bytes == 0) {
        constexpr const char* kForm = "it is a size, as for sbatch";
        const std::string corrected = corrected_size(applied.value);
        return corrected.empty() ? applied.refuse(kForm) : applied.refuse_for(kForm, corrected);
    }
    launchers::Resources& resources = applied.job.resources;
    resources.memory_per_node_bytes.reset();
    resources.memory_per_cpu_bytes.reset();
    resources.has_all_memory = false;
    resources.memory_per_gpu_bytes = bytes;
    return true;
}

/// `a[1,3],b`: commas in brackets separate nothing.
std::vector<std::string> hosts_of(std::string_view text) {
    std::vector<std::string> hosts{{}};
    bool is_inside = false;
    for (const char letter : text) {
        is_inside = letter == '[' || (is_inside && letter != ']');
        if (letter == ',' && !is_inside) {
            hosts.emplace_back();
        } else {
            hosts.back() += letter;
        }
    }
    return hosts;
}

template <std::vector<std::string> launchers::Resources::*kMember>
bool put_hosts(Applied& applied) {
    const std::vector<std::string> hosts = hosts_of(applied.value);
    for (const std::string& host : hosts) {
        if (const auto complaint = launchers::check_host(host); !complaint.because.empty()) {
            return applied.refuse(complaint.because);
        }
    }
    applied.job.resources.*kMember = hosts;
    return true;
}

template <std::map<std::string, std::uint32_t> launchers::Resources::*kMember,
          document::ValueFault (*kCheck)(std::string_view)>
bool put_counts(Applied& applied) {
    std::map<std::string, std::uint32_t> counts;
    for (const std::string_view item : text::split(applied.value, ',')) {
        const auto colon = item.rfind(':');
        const auto number = colon == std::string_view::npos ? std::optional<std::uint32_t>(1)
                                                            : count_of_text(item.substr(colon + 1));
        const std::string name(item.substr(0, colon));
        const auto complaint = kCheck(name);
        if (!complaint.because.empty()) {
            return applied.refuse(complaint.because);
        }
        if (!number) {
            return applied.refuse("each item is NAME[:COUNT]");
        }
        counts[name] = *number;
    }
    applied.job.resources.*kMember = std::move(counts);
    return true;
}

bool put_requeue(Applied& applied) {
    applied.job.requeue = true;
    return true;
}

bool put_no_requeue(Applied& applied) {
    applied.job.requeue = false;
    return true;
}

bool put_open_mode(Applied& applied) {
    const bool appends = applied.value == "append";
    if (!appends && applied.value != "truncate") {
        return applied.refuse("it is `append` or `truncate`");
    }
    applied.job.append_output = appends;
    return true;
}

bool put_begin(Applied& applied) {
    if (const auto complaint = launchers::check_begin(applied.value); !complaint.because.empty()) {
        return applied.refuse(complaint.because);
    }
    applied.job.begin = applied.value;
    return true;
}

/// The launch kinds whose processes may share cores, as in the Job's own field.
bool put_oversubscribe(Applied& applied) {
    using launchers::LaunchKind;
    constexpr std::array kSharing{
        LaunchKind::kMpi, LaunchKind::kMpiBind, LaunchKind::kHorovod, LaunchKind::kOpenmp};
    if (!contains(kSharing, applied.job.launch.kind)) {
        return applied.refuse_at_all("only ranks of MPI and threads of OpenMP share cores");
    }
    applied.job.launch.oversubscribe = true;
    return true;
}

template <std::string Job::*kMember>
bool put_text(Applied& applied) {
    applied.job.*kMember = applied.value;
    return !applied.value.empty() || applied.refuse_at_all("it is empty");
}

struct Putter {
    std::string_view option;
    Put put;
};
constexpr std::array kPutters{
    Putter{"--gpus", put_gpu_count<&launchers::Resources::gpus>},
    Putter{"--gpus-per-node", put_gpu_count<&launchers::Resources::gpus_per_node>},
    Putter{"--gpus-per-task", put_gpu_count<&launchers::Resources::gpus_per_task>},
    Putter{"--cpus-per-gpu", put_number<&launchers::Resources::cpus_per_gpu>},
    Putter{"--mem-per-gpu", put_gpu_memory},
    Putter{"--reservation", put_text<&Job::reservation>},
    Putter{"--nodelist", put_hosts<&launchers::Resources::hosts>},
    Putter{"--exclude", put_hosts<&launchers::Resources::exclude>},
    Putter{"--threads-per-core", put_number<&launchers::Resources::threads_per_core>},
    Putter{"--licenses", put_counts<&launchers::Resources::licenses, launchers::check_license>},
    Putter{"--gres", put_counts<&launchers::Resources::gres, launchers::check_gres>},
    Putter{"--requeue", put_requeue},
    Putter{"--no-requeue", put_no_requeue},
    Putter{"--open-mode", put_open_mode},
    Putter{"--begin", put_begin},
    Putter{"--comment", put_text<&Job::comment>},
    Putter{"--oversubscribe", put_oversubscribe},
};

Fault option_usage_fault(Problem problem, const document::ValueFault& complaint) {
    return Fault(ErrorCode::kUsage, std::move(problem), complaint.because, complaint.help);
}

/// A word of a list in one line of yaml.
std::string word_of_list(const std::string& word) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ./_";
    const bool is_plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
    if (is_plain) {
        return word;
    }
    std::string quoted = "'";
    for (const char c : word) {
        quoted += c == '\'' ? "''" : std::string(1, c);
    }
    return quoted + "'";
}

} // namespace

std::span<const OptionOverride> option_overrides() {
    return kOptionOverrides;
}

void apply_options(const GivenOptions& given, Job& job, Faults& faults) {
    for (const OptionOverride& row : kOptionOverrides) {
        const auto found = given.find(row.option);
        if (found == given.end()) {
            continue;
        }
        const auto* const putter = std::ranges::find(kPutters, row.option, &Putter::option);
        Applied applied{row, found->second, job};
        if (!putter->put(applied)) {
            faults.add(option_usage_fault(
                problem(
                    "option-value",
                    fmt::format("{}: invalid value '{}'", row.option, printable(found->second))),
                applied.complaint));
            continue;
        }
        job.replaced[row.field] = row.option;
    }
}

bool takes_arguments(const launchers::Job& job) {
    using launchers::LaunchKind;
    const LaunchKind kind = job.launch.kind;
    if (kind == LaunchKind::kBatch) {
        return true;
    }
    const bool is_runscript = job.image && job.command.empty() && job.script.empty();
    const bool starts_file = kind == LaunchKind::kTorch || kind == LaunchKind::kSpark;
    const bool is_one_process = kind == LaunchKind::kSerial || kind == LaunchKind::kOpenmp;
    return (is_runscript && !starts_file) || (!job.script.empty() && is_one_process);
}

std::string help_with_arguments(const launchers::Job& job, const std::vector<std::string>& words) {
    if (!job.script.empty()) {
        return "write the words into `script`; for a batch script: `cybelectl submit --script FILE "
               "-- ARGUMENTS`";
    }
    std::string list;
    for (const std::string& word : job.command) {
        list += word_of_list(word) + ", ";
    }
    list = list.empty() ? "PROGRAM, " : list;
    for (const std::string& word : words) {
        list += word_of_list(word) + (&word == &words.back() ? "" : ", ");
    }
    return "write `command: [" + printable(list) + "]` into the Job, and leave the words out";
}

} // namespace cybele::submission
