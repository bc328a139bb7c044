// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/job/context.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cybele::cli {

/// A span of time as Slurm writes it: `1-02:03:04`, `2:03:04`, `3:04`.
[[nodiscard]] std::string clock_text(std::int64_t seconds);

/// How long the job has run, or ran; `now` is Unix seconds.
[[nodiscard]] std::string time_of(const submission::Entry& entry, std::int64_t now);

/// Why the job waits and when it is expected to start, or how it ended.
[[nodiscard]] std::string reason_of(const submission::Entry& entry);

/// One line a job, as squeue.
[[nodiscard]] std::string table_of(const std::vector<submission::Entry>& entries, std::int64_t now);

/// One line per element: state, exit code, node and output.
[[nodiscard]] std::string table_of_elements(const std::vector<submission::Entry>& elements,
                                            std::int64_t now);

/// The jobs as their elements, a job that is not an array as it is. Elements of which the journal
/// keeps nothing, as of one that an earlier version wrote, are asked for unless `is_cached`.
[[nodiscard]] Result<std::vector<submission::Entry>>
in_elements(const Session& session,
            submission::JobContext& context,
            const std::vector<submission::Entry>& entries,
            bool is_cached = false);

/// Takes up submissions that were not acknowledged, and asks how the jobs are. A scheduler that
/// does not answer leaves what was known.
[[nodiscard]] Result<void> refresh(const Session& session,
                                   submission::JobContext& context,
                                   std::vector<submission::Entry>& entries);

/// The jobs by their names, refreshed.
[[nodiscard]] Result<std::vector<submission::Entry>> named(const Session& session,
                                                           submission::JobContext& context,
                                                           const std::vector<std::string>& names);

} // namespace cybele::cli
