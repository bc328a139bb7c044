// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/overrides.hpp"

#include "launchers/documents/job_fields_rules.hpp"
#include "launchers/documents/sweep.hpp"
#include "schedulers/dialects/needs.hpp"
#include "schedulers/reading/asked.hpp"
#include "support/counted.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

Fault usage_fault(Problem problem, const std::string& help) {
    return Fault(ErrorCode::kUsage, std::move(problem), {}, help);
}

void set_count(const std::string& text, const char* option, std::uint32_t& into, Faults& faults) {
    if (text.empty()) {
        return;
    }
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value == 0) {
        faults.add(
            usage_fault(problem("count-value",
                                std::string(option) + " requires a count of 1 or more, not '" +
                                    printable(text) + "'"),
                        std::string("write ") + option + " 1, or more"));
        return;
    }
    into = value;
}

void set_tasks(const Overrides& overrides, launchers::Resources& resources, Faults& faults) {
    const std::uint32_t nodes_before = resources.nodes;
    set_count(overrides.nodes, "-N", resources.nodes, faults);
    set_count(overrides.tasks_per_node, "--ntasks-per-node", resources.tasks_per_node, faults);
    set_count(overrides.cpus_per_task, "-c", resources.cpus_per_task, faults);
    std::uint32_t tasks = 0;
    set_count(overrides.tasks, "-n", tasks, faults);
    const std::uint64_t room = std::uint64_t{resources.nodes} * resources.tasks_per_node;
    if (std::max<std::uint64_t>(room, tasks) > launchers::kMostTasks) {
        faults.add(usage_fault(
            problem("tasks-exceed-machines",
                    fmt::format("{} tasks are asked for", std::max<std::uint64_t>(room, tasks))),
            "lower -N, -n or --ntasks-per-node: no machine has that number of cores"));
        return;
    }
    if (tasks == 0) {
        if (resources.nodes != nodes_before || !overrides.tasks_per_node.empty()) {
            resources.tasks = static_cast<std::uint32_t>(room);
        }
        return;
    }
    resources.tasks = tasks;
    if (overrides.tasks_per_node.empty()) {
        resources.tasks_per_node = (tasks + resources.nodes - 1) / resources.nodes;
    } else if (tasks > room) {
        faults.add(usage_fault(
            problem("tasks-exceed-nodes", "-n " + overrides.tasks + " is more than the nodes hold"),
            "-N times --ntasks-per-node must be at least -n"));
    }
}

/// sbatch's words for what a Job says under `after`.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kDependencies{
    {{"afterok", "ok"}, {"afterany", "any"}, {"afternotok", "failed"}, {"after", "started"}}};

void set_dependency(const std::string& text, launchers::Job& job, Faults& faults) {
    if (text.empty()) {
        return;
    }
    const auto row_of = [](std::string_view word) {
        return std::ranges::find_if(kDependencies,
                                    [&word](const auto& row) { return row.first == word; });
    };
    const auto refuse = [&](std::string_view what, const std::vector<std::string_view>& words) {
        const bool is_swapped = words.size() == 2 && row_of(words[1]) != kDependencies.end();
        faults.add(usage_fault(
            problem("dependency-malformed", "-d does not read '" + printable(what) + "'"),
            is_swapped ? "write `-d " + printable(words[1]) + ":" + printable(words[0]) + "`"
                       : "write -d afterok:ID, with the id of the job that comes before"));
    };
    job.after.clear();
    for (const auto& part : text::split(text, ',')) {
        const auto words = text::split(part, ':');
        const auto* type = row_of(words.front());
        if (type == kDependencies.end() || words.size() < 2 || contains(words, "")) {
            refuse(part, words);
            continue;
        }
        for (std::size_t index = 1; index < words.size(); ++index) {
            job.after.push_back({std::string(words[index]), std::string(type->second)});
        }
    }
}

void set_array(const std::optional<std::string>& text, launchers::Job& job, Faults& faults) {
    if (!text) {
        return;
    }
    const auto complaint = launchers::check_array(*text);
    if (!complaint.because.empty()) {
        Fault fault = usage_fault(
            problem("array-malformed", "--array does not read '" + printable(*text) + "'"),
            complaint.help);
        fault.because = complaint.because;
        faults.add(std::move(fault));
    }
    job.array = *text;
}

/// The rows of a packed sweep that run again.
void set_rows(const std::string& text, launchers::Job& job, Faults& faults) {
    if (text.empty()) {
        return;
    }
    const std::size_t count = job.sweep && job.sweep->pack > 0 ? job.sweep->rows.size() : 0;
    std::vector<std::uint32_t> numbers;
    bool are_rows = true; // each once, in their order: a record may be another user's
    for (const std::string_view word : text::split(text, ',')) {
        const std::int64_t number = text::number(word).value_or(-1);
        const std::int64_t least = numbers.empty() ? 0 : std::int64_t{numbers.back()} + 1;
        if (number < least || number >= static_cast<std::int64_t>(count)) {
            are_rows = false;
            break;
        }
        numbers.push_back(static_cast<std::uint32_t>(number));
    }
    if (!are_rows) {
        faults.add(
            job.fault_at("sweep",
                         problem("sweep-rows-missing", "the sweep has no rows " + printable(text)),
                         "its rows, or `pack`, are others than those of the job that runs "
                         "again",
                         "submit the Job as it is now"));
        return;
    }
    launchers::keep_rows(job, numbers);
}

/// Which fields are the command line's; tasks follow from what counts them.
void note_replaced(const Overrides& overrides, launchers::Job& job) {
    const std::string array = overrides.array.value_or("");
    struct Given {
        const std::string& value;
        const char* field;
        const char* option;
    };
    const Given given[] = {
        {overrides.nodes, "resources.tasks", "-N"},
        {overrides.tasks_per_node, "resources.tasks", "--ntasks-per-node"},
        {overrides.nodes, "resources.nodes", "-N"},
        {overrides.tasks, "resources.tasks", "-n"},
        {overrides.tasks, "resources.tasks-per-node", "-n"},
        {overrides.tasks_per_node, "resources.tasks-per-node", "--ntasks-per-node"},
        {overrides.cpus_per_task, "resources.cpus-per-task", "-c"},
        {overrides.time, "resources.time", "-t"},
        {overrides.queue, "queue", "-p"},
        {overrides.account, "account", "-A"},
        {overrides.name, "name", "-J"},
        {overrides.standard_output, "output.stdout", "--stdout"},
        {overrides.standard_error, "output.stderr", "--stderr"},
        {array, "array", "--array"},
        {overrides.dependency, "after", "-d"}};
    for (const auto& [value, field, option] : given) {
        if (!value.empty()) {
            job.replaced[field] = option; // the last one counts
        }
    }
}

void set_arguments(const Overrides& overrides, launchers::Job& job, Faults& faults) {
    if (overrides.arguments.empty()) {
        return;
    }
    if (takes_arguments(job)) {
        job.arguments = overrides.arguments;
        job.replaced["arguments"] = "the command line";
        return;
    }
    Fault fault = usage_fault(
        problem("word-too-many",
                "'" + printable(overrides.arguments.front()) + "' is one word too many"),
        help_with_arguments(job, overrides.arguments));
    fault.because = "a runscript and a `script` that one process reads have arguments";
    faults.add(std::move(fault));
}

} // namespace

void apply_overrides(const Overrides& overrides, launchers::Job& job, Faults& faults) {
    set_arguments(overrides, job, faults);
    set_tasks(overrides, job.resources, faults);
    if (!overrides.time.empty()) {
        const auto time = schedulers::slurm_time(overrides.time);
        if (time && time->count() > 0) {
            job.resources.time = *time;
        } else {
            faults.add(usage_fault(
                problem("time-value", "-t does not read '" + printable(overrides.time) + "'"),
                "write -t 30 for 30 minutes, or H:M:S or D-H:M:S"));
        }
    }
    if (job.resources.tasks % job.launch.ranks_multiple_of != 0) {
        faults.add(job.fault_at("launch.ranks-multiple-of",
                                problem("tasks-not-multiple",
                                        counted(job.resources.tasks, "task") +
                                            (job.resources.tasks == 1 ? " is" : " are") +
                                            " not a multiple of " +
                                            std::to_string(job.launch.ranks_multiple_of)),
                                "the program deals its work out in such groups",
                                "change -n, -N or --ntasks-per-node"));
    }
    const auto put = [](const std::string& from, std::string& into) {
        if (!from.empty()) {
            into = from;
        }
    };
    note_replaced(overrides, job);
    put(overrides.queue, job.queue);
    put(overrides.account, job.account);
    if (!overrides.name.empty() && !schedulers::is_job_name(overrides.name)) {
        Fault fault = usage_fault(
            problem("job-name-option", "-J: invalid job name '" + printable(overrides.name) + "'"),
            "write for example -J wheat-1");
        fault.because = schedulers::kJobNameRule;
        faults.add(std::move(fault));
    }
    put(overrides.name, job.name);
    put(overrides.standard_output, job.output.standard_output);
    put(overrides.standard_error, job.output.standard_error);
    if (!overrides.standard_output.empty()) {
        job.output.expanded_output.clear();
    }
    if (!overrides.standard_error.empty()) {
        job.output.expanded_error.clear();
    }
    set_array(overrides.array, job, faults);
    set_rows(overrides.rows, job, faults);
    set_dependency(overrides.dependency, job, faults);
    apply_options(overrides.options, job, faults);
    if (overrides.allow_root) {
        job.launch.allow_root = true;
    }
}

} // namespace cybele::submission
