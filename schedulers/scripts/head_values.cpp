// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/expand_help.hpp"
#include "schedulers/dialects/needs.hpp"
#include "schedulers/scripts/values.hpp"
#include "support/document_view.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::Job;
using templates::Value;
using templates::Values;

/// Mebibytes, rounded up: a batch system takes no fractions.
std::uint64_t mebibytes(std::uint64_t bytes) {
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    return bytes / kMebibyte + (bytes % kMebibyte == 0 ? 0 : 1);
}

constexpr std::string_view kNoQuotes =
    "no shell reads directives, so nothing in them can be quoted";
constexpr std::string_view kPlainWords = "write it in letters, digits and `. _ - / @ %`";

} // namespace

// No shell reads a directive, so nothing can be quoted away: what the dialect's own reading would
// change is refused.
bool is_carried(const Rendering& rendering, const std::string& text) {
    const bool can_group = rendering.dialect.has("double-quotes");
    const std::string_view forbidden = can_group ? "\"\\$`" : " #\"'\\$`,:";
    return !templates::has_control_characters(text) && !text.empty() && text.front() != '-' &&
           text.find_first_of(forbidden) == std::string::npos;
}

namespace {

std::string refusal(const Rendering& rendering, const std::string& text) {
    return fmt::format(
        "'{}' cannot be carried by a directive of {}", printable(text), rendering.dialect.name);
}

std::string grouped(const Rendering& rendering, const std::string& text) {
    const bool is_grouped =
        rendering.dialect.has("double-quotes") && text.find_first_of(" #'") != std::string::npos;
    return is_grouped ? "\"" + text + "\"" : text;
}

/// A text in a directive.
std::string
directive_text(const Rendering& rendering, std::string_view field, const std::string& text) {
    if (!is_carried(rendering, text)) {
        const std::string expanded = field == "workdir" ? launchers::expand_help(text) : "";
        rendering.faults.add(
            rendering.input.job->fault_at(field,
                                          problem("directive-quotes", refusal(rendering, text)),
                                          std::string(kNoQuotes),
                                          expanded.empty() ? std::string(kPlainWords) : expanded));
        return {};
    }
    return grouped(rendering, text);
}

} // namespace

Value optional_text(const Rendering& rendering, std::string_view field, const std::string& text) {
    if (text.empty()) {
        return {};
    }
    return {directive_text(rendering, field, text)};
}

namespace {

struct WhenWord {
    std::string_view when;
    std::string_view word;
};
constexpr std::array<WhenWord, 4> kWhen{
    {{"ok", "afterok"}, {"any", "afterany"}, {"failed", "afternotok"}, {"started", "after"}}};

/// The queue, which may be the Site's.
Value queue_value(const Rendering& rendering) {
    const std::string& queue = rendering.plan.queue;
    if (queue.empty()) {
        return {};
    }
    const bool is_good = is_carried(rendering, queue);
    const bool are_several = queue.find(',') != std::string::npos;
    if (!is_good) {
        rendering.faults.add(launchers::fault_at_queue(
            *rendering.input.job,
            rendering.input.site,
            problem("directive-quotes", refusal(rendering, queue)),
            are_several ? "only Slurm chooses among several queues" : std::string(kNoQuotes),
            are_several ? "name one queue" : std::string(kPlainWords)));
    }
    return {is_good ? grouped(rendering, queue) : std::string()};
}

/// The text of the Job, else the default of its queue or Site, where a mistake is the Site's.
Value text_or_default(const Rendering& rendering,
                      const std::string& field,
                      const std::string& own,
                      const std::string& planned) {
    if (!own.empty() || planned.empty() || is_carried(rendering, planned)) {
        return optional_text(rendering, field, planned);
    }
    rendering.faults.add(
        launchers::fault_at_default(*rendering.input.job,
                                    rendering.input.site,
                                    field,
                                    problem("directive-quotes", refusal(rendering, planned)),
                                    std::string(kNoQuotes),
                                    std::string(kPlainWords)));
    return {};
}

/// `afterok:12,afterany:13`, which Slurm and PBS write alike; ids were checked.
Value after_value(const Rendering& rendering) {
    std::string text;
    for (const auto& [id, when] : rendering.input.job->after) {
        const auto* row = std::ranges::find(kWhen, when, &WhenWord::when);
        text += fmt::format("{}{}:{}", text.empty() ? "" : ",", row->word, id);
    }
    return text.empty() ? Value() : Value(text);
}

struct MailWord {
    std::string_view on;
    std::string_view word;
    std::string_view letter;
};
constexpr std::array<MailWord, 4> kMail{
    {{"begin", "BEGIN", "b"}, {"end", "END", "e"}, {"fail", "FAIL", "a"}, {"all", "ALL", "abe"}}};

void add_mail(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    std::string words;
    std::string letters;
    for (const MailWord& row : kMail) {
        if (job.mail && contains(job.mail->on, row.on)) {
            const bool is_all = row.on == "all"; // the others are among them
            words = words.empty() || is_all ? row.word : fmt::format("{},{}", words, row.word);
            letters = is_all ? "" : letters;
            letters += row.letter;
        }
    }
    values["mail-to"] = job.mail ? optional_text(rendering, "mail.to", job.mail->to) : Value();
    values["mail-on-words"] = words.empty() ? "NONE" : words;
    values["mail-on-letters"] = letters.empty() ? "n" : letters;
}

Value workdir_value(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    if (job.workdir.starts_with("~")) {
        rendering.faults.add(
            job.fault_at("workdir",
                         problem("directive-tilde", "`~` cannot be carried by a directive"),
                         "no shell reads directives",
                         "write the absolute path"));
        return {};
    }
    return optional_text(rendering, "workdir", job.workdir);
}

void add_constraints(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    std::vector<Values> list;
    std::string joined;
    for (const auto& feature : job.resources.constraint) {
        const bool is_word =
            feature.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_.-") == std::string::npos;
        if (!is_word || feature.empty()) {
            rendering.faults.add(job.fault_at(
                "resources.constraint",
                problem("feature-name",
                        fmt::format("'{}' is not the name of a feature", printable(feature))),
                "features are letters, digits and `_ . -`",
                "write one feature an item; all are demanded"));
            continue;
        }
        list.push_back({{"expression", Value(feature)}});
        joined += (joined.empty() ? "" : "&") + feature;
    }
    values["constraint"] = joined.empty() ? Value() : Value(joined);
    // A dialect that writes a feature as a node's property looks this name up instead.
    values["constraints"] = std::move(list);
}

void add_signal_directive(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    values["signal-name"] = job.signal ? Value(job.signal->name) : Value();
    values["signal-before"] =
        job.signal ? Value(static_cast<std::uint64_t>(job.signal->before.count())) : Value();
}

Value counted_memory(const std::optional<std::uint64_t>& bytes, std::uint64_t times = 1) {
    return bytes ? Value(mebibytes(*bytes) * times) : Value();
}

/// Of a node: as the Job says, or multiplied out where the dialect knows no memory of a core.
std::optional<std::uint64_t> node_memory(const Rendering& rendering) {
    const auto& resources = rendering.input.job->resources;
    const bool is_multiplied =
        resources.memory_per_cpu_bytes &&
        rendering.dialect.needs.at("memory-per-cpu").value != "memory-per-cpu";
    return is_multiplied ? launchers::memory_of_node(resources) : resources.memory_per_node_bytes;
}

} // namespace

std::string clock_text(std::chrono::seconds duration) {
    const auto total = duration.count();
    return fmt::format("{:02}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

namespace {

/// To Slurm `%j` is the element's own id, which is known only when it starts: `%A` is the array's.
std::string array_pattern(const Job& job, const std::string& pattern) {
    if (job.array.empty()) {
        return pattern;
    }
    std::vector<std::string> parts; // `%j` and `%5j` apart from what stands between them
    bool is_split = true;
    for (std::size_t at = 0; at < pattern.size();) {
        std::size_t end = at + 1;
        if (pattern[at] == '%') {
            end = std::min(pattern.find_first_not_of("0123456789", end), pattern.size() - 1) + 1;
            is_split = is_split && pattern[end - 1] != 'a';
        }
        parts.push_back(pattern.substr(at, end - at));
        at = end;
    }
    std::string text;
    for (std::string& part : parts) {
        const bool is_id = part.starts_with('%') && part.ends_with('j');
        if (is_id) {
            part.back() = 'A';
        }
        text += part + (is_id && is_split ? "_%a" : "");
    }
    return text;
}

} // namespace

Values head_values(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    const auto& resources = job.resources;
    const auto& plan = rendering.plan;
    Values values;
    values["name"] = directive_text(rendering, "name", name_for(job, rendering.dialect));
    values["nodes"] = plan.nodes;
    values["on-several-nodes"] = plan.nodes > 1;
    values["tasks"] = plan.ranks;
    values["tasks-per-node"] = plan.ranks_per_node;
    values["cpus-per-task"] = plan.cpus_per_task;
    values["slots"] = std::uint64_t{plan.ranks_per_node} * plan.cpus_per_task;
    values["threads"] = plan.threads;
    values["memory-per-node"] = counted_memory(node_memory(rendering));
    values["memory-per-cpu"] = counted_memory(resources.memory_per_cpu_bytes);
    values["memory-of-job"] = counted_memory(node_memory(rendering), plan.nodes);
    values["memory-unit"] = rendering.input.is_for_operator ? "" : "M";
    values["memory-per-gpu"] = counted_memory(resources.memory_per_gpu_bytes);
    add_options(rendering, values);
    values["time"] = plan.time ? Value(clock_text(*plan.time)) : Value();
    values["exclusive"] = resources.exclusive;
    values["queue"] = queue_value(rendering);
    values["account"] = text_or_default(rendering, "account", job.account, plan.account);
    values["account-option"] =
        rendering.input.site != nullptr ? rendering.input.site->account_option : "-A";
    values["qos"] = text_or_default(rendering, "qos", job.qos, plan.qos);
    values["array"] = job.array.empty() ? Value() : Value(job.array);
    values["after"] = after_value(rendering);
    values["stdout"] = false;
    values["stderr"] = false;
    const auto& needs = rendering.dialect.needs;
    values["outputs-by-directives"] = has_outputs_by_directives(rendering);
    add_batch_head(rendering, values);
    if (needs.at("stdout").service == Service::kDirective || has_plain_outputs(rendering)) {
        values["stdout"] = directive_text(
            rendering, "output.stdout", array_pattern(job, job.output.standard_output));
        values["stderr"] = directive_text(
            rendering, "output.stderr", array_pattern(job, job.output.standard_error));
    }
    values["workdir"] =
        needs.at("workdir").service == Service::kDirective ? workdir_value(rendering) : Value();
    add_constraints(rendering, values);
    add_mail(rendering, values);
    add_signal_directive(rendering, values);
    values["directives"] = directive_lines(rendering);
    return values;
}

} // namespace cybele::schedulers
