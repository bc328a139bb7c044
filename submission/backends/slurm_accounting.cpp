// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/slurm_accounting.hpp"

#include "submission/backends/command_backend.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cybele::submission {
namespace {

enum Column { kJob, kElapsed, kCpu, kMemory, kTasks, kCores, kAsked, kNodes, kCount };

std::optional<double> decimal_of(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole = error == std::errc() && end == text.data() + text.size();
    return is_whole && value >= 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// What was asked for, of all nodes or cores of the job.
std::optional<std::uint64_t> asked_of(std::string_view text, int nodes, int cores) {
    std::uint64_t times = 1;
    if (text.ends_with('n') || text.ends_with('c')) {
        times = static_cast<std::uint64_t>(std::max(text.back() == 'n' ? nodes : cores, 1));
        text.remove_suffix(1);
    }
    const auto bytes = bytes_of_slurm(text);
    return bytes ? std::optional(*bytes * times) : std::nullopt;
}

} // namespace

std::string sacct_columns() {
    return "JobID,ElapsedRaw,TotalCPU,MaxRSS,NTasks,AllocCPUS,ReqMem,NNodes";
}

std::optional<std::int64_t> milliseconds_of_slurm(std::string_view text) {
    constexpr double kMinute = 60;
    constexpr double kHours = 24;
    constexpr double kThousand = 1000;
    double days = 0;
    if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
        const auto before = decimal_of(text.substr(0, dash));
        if (!before) {
            return std::nullopt;
        }
        days = *before;
        text.remove_prefix(dash + 1);
    }
    const auto parts = text::split(text, ':');
    double seconds = 0;
    for (const std::string_view part : parts) {
        const auto value = decimal_of(part);
        if (!value || parts.size() > 3) {
            return std::nullopt;
        }
        seconds = seconds * kMinute + *value;
    }
    seconds += days * kHours * kMinute * kMinute;
    return std::llround(seconds * kThousand);
}

std::optional<std::uint64_t> bytes_of_slurm(std::string_view text) {
    constexpr std::string_view kUnits = "KMGTP";
    constexpr double kStep = 1024;
    double times = 1;
    if (!text.empty()) {
        const std::size_t unit = kUnits.find(text.back());
        if (unit != std::string_view::npos) {
            times = std::pow(kStep, static_cast<double>(unit + 1));
            text.remove_suffix(1);
        }
    }
    const auto value = decimal_of(text);
    return value ? std::optional(static_cast<std::uint64_t>(std::llround(*value * times)))
                 : std::nullopt;
}

std::vector<AccountedUse> read_sacct(std::string_view text) {
    std::vector<AccountedUse> jobs;
    for (const std::string_view line : text::split(text, '\n')) {
        const auto columns = text::split(line, '|');
        if (columns.size() != kCount) {
            continue;
        }
        const std::string_view id = columns[kJob].substr(0, columns[kJob].find('.'));
        const bool is_step = id.size() != columns[kJob].size();
        if (!is_step) {
            AccountedUse spent;
            spent.id = id;
            spent.seconds = text::number(columns[kElapsed]).value_or(0);
            spent.cores = text::number(columns[kCores]).value_or(0);
            const auto used = milliseconds_of_slurm(columns[kCpu]);
            // Without a plugin that measures, Slurm shows 0.
            spent.cpu_milliseconds = used.value_or(0) > 0 ? used : std::nullopt;
            spent.memory_asked_bytes = asked_of(columns[kAsked],
                                                text::number(columns[kNodes]).value_or(1),
                                                text::number(columns[kCores]).value_or(1));
            jobs.push_back(std::move(spent));
        } else if (!jobs.empty() && jobs.back().id == id) {
            const auto most = bytes_of_slurm(columns[kMemory]);
            const auto tasks =
                static_cast<std::uint64_t>(std::max(text::number(columns[kTasks]).value_or(1), 1));
            if (most.value_or(0) > 0) {
                jobs.back().memory_bytes =
                    std::max(jobs.back().memory_bytes.value_or(0), most.value_or(0) * tasks);
            }
        }
    }
    return jobs;
}

} // namespace cybele::submission
