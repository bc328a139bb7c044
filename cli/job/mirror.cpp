// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/mirror.hpp"

#include "cli/common/cli11.hpp"
#include "cli/job/context.hpp"
#include "cli/job/outcome.hpp"
#include "support/random.hpp"

#include <memory>

#include <fmt/format.h>

namespace cybele::cli {
namespace {

struct MirrorOptions {
    submission::MirrorFiles files;
    std::string identity;
    double longest_seconds = 0; ///< 0: the configuration's
    double grace_seconds = 60;
    bool prints_logs = false;
};

/// The same for each pod of one Kubernetes Job; without it every start is another job.
std::string identity_of(const Session& session, const MirrorOptions& options) {
    if (!options.identity.empty()) {
        return submission::uuid_of(options.identity);
    }
    const auto given = session.environment.get("CYBELECTL_UID");
    return given ? submission::uuid_of(*given) : random_uuid();
}

submission::FollowOptions
following(const Session& session, const MirrorOptions& options, const submission::Mirror& mirror) {
    submission::FollowOptions how = follow_options(session, {});
    constexpr double kThousand = 1000.0;
    constexpr std::chrono::seconds kReserve{5}; // to tell it, before the pod is killed
    how.longest = options.longest_seconds > 0 ? std::chrono::milliseconds(static_cast<std::int64_t>(
                                                    options.longest_seconds * kThousand))
                                              : mirror.longest;
    how.cancels_on_signal = true;
    how.has_logs = options.prints_logs;
    how.longest_cancel =
        std::chrono::milliseconds(static_cast<std::int64_t>(options.grace_seconds * kThousand)) -
        kReserve;
    how.on_change = [&session](const submission::Entry& entry) {
        const std::string line = fmt::format("job {} {}{}{}",
                                             entry.id,
                                             submission::state_text(entry.state),
                                             entry.reason.empty() ? "" : ": ",
                                             entry.reason);
        tell(session, line);
        session.doing(line, Wait::kForOthers);
    };
    return how;
}

Result<int> mirror(Session& session, const MirrorOptions& options) {
    CYBELE_TRY(const submission::Mirror mirror, submission::read_mirror(options.files));
    CYBELE_TRY(submission::Journal journal, submission::Journal::in_memory());
    submission::JobContext context(std::move(journal), session.environment, Session::clock);
    context.program = session.program;
    const SignalWatch signals;
    CYBELE_TRY(const submission::Submitted submitted,
               submission::begin_mirror(
                   context,
                   mirror,
                   identity_of(session, options),
                   [&session](const std::string& word) { tell(session, "cybelectl: " + word); },
                   signals));
    if (submitted.was_there) {
        tell(session, "cybelectl: the job exists already; following it");
    }
    fmt::print(stderr, "{}\n", submitted.entry.id);
    session.doing("following job " + submitted.entry.id, Wait::kForOthers);
    submission::FollowOptions how = following(session, options, mirror);
    how.is_cancelling = submitted.cancel_by != 0;
    CYBELE_TRY(submission::Followed followed,
               submission::follow(context, {submitted.entry}, how, signals));
    if (followed.asked_by == 0) {
        followed.asked_by = submitted.cancel_by;
    }
    if (followed.left_by != 0) {
        tell(session,
             "cybelectl: the scheduler has not said yet that the job is cancelled; it was asked");
    } else {
        tell_outcome(session, end_line(followed.entries.front()));
    }
    return code_of(followed);
}

} // namespace

void install_job_mirror(CLI::App& job, Session& session) {
    auto options = std::make_shared<MirrorOptions>();
    CLI::App* verb = add_verb(
        job,
        "mirror",
        "Run a batch job in the place of this process, in a Kubernetes pod (for hpc-connector).",
        {"cybelectl job mirror --backend /etc/cybelectl/backend --job /etc/cybelectl/job "
         "--print-logs",
         "cybelectl job mirror --backend backend --job job --uid nightly-7"});
    verb->add_option("--backend", options->files.backend, "folder with `name` and `configuration`")
        ->required()
        ->type_name("DIR");
    verb->add_option("--job", options->files.job, "folder with `job` and `monitoring_period`")
        ->required()
        ->type_name("DIR");
    verb->add_option(
            "--uid", options->identity, "user id of the job's owner (default: CYBELECTL_UID)")
        ->type_name("TEXT");
    verb->add_option("--monitoring-period",
                     options->longest_seconds,
                     "maximum polling interval, in seconds (default: the file's, or 30)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 3600.0));
    verb->add_option("--grace",
                     options->grace_seconds,
                     "the pod's grace period, in seconds; a cancelled job is waited for until five "
                     "seconds before its end (default: 60)")
        ->type_name("SECONDS")
        ->check(CLI::Range(6.0, 86'400.0));
    verb->add_flag("--print-logs", options->prints_logs, "show what the job writes");
    verb->callback([&session, options] {
        session.refuses_with_255 = true;
        session.action = [&session, options] { return mirror(session, *options); };
    });
}

} // namespace cybele::cli
