// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/job/context.hpp"
#include "cli/job/outcome.hpp"
#include "submission/follow/attach.hpp"
#include "submission/journal/array.hpp"

#include <memory>

namespace cybele::cli {
namespace {

struct FollowOptions {
    std::vector<std::string> names;
    bool follow = false;
    bool wait = false;
    bool does_not_wait = false;
    FollowChoice choice;
};

/// The jobs by their names, each with its id known.
Result<std::vector<submission::Entry>> acknowledged(submission::JobContext& context,
                                                    const std::vector<std::string>& names,
                                                    const SignalWatch& signals) {
    std::vector<submission::Entry> entries;
    for (const std::string& name : names) {
        CYBELE_TRY(submission::Entry entry, submission::find_job(context.journal(), name));
        CYBELE_TRY(const bool is_known, submission::await_resolution(context, entry, signals));
        if (!is_known) {
            return fail(ErrorCode::kEnvironment,
                        problem("submission-unknown",
                                "it is not known yet whether job " + entry.uuid + " was submitted"),
                        "the search was interrupted",
                        "continue with `cybelectl job attach " + entry.uuid + "`");
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

/// Follows to the end, tells it, gives the exit code.
Result<int> follow_job(Session& session,
                       submission::JobContext& context,
                       std::vector<submission::Entry> entries,
                       const submission::FollowOptions& how,
                       const SignalWatch& signals) {
    CYBELE_TRY(const submission::Followed followed,
               follow_jobs(session, context, std::move(entries), how, signals));
    if (session.is_json() && !how.has_logs) {
        Session::print(entries_json(followed.entries));
    }
    for (const submission::Entry& entry : followed.entries) {
        if (entry.ended != 0) {
            tell_outcome(session, end_line(entry));
        }
    }
    if (followed.entries.size() > 1) {
        tell_outcome(session, list_line(followed.entries));
    }
    return code_of(followed);
}

Result<int> wait(Session& session, const FollowOptions& options) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    const SignalWatch signals;
    CYBELE_TRY(auto entries, acknowledged(context, options.names, signals));
    return follow_job(
        session, context, std::move(entries), follow_options(session, options.choice), signals);
}

Result<int> cancel(Session& session, const FollowOptions& options) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    const SignalWatch signals;
    CYBELE_TRY(auto entries, acknowledged(context, options.names, signals));
    for (const submission::Entry& entry : entries) {
        if (entry.ended != 0) {
            tell(session,
                 "cybelectl: job " + (entry.id.empty() ? entry.uuid : entry.id) +
                     " has ended: " + std::string(submission::state_text(entry.state)));
        }
    }
    std::erase_if(entries, [](const submission::Entry& entry) { return entry.ended != 0; });
    if (options.does_not_wait) {
        CYBELE_CHECK(submission::ask_to_end(context, entries));
        return 0;
    }
    submission::FollowOptions how = follow_options(session, options.choice);
    how.is_cancelling = true;
    CYBELE_TRY(const submission::Followed followed,
               follow_jobs(session, context, std::move(entries), how, signals));
    for (const submission::Entry& entry : followed.entries) {
        if (entry.ended != 0) {
            tell_outcome(session, end_line(entry));
        }
    }
    constexpr int kSignals = 128;
    return followed.left_by == 0 ? 0 : kSignals + followed.left_by;
}

Result<int> attach_to_job(Session& session, const FollowOptions& options) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    const SignalWatch signals;
    CYBELE_TRY(const std::string uuid, submission::take_up(context, options.names.front()));
    CYBELE_TRY(auto entries, acknowledged(context, {uuid}, signals));
    const submission::Entry& entry = entries.front();
    if (entry.id.empty()) {
        return fail(ErrorCode::kInput,
                    problem("job-not-submitted", "job " + entry.uuid + " was not submitted"),
                    entry.reason,
                    "submit it again");
    }
    if (!session.is_json() || options.follow) {
        if (options.follow) {
            tell(session, entry.id);
        } else {
            Session::print(entry.id + "\n");
        }
    }
    if (!options.follow && !options.wait) {
        CYBELE_TRY(const submission::Round round, submission::ask(context, entries));
        if (session.is_json()) {
            Session::print(entries_json(entries));
        }
        return 0;
    }
    submission::FollowOptions how = follow_options(session, options.choice);
    how.has_logs = options.follow;
    how.cancels_on_signal = true;
    return follow_job(session, context, std::move(entries), how, signals);
}

} // namespace

void install_job_follow(CLI::App& job, Session& session) {
    auto options = std::make_shared<FollowOptions>();
    CLI::App* wait_verb =
        add_verb(job,
                 "wait",
                 "Wait for the end of jobs; exit with the program's code, that of the first that "
                 "failed.",
                 {"cybelectl job wait 1234",
                  "cybelectl job wait 1234_7",
                  "cybelectl job wait 1234 1235 --format json"});
    wait_verb->add_option("id", options->names, kIdHelp)->required()->type_name("ID");
    add_follow_options(*wait_verb, options->choice);
    add_format(*wait_verb, session);
    wait_verb->callback([&session, options] {
        session.refuses_with_255 = true;
        session.action = [&session, options] { return wait(session, *options); };
    });
    CLI::App* cancel_verb =
        add_verb(job,
                 "cancel",
                 "Cancel jobs, and wait until the scheduler confirms it.",
                 {"cybelectl job cancel 1234 1235", "cybelectl job cancel 1234_7"});
    cancel_verb->add_option("id", options->names, kIdHelp)->required()->type_name("ID");
    cancel_verb->add_flag(
        "--no-wait", options->does_not_wait, "request the cancellation without waiting for it");
    add_follow_options(*cancel_verb, options->choice);
    cancel_verb->callback([&session, options] {
        session.action = [&session, options] { return cancel(session, *options); };
    });
    CLI::App* attach_verb =
        add_verb(job,
                 "attach",
                 "Reattach to a job: after a crash, in another terminal, or from its record.",
                 {"cybelectl job attach 3f2a9c1e --wait",
                  "cybelectl job attach .cybelectl/3f2a9c1e-0d1b-4c7e-9a55-0f6a4d1f7b21 --follow"});
    attach_verb->add_option("job", options->names, "native id, UUID, or a job's record folder")
        ->required()
        ->expected(1)
        ->type_name("JOB");
    attach_verb->add_flag(
        "--wait",
        options->wait,
        "wait for the end; exit with the program's code; Ctrl-C cancels the job, a hangup does "
        "not");
    attach_verb->add_flag("--follow", options->follow, "--wait, and show what the job writes");
    add_follow_options(*attach_verb, options->choice);
    add_format(*attach_verb, session);
    attach_verb->callback([&session, options] {
        session.refuses_with_255 = options->wait || options->follow;
        session.action = [&session, options] { return attach_to_job(session, *options); };
    });
}

} // namespace cybele::cli
