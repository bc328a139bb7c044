// SPDX-License-Identifier: Apache-2.0
#include "cli/job/table.hpp"

#include "cli/common/date_text.hpp"
#include "submission/journal/array.hpp"
#include "submission/submit/runs.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace cybele::cli {

std::string clock_text(std::int64_t seconds) {
    constexpr std::int64_t kMinute = 60;
    constexpr std::int64_t kHour = 60 * kMinute;
    constexpr std::int64_t kDay = 24 * kHour;
    const std::int64_t days = seconds / kDay;
    const std::int64_t hours = seconds % kDay / kHour;
    const std::int64_t minutes = seconds % kHour / kMinute;
    const std::int64_t rest = seconds % kMinute;
    if (days > 0) {
        return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, rest);
    }
    if (hours > 0) {
        return fmt::format("{}:{:02}:{:02}", hours, minutes, rest);
    }
    return fmt::format("{}:{:02}", minutes, rest);
}

std::string time_of(const submission::Entry& entry, std::int64_t now) {
    if (entry.started == 0) {
        return "0:00";
    }
    return clock_text(
        std::max<std::int64_t>((entry.ended != 0 ? entry.ended : now) - entry.started, 0));
}

std::string reason_of(const submission::Entry& entry) {
    if (entry.state == submission::State::kNotSubmitted) {
        return entry.reason; // there was no program to have a code
    }
    if (entry.ended != 0) {
        return entry.state == submission::State::kDone
                   ? std::string()
                   : fmt::format("exit {}{}{}",
                                 entry.shell_code(),
                                 entry.reason.empty() ? "" : ", ",
                                 entry.reason);
    }
    if (entry.expected == 0) {
        return entry.reason;
    }
    return fmt::format("{}{}starts at {}",
                       entry.reason,
                       entry.reason.empty() ? "" : ", ",
                       date_text(entry.expected));
}

namespace {

constexpr std::size_t kShortId = 8; ///< characters of a UUID that stand for it

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text,
                               [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

std::string_view short_id(const submission::Entry& entry) {
    return entry.id.empty() ? std::string_view(entry.uuid).substr(0, kShortId)
                            : std::string_view(entry.id);
}

struct Column {
    std::size_t width;
    bool is_right = false;
};
constexpr Column kJobColumns[] = {{12}, {20}, {12}, {13}, {11, true}, {11, true}, {5, true}, {0}};
constexpr Column kElementColumns[] = {{16}, {20}, {13}, {4, true}, {11, true}, {12}, {0}};

/// Adds a line; what is longer than its column moves those after it.
template <std::size_t kCount>
void add_row(std::string& table,
             const Column (&columns)[kCount],
             const std::array<std::string_view, kCount>& cells) {
    for (std::size_t at = 0; at < kCount; ++at) {
        const auto [width, is_right] = columns[at];
        const std::string_view cell = cells[at];
        const std::string padding(width - std::min(width, cell.size()), ' ');
        table += at == 0 ? "" : " ";
        if (!is_ascii(cell)) { // some characters are two columns wide
            fmt::format_to(std::back_inserter(table), "{:<{}}", cell, width);
        } else if (is_right) {
            table.append(padding).append(cell);
        } else {
            table.append(cell).append(padding);
        }
    }
    table += '\n';
}

} // namespace

std::string table_of(const std::vector<submission::Entry>& entries, std::int64_t now) {
    std::string table;
    add_row(table,
            kJobColumns,
            {"ID", "NAME", "SCHEDULER", "STATE", "TIME", "LIMIT", "NODES", "REASON"});
    for (const submission::Entry& entry : entries) {
        add_row(table,
                kJobColumns,
                {short_id(entry),
                 entry.name,
                 entry.scheduler,
                 submission::state_text(entry.state),
                 time_of(entry, now),
                 entry.time_limit == 0 ? "-" : clock_text(entry.time_limit),
                 std::to_string(entry.nodes),
                 printable(reason_of(entry))});
    }
    return table;
}

std::string table_of_elements(const std::vector<submission::Entry>& elements, std::int64_t now) {
    std::string table;
    add_row(table, kElementColumns, {"ID", "NAME", "STATE", "EXIT", "TIME", "NODE", "OUTPUT"});
    for (const submission::Entry& element : elements) {
        add_row(table,
                kElementColumns,
                {short_id(element),
                 element.name,
                 submission::state_text(element.state),
                 element.ended == 0 ? "-" : std::to_string(element.shell_code()),
                 time_of(element, now),
                 element.node.empty() ? "-" : printable(element.node),
                 element.standard_output.empty() ? "-" : printable(element.standard_output)});
    }
    return table;
}

Result<std::vector<submission::Entry>> in_elements(const Session& session,
                                                   submission::JobContext& context,
                                                   const std::vector<submission::Entry>& entries,
                                                   bool is_cached) {
    std::vector<submission::Entry> elements;
    std::vector<submission::Entry> unknown;
    for (const submission::Entry& entry : entries) {
        for (submission::Entry& element : submission::elements_of(entry)) {
            const bool is_unknown = entry.ended != 0 && element.ended == 0;
            (is_unknown ? unknown : elements).push_back(std::move(element));
        }
    }
    if (!is_cached) {
        CYBELE_CHECK(refresh(session, context, unknown));
    }
    elements.insert(elements.end(), unknown.begin(), unknown.end());
    std::stable_sort(elements.begin(), elements.end(), [](const auto& one, const auto& other) {
        return std::tie(one.asked, one.uuid, one.index) <
               std::tie(other.asked, other.uuid, other.index);
    });
    return elements;
}

Result<void> refresh(const Session& session,
                     submission::JobContext& context,
                     std::vector<submission::Entry>& entries) {
    for (submission::Entry& entry : entries) {
        if (entry.state == submission::State::kSubmitting) {
            (void)submission::resolve(context, entry);
        }
    }
    CYBELE_TRY(const submission::Round round, submission::ask(context, entries));
    if (round.failure) {
        Fault fault = round.failure->faults().front();
        fault.is_warning = true;
        fault.message += "; what it said last is shown";
        session.note({fault});
    }
    return {};
}

Result<std::vector<submission::Entry>> named(const Session& session,
                                             submission::JobContext& context,
                                             const std::vector<std::string>& names) {
    std::vector<submission::Entry> entries;
    std::vector<std::pair<std::size_t, submission::Entry>>
        rows; // what is known of one is its record
    for (const std::string& name : names) {
        CYBELE_TRY(auto row, submission::find_sweep_row(context.journal(), name));
        if (row) {
            rows.emplace_back(entries.size() + rows.size(), std::move(*row));
            continue;
        }
        CYBELE_TRY(submission::Entry entry, submission::find_job(context.journal(), name));
        entries.push_back(std::move(entry));
    }
    CYBELE_CHECK(refresh(session, context, entries));
    for (auto& [place, row] : rows) {
        entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(place), std::move(row));
    }
    return entries;
}

} // namespace cybele::cli
