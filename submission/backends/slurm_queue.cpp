// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/slurm_queue.hpp"

#include "support/text.hpp"

#include <array>

namespace cybele::submission {
namespace {

constexpr std::string_view kCommentMark = "cybelectl:"; ///< in front of the UUID

enum QueueColumn {
    kQueuedId,
    kOwner,
    kWord,
    kRestarts,
    kExit,
    kStart,
    kEnd,
    kWhy,
    kComment,
    kColumnsOfAll
};

struct Width {
    std::string_view field; ///< as squeue(1) calls it
    std::size_t width;
};
// Wider than what each may hold; of a comment only the first characters count.
constexpr std::array<Width, kColumnsOfAll> kWidths{{{"JobArrayID", 24},
                                                    {"UserName", 32},
                                                    {"State", 14},
                                                    {"RestartCnt", 6},
                                                    {"exit_code", 8},
                                                    {"StartTime", 20},
                                                    {"EndTime", 20},
                                                    {"Reason", 160},
                                                    {"Comment", 56}}};

using Columns = std::array<std::string_view, kColumnsOfAll>;

/// Every column but the last ends at its place.
bool split_columns(std::string_view line, Columns& columns) {
    std::size_t at = 0;
    for (std::size_t column = 0; column < kComment; ++column) {
        const std::size_t width = kWidths[column].width;
        if (line.size() <= at + width || line[at + width] != '|') {
            return false;
        }
        columns[column] = text::trimmed(line.substr(at, width));
        at += width + 1;
    }
    std::string_view comment = line.substr(at);
    if (comment.ends_with('|')) {
        comment.remove_suffix(1);
    }
    columns[kComment] = text::trimmed(comment);
    return !columns[kQueuedId].empty() && !columns[kOwner].empty();
}

/// `exit_code` is what wait(2) gives.
void read_wait_status(std::string_view status, JobStatus& into) {
    constexpr int kSignalBits = 0x7f;
    constexpr int kCodeShift = 8;
    const auto number = text::number(status);
    if (!number || !is_over(into.state)) {
        return;
    }
    into.signal = *number & kSignalBits;
    if (into.signal == 0 && (into.state == State::kDone || into.state == State::kFailed)) {
        into.code = *number >> kCodeShift;
    }
}

std::int64_t seconds_of(std::string_view column) {
    return text::number(column).value_or(0); // N/A while it has none
}

JobStatus status_of_columns(const Columns& columns) {
    JobStatus seen;
    seen.id = columns[kQueuedId];
    seen.owner = columns[kOwner];
    seen.native = columns[kWord];
    // A word that is not known belongs to a job that is listed, so it lives.
    seen.state = state_of_slurm(columns[kWord]).value_or(State::kRunning);
    seen.reason = columns[kWhy] == "None" ? "" : std::string(columns[kWhy]);
    if (seen.reason.size() == kWidths[kWhy].width) {
        seen.reason += "..."; // squeue cut it
    }
    seen.restarts = text::number(columns[kRestarts]).value_or(0);
    if (seen.state == State::kPending && seen.reason.starts_with("JobHeld")) {
        seen.state = State::kHeld;
        seen.is_held_by_admin = seen.reason == "JobHeldAdmin";
    }
    const bool has_begun = seen.state != State::kPending && seen.state != State::kHeld;
    seen.began = has_begun ? seconds_of(columns[kStart]) : 0; // else estimated
    seen.ended = is_over(seen.state) ? seconds_of(columns[kEnd]) : 0;
    read_wait_status(columns[kExit], seen);
    if (columns[kComment].starts_with(kCommentMark)) {
        seen.uuid = columns[kComment].substr(kCommentMark.size());
    }
    return seen;
}

} // namespace

std::string squeue_columns_of_all() {
    std::string columns;
    for (const Width& column : kWidths) {
        columns += (columns.empty() ? "" : ",") + std::string(column.field) + ":" +
                   std::to_string(column.width) + "|";
    }
    return columns;
}

std::vector<JobStatus> read_squeue_of_all(std::string_view text) {
    std::vector<JobStatus> found;
    for (const std::string_view line : text::split(text, '\n')) {
        Columns columns;
        if (split_columns(line, columns)) {
            found.push_back(status_of_columns(columns));
        }
    }
    return found;
}

} // namespace cybele::submission
