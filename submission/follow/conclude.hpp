// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "submission/journal/entry.hpp"
#include "submission/records/record.hpp"

#include <cstdint>
#include <optional>

namespace cybele::submission {

/// How long a job that nobody lists, and that left no record, is waited for before it is called
/// lost: a shared file system may show the record minutes later.
constexpr std::int64_t kPatienceSeconds = 300;
/// How long a script that was told to end is waited for to be seen ended by the scheduler, which
/// alone knows why: time limit, preemption or a user's word.
constexpr std::int64_t kSettleSeconds = 60;

/// What is known of a job at one moment. It points into the scheduler's answers.
struct Evidence {
    std::optional<ExitRecord> record;     ///< the script's own word: the first witness
    const JobStatus* seen = nullptr;      ///< the queue's
    const JobStatus* accounted = nullptr; ///< the accounting's, where it was asked
    bool was_asked = false;               ///< the queue gave an answer; else `seen` says nothing
    bool is_unknown = false;              ///< the queue's answer is that it knows no such job
    bool has_begun = true;                ///< its script ran, or nothing was asked about that
    std::int64_t now = 0;                 ///< Unix seconds
    std::int64_t patience = kPatienceSeconds;
};

/// Lays the evidence over what was known; a pure function. An entry with `ended` is final.
void conclude(const Evidence& evidence, Entry& entry);

/// Whether the second witness is needed: the job ended or vanished, and nothing says how.
[[nodiscard]] bool needs_inquiry(const Evidence& evidence, const Entry& entry);

} // namespace cybele::submission
