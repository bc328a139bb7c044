// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "submission/journal/entry.hpp"
#include "submission/submit/collect.hpp"

#include <string>
#include <vector>

/// The one line at the end of `submit --wait`, `job list` and `job collect`: what ran, where its
/// output is, what failed.
namespace cybele::cli {

/// `job 12 (demo) failed: exit code 3; output in …, errors in …`
[[nodiscard]] std::string end_line(const submission::Entry& entry);

/// `3 jobs: 1 running, 2 failed; errors of job 12 (demo) in …`; of elements likewise.
[[nodiscard]] std::string list_line(const std::vector<submission::Entry>& entries,
                                    bool has_elements = false);

/// `job 12 (demo) done: exit code 0; 3 files (1.2 MB) and their record in results`
[[nodiscard]] std::string collect_line(const submission::Entry& entry,
                                       const submission::Collected& collected);

/// Such a line on standard error: not with -q, and not where messages are JSON.
void tell_outcome(const Session& session, const std::string& line);

} // namespace cybele::cli
