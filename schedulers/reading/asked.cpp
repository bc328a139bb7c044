// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/asked.hpp"

#include "schedulers/reading/asked_parts.hpp"
#include "schedulers/reading/option_table.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

struct WordPair {
    std::string_view theirs;
    std::string_view ours;
};
constexpr std::array<WordPair, 4> kAfter{
    {{"afterok", "ok"}, {"afterany", "any"}, {"afternotok", "failed"}, {"after", "started"}}};
constexpr std::array<WordPair, 3> kMailWords{
    {{"BEGIN", "begin"}, {"END", "end"}, {"FAIL", "fail"}}};
constexpr std::array<WordPair, 3> kMailLetters{{{"b", "begin"}, {"e", "end"}, {"a", "fail"}}};

std::string_view translate(std::string_view word, std::span<const WordPair> pairs) {
    const auto found = std::ranges::find(pairs, word, &WordPair::theirs);
    return found == pairs.end() ? std::string_view{} : found->ours;
}

using Taker = void (*)(AskedReading& reading, const Directive& directive);

void take_count(AskedReading& reading, const Directive& directive, std::uint64_t& into) {
    const auto value = whole_number(directive.value);
    if (value && *value > 0) {
        into = *value;
    } else {
        reading.leave(directive, "it is not a number", "write a number of 1 or more");
    }
}

void take_memory(AskedReading& reading,
                 const Directive& directive,
                 std::optional<std::uint64_t>& into) {
    const auto bytes =
        reading.is_slurm() ? slurm_memory(directive.value) : pbs_memory(directive.value);
    if (bytes && *bytes > 0) {
        into = *bytes;
    } else if (bytes && directive.need == "memory-per-node") {
        reading.asked.options["resources.memory"] = "all";
    } else {
        reading.leave(directive, "it is not a size", "write an integer with its unit");
    }
}

/// `gpu:a100:2` without its first word, `a100:2`, `2`.
void take_gpu_text(AskedReading& reading, const Directive& directive, std::string_view text) {
    const auto colon = text.rfind(':');
    const auto count_text = colon == std::string_view::npos ? text : text.substr(colon + 1);
    const auto count = text.empty() ? std::optional<std::uint64_t>(1) : whole_number(count_text);
    if (!count) {
        reading.leave(directive, "it is not a number of GPUs", "write `gpus-per-node: 1`");
        return;
    }
    reading.asked.gpus_per_node = *count;
    reading.asked.gpu_type = colon == std::string_view::npos ? "" : text.substr(0, colon);
}

void take_gpus(AskedReading& reading, const Directive& directive) {
    take_gpu_text(reading, directive, directive.value);
}

/// `gpu:a100:2,lscratch:100`.
void take_gres(AskedReading& reading, const Directive& directive) {
    std::string_view text = directive.value;
    while (!text.empty()) {
        auto item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        if (item == "gpu" || item.starts_with("gpu:")) {
            item.remove_prefix(std::min<std::size_t>(4, item.size()));
            take_gpu_text(reading, directive, item);
            reading.asked.lines["resources.gpus-per-node"] = directive.line;
            continue;
        }
        std::string& others = reading.asked.options["resources.gres"];
        others += (others.empty() ? "" : ",") + std::string(item);
    }
}

void take_features(AskedReading& reading, const Directive& directive) {
    if (directive.value.find_first_of("|()[]*, ") != std::string::npos) {
        reading.leave(
            directive, "a Job's features are all demanded", "write those that must be there");
        return;
    }
    std::string_view text = directive.value;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find('&'));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        reading.asked.constraint.emplace_back(word);
    }
}

/// `afterok:12:13,afterany:14`.
void take_after(AskedReading& reading, const Directive& directive) {
    std::string_view text = directive.value;
    if (text.find('?') != std::string_view::npos) { // Slurm's "or"
        reading.leave(directive, "all conditions of a Job must hold", "write one of them");
        return;
    }
    while (!text.empty()) {
        auto item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const auto word = item.substr(0, item.find(':'));
        const auto when = translate(word, kAfter);
        item.remove_prefix(std::min(word.size() + 1, item.size()));
        if (when.empty() || item.empty()) {
            reading.leave(
                directive, fmt::format("a Job has no `{}`", word), "use afterok or afterany");
            return;
        }
        while (!item.empty()) {
            const auto id = item.substr(0, item.find(':'));
            item.remove_prefix(std::min(id.size() + 1, item.size()));
            reading.asked.after.emplace_back(id, when);
        }
    }
}

void take_mail_on(AskedReading& reading, const Directive& directive) {
    auto& words = reading.asked.mail_on;
    if (!reading.is_slurm()) {
        words.clear(); // sbatch adds them up
    }
    const auto put = [&](std::string_view word, std::string_view ours) {
        if (ours.empty()) {
            reading.leave(directive, fmt::format("a Job has no mail on `{}`", word), "drop it");
        } else if (!contains(words, ours)) {
            words.emplace_back(ours);
        }
    };
    std::string_view text = directive.value;
    if (text == "ALL") {
        words = {"begin", "end", "fail"};
    } else if (text == "NONE" || text == "n") {
        return;
    } else if (reading.is_slurm()) {
        while (!text.empty()) {
            const auto word = text.substr(0, text.find(','));
            text.remove_prefix(std::min(word.size() + 1, text.size()));
            put(word, translate(word, kMailWords));
        }
    } else {
        for (std::size_t at = 0; at < text.size(); ++at) {
            put(text.substr(at, 1), translate(text.substr(at, 1), kMailLetters));
        }
    }
}

/// `[R|B:]USR1[@120]`.
void take_signal(AskedReading& reading, const Directive& directive) {
    std::string_view text = directive.value;
    const auto colon = text.find(':');
    text.remove_prefix(colon == std::string_view::npos ? 0 : colon + 1);
    const auto sign = text.find('@');
    std::string name(text.substr(0, sign));
    if (name.starts_with("SIG")) {
        name.erase(0, 3);
    }
    if (whole_number(name)) {
        constexpr std::array<WordPair, 5> kNumbers{
            {{"1", "HUP"}, {"2", "INT"}, {"10", "USR1"}, {"12", "USR2"}, {"15", "TERM"}}};
        name = translate(name, kNumbers);
    }
    const auto before = sign == std::string_view::npos ? std::optional<std::uint64_t>(60)
                                                       : whole_number(text.substr(sign + 1));
    if (name.empty() || !before) {
        reading.leave(
            directive, "a Job cannot ask for this signal", "write `signal: {name: USR1}`");
        return;
    }
    reading.asked.signal = name;
    reading.asked.signal_before = std::chrono::seconds(static_cast<std::int64_t>(*before));
}

/// Slurm's `A=1,B` of --export, PBS's of -v.
void take_variables(AskedReading& reading, const Directive& directive) {
    std::string_view text = directive.value;
    while (!text.empty()) {
        const auto item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const auto equals = item.find('=');
        if (equals != std::string_view::npos) {
            reading.asked.variables[std::string(item.substr(0, equals))] = item.substr(equals + 1);
        } else if (item != "ALL") {
            reading.leave(directive,
                          fmt::format("`{}` comes from who submits", item),
                          "write the value into `environment`");
        }
    }
}

void take_join(AskedReading& reading, const Directive& directive) {
    reading.is_joined = directive.value == "oe" || directive.value == "eo";
}

void take_time(AskedReading& reading, const Directive& directive) {
    reading.asked.time =
        reading.is_slurm() ? slurm_time(directive.value) : pbs_time(directive.value);
    if (!reading.asked.time || reading.asked.time->count() == 0) {
        reading.asked.time.reset();
        reading.leave(directive, "it is not a time limit", "write HH:MM:SS");
    }
}

template <std::string Asked::*kMember>
void take_text(AskedReading& reading, const Directive& directive) {
    reading.asked.*kMember = directive.value;
}
template <std::uint64_t Asked::*kMember>
void take_number(AskedReading& reading, const Directive& directive) {
    take_count(reading, directive, reading.asked.*kMember);
}

/// Kept as it is written, under the field's name.
template <const char* kField>
void take_written(AskedReading& reading, const Directive& directive) {
    reading.asked.options[kField] = directive.has_value ? directive.value : "true";
}
constexpr char kGpusOption[] = "resources.gpus";
constexpr char kGpusPerTaskOption[] = "resources.gpus-per-task";
constexpr char kCpusPerGpuOption[] = "resources.cpus-per-gpu";
constexpr char kMemoryPerGpuOption[] = "resources.memory-per-gpu";
constexpr char kHostsOption[] = "resources.hosts";
constexpr char kExcludeOption[] = "resources.exclude";
constexpr char kThreadsPerCoreOption[] = "resources.threads-per-core";
constexpr char kLicensesOption[] = "resources.licenses";
constexpr char kReservationOption[] = "reservation";
constexpr char kBeginOption[] = "begin";
constexpr char kCommentOption[] = "comment";
constexpr char kRequeueOption[] = "requeue";
constexpr char kAppendOption[] = "append-output";

void take_no_requeue(AskedReading& reading, const Directive& /*directive*/) {
    reading.asked.options[kRequeueOption] = "false";
}

void take_rerun(AskedReading& reading, const Directive& directive) {
    reading.asked.options[kRequeueOption] = directive.value == "y" ? "true" : "false";
}

void take_open_mode(AskedReading& reading, const Directive& directive) {
    reading.asked.options[kAppendOption] = directive.value.starts_with('a') ? "true" : "false";
}

struct NeedTaker {
    std::string_view need;
    std::string_view field; ///< of the Job, where the line is remembered
    Taker take;
};
constexpr std::array kTakers{
    NeedTaker{"name", "name", take_text<&Asked::name>},
    NeedTaker{"nodes", "resources.nodes", take_number<&Asked::nodes>},
    NeedTaker{"tasks", "resources.tasks", take_number<&Asked::tasks>},
    NeedTaker{"tasks-per-node", "resources.tasks-per-node", take_number<&Asked::tasks_per_node>},
    NeedTaker{"cpus-per-task", "resources.cpus-per-task", take_number<&Asked::cpus_per_task>},
    NeedTaker{"memory-per-node",
              "resources.memory-per-node",
              [](AskedReading& reading, const Directive& directive) {
                  take_memory(reading, directive, reading.asked.memory_per_node);
              }},
    NeedTaker{"memory-per-cpu",
              "resources.memory-per-cpu",
              [](AskedReading& reading, const Directive& directive) {
                  take_memory(reading, directive, reading.asked.memory_per_cpu);
              }},
    NeedTaker{"-l mem",
              "resources.memory-per-node",
              [](AskedReading& reading, const Directive& directive) {
                  take_memory(reading, directive, reading.memory_of_job);
              }},
    NeedTaker{"gpus-per-node", "resources.gpus-per-node", take_gpus},
    NeedTaker{"gres", "resources.gres", take_gres},
    NeedTaker{"time", "resources.time", take_time},
    NeedTaker{"-l walltime", "resources.time", take_time},
    NeedTaker{"queue", "queue", take_text<&Asked::queue>},
    NeedTaker{"account", "account", take_text<&Asked::account>},
    NeedTaker{"qos", "qos", take_text<&Asked::qos>},
    NeedTaker{"-l qos", "qos", take_text<&Asked::qos>},
    NeedTaker{"constraint", "resources.constraint", take_features},
    NeedTaker{"array", "array", take_text<&Asked::array>},
    NeedTaker{"after", "after", take_after},
    NeedTaker{"-W depend", "after", take_after},
    NeedTaker{"mail-to", "mail", take_text<&Asked::mail_to>},
    NeedTaker{"mail-on", "mail", take_mail_on},
    NeedTaker{"signal", "signal", take_signal},
    NeedTaker{"stdout", "output.stdout", take_text<&Asked::standard_output>},
    NeedTaker{"stderr", "output.stderr", take_text<&Asked::standard_error>},
    NeedTaker{"join", "output.stderr", take_join},
    NeedTaker{"workdir", "workdir", take_text<&Asked::workdir>},
    NeedTaker{"submit-folder", "workdir", take_text<&Asked::workdir>},
    NeedTaker{"exclusive",
              "resources.exclusive",
              [](AskedReading& reading, const Directive&) { reading.asked.exclusive = true; }},
    NeedTaker{"variables", "environment", take_variables},
    NeedTaker{"export",
              "environment",
              [](AskedReading& reading, const Directive& directive) {
                  if (directive.has_value && directive.value != "NONE" &&
                      directive.value != "NIL") {
                      take_variables(reading, directive);
                  }
              }},
    NeedTaker{"gpus", kGpusOption, take_written<kGpusOption>},
    NeedTaker{"gpus-per-task", kGpusPerTaskOption, take_written<kGpusPerTaskOption>},
    NeedTaker{"cpus-per-gpu", kCpusPerGpuOption, take_written<kCpusPerGpuOption>},
    NeedTaker{"mem-per-gpu", kMemoryPerGpuOption, take_written<kMemoryPerGpuOption>},
    NeedTaker{"hosts", kHostsOption, take_written<kHostsOption>},
    NeedTaker{"hosts-not", kExcludeOption, take_written<kExcludeOption>},
    NeedTaker{"threads-per-core", kThreadsPerCoreOption, take_written<kThreadsPerCoreOption>},
    NeedTaker{"licenses", kLicensesOption, take_written<kLicensesOption>},
    NeedTaker{"reservation", kReservationOption, take_written<kReservationOption>},
    NeedTaker{"begin", kBeginOption, take_written<kBeginOption>},
    NeedTaker{"comment", kCommentOption, take_written<kCommentOption>},
    NeedTaker{"requeue", kRequeueOption, take_written<kRequeueOption>},
    NeedTaker{"no-requeue", kRequeueOption, take_no_requeue},
    NeedTaker{"rerun", kRequeueOption, take_rerun},
    NeedTaker{"open-mode", kAppendOption, take_open_mode},
    NeedTaker{"-l nodes", "resources.nodes", take_node_list},
    NeedTaker{"-l select", "resources.nodes", take_select},
    NeedTaker{"-l place", "resources.exclusive", take_place},
    NeedTaker{"-l ncpus", "resources.cpus-per-task", take_number<&Asked::cpus_per_task>},
};

void take_unknown(AskedReading& reading, const Directive& directive) {
    const OptionRow* row = directive.need.empty() || directive.need.front() == '-'
                               ? nullptr
                               : find_need(reading.script.reader, directive.need);
    if (row != nullptr) {
        reading.leave(directive, std::string(kNoField), std::string(row->help));
    } else if (directive.need.empty()) {
        reading.leave(directive,
                      fmt::format("{} has no such option", reader_text(reading.script.reader)),
                      spelling_help(reading.script.reader, directive.option));
    } else {
        reading.leave(
            directive, std::string(kNoField), "ask the support of the site what it is for");
    }
}

/// `%j` stays; `$PBS_JOBID` of TORQUE becomes `%j`; what nothing stands for is left.
void put_pattern(AskedReading& reading, std::string_view need, std::string& into) {
    const Directive* directive = reading.script.find(need);
    if (directive == nullptr) {
        return;
    }
    constexpr std::array<WordPair, 6> kPatterns{{{"%A", "%j"},
                                                 {"${PBS_JOBID}", "%j"},
                                                 {"$PBS_JOBID", "%j"},
                                                 {"$PBS_JOBNAME", "%x"},
                                                 {"$PBS_ARRAYID", "%a"},
                                                 {"^array_index^", "%a"}}};
    for (const auto& [theirs, ours] : kPatterns) {
        for (auto at = into.find(theirs); at != std::string::npos; at = into.find(theirs)) {
            into.replace(at, theirs.size(), ours);
        }
    }
    const auto colon = into.find(':');
    if (!reading.is_slurm() && colon != std::string::npos) {
        into.erase(0, colon + 1); // HOST:PATH
    }
    for (std::size_t at = into.find('%'); at != std::string::npos; at = into.find('%', at + 2)) {
        if (std::string_view("xja%").find(at + 1 < into.size() ? into[at + 1] : '\0') ==
            std::string_view::npos) {
            reading.leave(
                *directive, "a Job's patterns are `%x`, `%j` and `%a`", "write one of them");
            into.clear();
            return;
        }
    }
    if (into.find('$') != std::string::npos) {
        reading.leave(*directive, "no shell reads directives", "write a path without variables");
        into.clear();
    }
}

void finish(AskedReading& reading) {
    Asked& asked = reading.asked;
    put_pattern(reading, "stdout", asked.standard_output);
    put_pattern(reading, "stderr", asked.standard_error);
    if (reading.is_joined || (reading.is_slurm() && asked.standard_error.empty())) {
        asked.standard_error = asked.standard_output;
    }
    if (reading.memory_of_job) {
        asked.memory_per_node = (*reading.memory_of_job + asked.nodes - 1) / asked.nodes;
    }
    if (asked.tasks > 0 && reading.is_slurm() && asked.tasks_per_node == 1) {
        asked.tasks_per_node = (asked.tasks + asked.nodes - 1) / asked.nodes;
    }
    if (asked.tasks == asked.nodes * asked.tasks_per_node) {
        asked.tasks = 0;
    }
}

} // namespace

void AskedReading::leave(const Directive& directive, std::string because, std::string help) {
    std::string text = directive.option;
    if (directive.has_value) {
        text +=
            (text.starts_with("--") || text.starts_with("-l ") || text.starts_with("-W ") ? "="
                                                                                          : " ") +
            directive.value;
    }
    asked.remainders.push_back({directive.line, text, std::move(because), std::move(help)});
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    constexpr std::uint64_t kMost = 1'000'000'000;
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || value > kMost) {
        return std::nullopt;
    }
    return value;
}

std::string_view field_of_need(std::string_view need) {
    const auto* const taker = std::ranges::find(kTakers, need, &NeedTaker::need);
    return taker == kTakers.end() ? std::string_view{} : taker->field;
}

Asked what_is_asked(const BatchScript& script) {
    AskedReading reading{script, {}, {}, false};
    for (const Directive& directive : script.directives) {
        const auto* const taker = std::ranges::find(kTakers, directive.need, &NeedTaker::need);
        if (taker == kTakers.end()) {
            take_unknown(reading, directive);
            continue;
        }
        taker->take(reading, directive);
        reading.asked.lines[std::string(taker->field)] = directive.line;
    }
    finish(reading);
    return std::move(reading.asked);
}

} // namespace cybele::schedulers
