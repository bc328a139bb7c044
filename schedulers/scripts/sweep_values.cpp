// SPDX-License-Identifier: Apache-2.0
// The rows of a sweep: values of each, and how those of one element run side by side.
#include "schedulers/scripts/values.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

using launchers::Job;
using launchers::LaunchKind;
using launchers::Sweep;
using templates::Value;
using templates::Values;

/// One variable per value: the positional parameters of a function that has chosen the row.
std::vector<std::string> assignments(const Sweep& sweep) {
    std::vector<std::string> words;
    words.reserve(sweep.names.size());
    for (std::size_t at = 0; at < sweep.names.size(); ++at) {
        words.push_back(
            fmt::format("{}=\"${{{}}}\"", launchers::variable_of_sweep(sweep.names[at]), at + 1));
    }
    return words;
}

void check_pack(const Rendering& rendering) {
    const Job& job = *rendering.input.job;
    const bool is_one =
        job.launch.kind == LaunchKind::kSerial || job.launch.kind == LaunchKind::kOpenmp;
    if (!is_one) {
        rendering.faults.add(job.fault_at(
            "sweep.pack",
            problem("sweep-pack-launch",
                    fmt::format("`pack` with launch `{}`", launchers::kind_text(job.launch.kind))),
            "rows that share an element are one process each",
            "write `launch: serial` or `launch: openmp`, or remove `pack`"));
    }
    for (const auto& [field, pattern] : {std::pair("output.stdout", job.output.standard_output),
                                         std::pair("output.stderr", job.output.standard_error)}) {
        if (!job.array.empty() && has_name_of_log(rendering, pattern)) {
            rendering.faults.add(job.fault_at(
                field,
                problem("row-output-of-scheduler",
                        fmt::format("{} writes '{}' itself", rendering.dialect.name, pattern)),
                "at the end of an element its own file would replace that of a row",
                "write another name, such as '%x-%j.out'"));
        }
    }
}

} // namespace

/// The variable of an element's index that the script reads and this batch system does not set. One
/// at most, and none if it reads the batch system's own: by these a script may tell where it runs.
std::string foreign_index(const Rendering& rendering) {
    struct IndexName {
        std::string_view dialect;
        std::string_view name;
    };
    constexpr std::array kIndexNames{IndexName{"slurm", "SLURM_ARRAY_TASK_ID"},
                                     IndexName{"torque", "PBS_ARRAYID"},
                                     IndexName{"pbspro", "PBS_ARRAY_INDEX"}};
    const Job& job = *rendering.input.job;
    const std::string_view dialect = rendering.dialect.name == "slurm-torque"
                                         ? std::string_view("slurm")
                                         : std::string_view(rendering.dialect.name);
    std::string assignment;
    for (const IndexName& row : kIndexNames) {
        const auto names_it = [&row](const launchers::Setup& setup) {
            return setup.run.find(row.name) != std::string::npos;
        };
        const bool is_read = job.script.find(row.name) != std::string::npos ||
                             std::ranges::any_of(job.setup, names_it);
        if (is_read && row.dialect == dialect) {
            return {};
        }
        if (!job.array.empty() && is_read && assignment.empty()) {
            assignment = fmt::format("{}=\"$array_index\"", row.name);
        }
    }
    return assignment;
}

void add_sweep(const Rendering& rendering, Values& values) {
    const Job& job = *rendering.input.job;
    const std::string index = foreign_index(rendering);
    values["foreign-index"] = index.empty() ? Value() : Value(Value::Verbatim{index});
    values["has-sweep"] = job.sweep.has_value();
    values["is-packed"] = job.sweep && job.sweep->pack > 0;
    if (!job.sweep) {
        return;
    }
    const Sweep& sweep = *job.sweep;
    std::vector<Values> rows;
    rows.reserve(sweep.rows.size());
    for (std::size_t number = 0; number < sweep.rows.size(); ++number) {
        rows.push_back({{"number", Value(std::uint64_t{sweep.number_at(number)})},
                        {"values", Value(Value::Verbatim{shell_join(sweep.rows[number])})}});
    }
    std::vector<std::string> numbers;
    numbers.reserve(sweep.numbers.size());
    for (const std::uint32_t number : sweep.numbers) {
        numbers.push_back(std::to_string(number));
    }
    values["row-numbers"] = Value(Value::Verbatim{shell_join(numbers)});
    values["has-row-numbers"] = !numbers.empty();
    values["rows"] = std::move(rows);
    values["row-count"] = std::uint64_t{sweep.rows.size()};
    values["row-variables"] = lines_of_words(assignments(sweep), 11);
    if (sweep.pack == 0) {
        return;
    }
    check_pack(rendering);
    const std::uint64_t slots = job.resources.tasks_per_node;
    values["pack"] = std::uint64_t{sweep.pack};
    values["row-slots"] = slots;
    values["slots-cpus"] = slots * rendering.plan.cpus_per_task;
    const auto& output = job.output;
    const std::string name = pattern_expression(rendering, output.standard_output, true);
    values["row-output"] = Value(Value::Verbatim{name});
    values["row-joins"] = output.standard_error == output.standard_output;
    values["row-error"] =
        Value(Value::Verbatim{pattern_expression(rendering, output.standard_error, true)});
}

} // namespace cybele::schedulers
