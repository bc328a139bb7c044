// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/image_build.hpp"
#include "registry/oci/images.hpp"
#include "submission/backends/backend.hpp"
#include "submission/follow/poll.hpp"
#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"
#include "support/signals.hpp"

#include <functional>
#include <optional>
#include <string>

namespace cybele::submission {

using OnWord = std::function<void(const std::string&)>; ///< what a person should know meanwhile

struct SubmitRequest {
    JobInput input;              ///< the Job as it was read
    registry::StoreFolder store; ///< where images `store:…` lie
    std::string login;           ///< as backends/way.hpp writes it; empty: the Site's
    std::string token_command;   ///< of a service; empty: the Site's
    const registry::Transport* transport = nullptr; ///< to registries; unset: none is asked
    pipeline::ImageBuild build;           ///< how an image is built where the Job names a Recipe
    bool builds = true;                   ///< whether one that is missing or not current is built
    std::int64_t clock = 0;               ///< Unix seconds; keeps an image of the store from gc
    std::filesystem::path program_folder; ///< of this program: first in the job's PATH
    std::function<void(const std::vector<Fault>&)> on_notes;
    OnWord on_word;
    std::string asked = {}; ///< request_text(), kept so that the job can be submitted again
};

/// How a Site is reached, as backends/way.hpp writes it; "": by the commands of this machine. A
/// Site's `token-command` counts only from a file that nobody else can have written (kEnvironment),
/// unless the command line gives one.
[[nodiscard]] Result<std::string> login_of(const JobInput& input, bool has_command = false);

/// A Job that is ready to be submitted.
struct ReadyJob {
    JobInput input;
    std::string script;
    std::string login;            ///< as asked, else the Site's; empty: this machine
    std::optional<OwnScript> own; ///< set: the script is the user's, as it is
};

/// Checks the Job and renders its script; nothing is built or written.
[[nodiscard]] Result<ReadyJob> render_job(const SubmitRequest& request,
                                          const Environment& environment);

/// The same, after building the Job's image where it names a Recipe whose image is missing or not
/// current (jobs/image), or pulling it where it is of a registry or a library, and verifying it
/// where that is asked; last, when all else is right, its inputs and behind ssh its image are
/// copied to where it runs (jobs/staging).
[[nodiscard]] Result<ReadyJob> ready_job(const SubmitRequest& request,
                                         const Environment& environment);

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
                                            const ReadyJob& ready,
                                            const SubmitRequest& request,
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
