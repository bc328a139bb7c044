// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "submission/follow/follow.hpp"
#include "submission/submit/differences.hpp"
#include "submission/submit/usage.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace cybele::cli {

/// Of the option that names a job.
inline constexpr const char* kIdHelp = "native id (ID_INDEX of an array's element), or UUID";

/// How jobs are followed; the options that `submit`, `job wait` and `job attach` share.
struct FollowChoice {
    double longest_seconds = 30;
};
void add_follow_options(CLI::App& verb, FollowChoice& choice);

[[nodiscard]] submission::FollowOptions follow_options(const Session& session,
                                                       const FollowChoice& choice);

/// submission::follow(), with a line on what is waited for where nothing else is printed.
[[nodiscard]] Result<submission::Followed> follow_jobs(const Session& session,
                                                       submission::JobContext& context,
                                                       std::vector<submission::Entry> entries,
                                                       submission::FollowOptions how,
                                                       const SignalWatch& signals);

[[nodiscard]] Result<submission::JobContext> open_context(const Session& session);

/// A line on standard error, unless --quiet.
void tell(const Session& session, const std::string& line);

/// What one job, or the first of several that did not end well, gives as exit code; with
/// `asked_by`, a cancelled job gives 128 + that signal.
[[nodiscard]] int code_of(const submission::Followed& followed);

/// The jobs as the published schema of `--format json` has them; an array with its elements, where
/// they are not listed one by one.
[[nodiscard]] std::string entries_json(const std::vector<submission::Entry>& entries,
                                       bool has_elements = true);

/// A job that was submitted again, and before it what of it is another than before.
[[nodiscard]] std::string repeated_json(const std::vector<submission::Entry>& entries,
                                        const std::vector<submission::Difference>& differences);

/// The same, each with what it asked for and what it used.
[[nodiscard]] std::string details_json(const std::vector<submission::Entry>& entries,
                                       const std::vector<submission::Consumption>& consumptions);

/// Below `job`.
void install_job_list(CLI::App& job, Session& session);
void install_job_show(CLI::App& job, Session& session);
void install_job_follow(CLI::App& job, Session& session);
void install_job_hold(CLI::App& job, Session& session);
void install_job_mirror(CLI::App& job, Session& session);
void install_job_logs(CLI::App& job, Session& session);
void install_job_collect(CLI::App& job, Session& session);
void install_job_results(CLI::App& job, Session& session);

} // namespace cybele::cli
