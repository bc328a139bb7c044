// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "submission/follow/poll.hpp"
#include "submission/submit/choose_connection.hpp"
#include "submission/submit/image.hpp"
#include "submission/submit/job_input.hpp"
#include "submission/submit/stage.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/signals.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// A submission in six stages. Each is a function from the plain value of the stage before it, so
// that none asks again for what an earlier one found:
//
//   read      JobRequest  -> JobInput     read_job_input(): the documents, options and image facts
//   resolve   JobInput    -> ResolvedJob  resolve_job(): the connection, the jobs of `after`
//   check     ResolvedJob -> CheckedJob   check_job(): everything that would fail on this machine
//   build     CheckedJob  -> BuiltJob     build_job(): the image is there, verified and known
//   render    BuiltJob    -> RenderedJob  render_job(): the script; pure
//   hand over RenderedJob -> Submitted    bring_inputs(), then submit_once()
//
// json_of() (job_json.hpp) prints each of the values. A batch script of the user's own becomes a
// RenderedJob by ready_script() (own_script.hpp).

namespace cybele::submission {

/// It is known how the batch system is reached and which jobs come before this one.
struct ResolvedJob {
    JobInput input; ///< `after` holds native ids
    Connection connection;
};

/// Nothing is known that would make it fail; nothing was built, copied or written.
struct CheckedJob {
    JobInput input;
    Connection connection;
};

/// The image exists where it can be, and the input names it as the script will.
struct BuiltJob {
    JobInput input;
    Connection connection;
    TransferSet transfers; ///< files that the job needs where it runs
    std::vector<Fault> notes;
};

/// All that is left is to copy files and to ask the scheduler.
struct RenderedJob {
    JobInput input;
    Connection connection;
    TransferSet transfers;
    std::string script;
    std::optional<OwnScript> own; ///< set: the script is the user's, unchanged
    std::vector<Fault> notes;
};

[[nodiscard]] Result<ResolvedJob>
resolve_job(JobInput input, const ConnectionChoice& choice, const Environment& environment);

/// The connection, the back end, folders, keys, and what a job of this machine would miss when it
/// runs. `now` is Unix seconds.
[[nodiscard]] Result<CheckedJob>
check_job(ResolvedJob resolved, const Environment& environment, std::int64_t now);

/// Builds the Job's image where it names a Recipe whose image is missing or not current, or pulls
/// it where it is of a registry or a library; verifies it where that is asked, and finds its
/// digest. An image of the store is kept from gc until the job has surely ended.
[[nodiscard]] Result<BuiltJob>
build_job(CheckedJob checked, const ImageRequest& request, const Environment& environment);

/// The same value without building, pulling or checking anything: for `--dry-run`.
[[nodiscard]] Result<BuiltJob> plan_job(ResolvedJob resolved, const Environment& environment);

/// A pure function: the same job gives the same bytes.
[[nodiscard]] Result<RenderedJob> render_job(BuiltJob built);

/// Copies the job's inputs, and behind ssh its image, to where it runs; a line about it to
/// `on_word`.
[[nodiscard]] Result<void>
bring_inputs(const RenderedJob& job, const OnWord& on_word, const Environment& environment);

struct HandOverRequest {
    std::filesystem::path program_folder; ///< of this program: first in the job's PATH
    std::string asked;                    ///< request_text(), so that it can be submitted again
    OnWord on_word;
};

struct Submitted {
    Entry entry;
    bool was_there =
        false;         ///< an earlier submission, never acknowledged, had reached the scheduler
    int cancel_by = 0; ///< the signal that came before the id: the job is to be cancelled
};

/// Submits exactly once: the intent is in the journal before the scheduler is asked, the id after
/// it. A submission of the same script from the same folder whose client died before it had the id
/// is looked for first, and taken up instead. Where the answer is unclear the scheduler is searched
/// for the job; never is it asked a second time. A refusal is kExecution with the scheduler's own
/// words; a scheduler that cannot be reached is kEnvironment.
[[nodiscard]] Result<Submitted> submit_once(JobContext& context,
                                            const RenderedJob& job,
                                            const HandOverRequest& request,
                                            const Environment& environment,
                                            const SignalWatch& signals);

/// The last steps of it: the entry into the journal, the job to the scheduler, its id into the
/// journal.
[[nodiscard]] Result<Submitted> hand_over(JobContext& context,
                                          Submitted submitted,
                                          const Submission& submission,
                                          const OnWord& on_word,
                                          const SignalWatch& signals);

} // namespace cybele::submission
