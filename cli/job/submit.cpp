// SPDX-License-Identifier: Apache-2.0
#include "cli/job/submit.hpp"

#include "cli/common/build_settings.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/image_access.hpp"
#include "cli/common/image_store.hpp"
#include "cli/common/output.hpp"
#include "cli/common/session.hpp"
#include "cli/job/context.hpp"
#include "cli/job/input.hpp"
#include "cli/job/outcome.hpp"
#include "cli/job/submit_kube.hpp"
#include "cli/job/submit_script.hpp"
#include "cli/job/table.hpp"
#include "submission/journal/array.hpp"
#include "submission/submit/job_json.hpp"
#include "submission/submit/resubmit.hpp"
#include "submission/submit/submit.hpp"
#include "submission/submit/verification.hpp"
#include "support/find.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::cli {

namespace {

struct SubmitOptions : JobOptions {
    ScriptOptions script;
    AccessOptions access;
    std::string host;
    std::string token_command;
    bool wait = false;
    bool follow = false;
    bool dry_run = false;
    bool no_build = false;
    FollowChoice choice;
    TargetOptions target;
    std::optional<submission::Entry> before;         ///< the job that is submitted again …
    std::vector<submission::Difference> differences; ///< … and what is another than then

    [[nodiscard]] std::string json(const std::vector<submission::Entry>& entries) const {
        return before ? repeated_json(entries, differences) : entries_json(entries);
    }
};

submission::OnWord words_of(const Session& session) {
    return [&session](const std::string& word) { tell(session, "cybelectl: " + word); };
}

/// How the image of the Job is built or pulled.
Result<submission::ImageRequest> image_request(Session& session,
                                               const SubmitOptions& options,
                                               const registry::Transport& transport) {
    submission::ImageRequest request;
    BuildFlags flags;
    flags.access = options.access;
    CYBELE_TRY(request.build.settings, build_settings(session, flags));
    request.build.provenance.clock = [] { return Session::clock(); };
    request.builds = !options.no_build;
    CYBELE_TRY(request.store, store_root(session));
    request.transport = &transport;
    request.clock = Session::clock();
    request.on_word = words_of(session);
    return request;
}

/// With -vv, the value that a stage of the submission made.
template <class Value>
void show_stage(const Session& session, const char* stage, const Value& value) {
    constexpr int kAll = 2;
    if (session.verbosity >= kAll) {
        tell(session, fmt::format("cybelectl: {}: {}", stage, submission::print_json(value)));
    }
}

/// Standard output did not take what says which job it is. The job runs all the same: a script that
/// took this for a failure would submit it a second time.
Error unread_id(const Error& error, const submission::Entry& entry) {
    Fault fault = error.faults().front();
    fault.because += (fault.because.empty() ? "" : "; ") + std::string("job ") + entry.id +
                     " is submitted and still runs";
    fault.help = "do not submit it again: cybelectl job status " + entry.id;
    return Error(fault);
}

/// The native id, alone: on standard output, or on standard error where that is the job's.
Result<void>
tell_id(const Session& session, const SubmitOptions& options, const submission::Entry& entry) {
    if (options.follow) {
        fmt::print(stderr, "{}\n", entry.id);
        return {};
    }
    const auto printed = session.is_json() ? Result<void>() : Session::try_print(entry.id + "\n");
    if (printed && !session.is_json() && !options.wait) { // the id alone is for scripts
        session.say("cybelectl: job " + entry.id + " is submitted" +
                    (entry.scheduler == "local" ? " to this machine" : "") +
                    "; its state: cybelectl job status " + entry.id);
    }
    return printed ? Result<void>() : fail(unread_id(printed.error(), entry));
}

std::vector<Fault> as_warnings(std::vector<Fault> faults) {
    for (Fault& fault : faults) {
        fault.is_warning = true;
    }
    return faults;
}

/// On a terminal, what a person may want to press.
void tell_leaving(const Session& session, const submission::Entry& entry) {
    if (session.is_terminal && !session.is_json()) {
        tell(session,
             "cybelectl: Ctrl-C cancels job " + entry.id +
                 "; closing this terminal does not, then: cybelectl job logs --follow " + entry.id);
    }
}

/// A job that was submitted, and its end where it was waited for.
struct Turn {
    int code = 0;
    std::optional<submission::Entry> ended;
    std::optional<launchers::Continuation> continuation;
};

Result<Turn> follow_submission(Session& session,
                               const SubmitOptions& options,
                               submission::JobContext& context,
                               const submission::Submitted& submitted,
                               const SignalWatch& signals) {
    submission::FollowOptions how = follow_options(session, options.choice);
    how.cancels_on_signal = true;
    how.is_cancelling = submitted.cancel_by != 0;
    how.has_logs = options.follow;
    CYBELE_TRY(submission::Followed followed,
               follow_jobs(session, context, {submitted.entry}, how, signals));
    if (followed.asked_by == 0) {
        followed.asked_by = submitted.cancel_by;
    }
    if (session.is_json() && !options.follow) {
        Session::print(options.json(followed.entries));
    }
    if (followed.left_by == 0) {
        tell_outcome(session, end_line(followed.entries.front()));
    } else {
        tell(session,
             "cybelectl: left job " + submitted.entry.id +
                 "; the job continues: `cybelectl job wait " + submitted.entry.id + "`");
    }
    Turn turn{code_of(followed), {}, {}};
    if (followed.left_by == 0 && followed.asked_by == 0) {
        turn.ended = followed.entries.front();
    }
    return turn;
}

/// On a machine with a batch system it may be a mistake that a job runs there.
void tell_machine(const Session& session,
                  const SubmitOptions& options,
                  const submission::RenderedJob& ready) {
    const bool is_chosen = !options.scheduler.empty() || ready.input.site;
    if (ready.input.dialect == "local" && !is_chosen &&
        (find_program("sbatch") || find_program("qsub"))) {
        session.say("cybelectl: this machine runs the job, since neither --scheduler nor a Site "
                    "names its batch system");
    }
}

/// What becomes of a job that is ready: submitted once, followed where that is asked.
Result<Turn> submit_ready(Session& session,
                          const SubmitOptions& options,
                          const submission::RenderedJob& ready,
                          const std::string& asked) {
    session.doing("submitting the job");
    const submission::HandOverRequest request{
        std::filesystem::path(session.program).parent_path(), asked, words_of(session)};
    tell_machine(session, options, ready);
    CYBELE_TRY(submission::JobContext context, open_context(session));
    const SignalWatch signals;
    CYBELE_TRY(const submission::Submitted submitted,
               submission::submit_once(context, ready, request, session.environment, signals));
    if (submitted.was_there) {
        tell(session, "cybelectl: the earlier submission had arrived: it is this job");
    }
    const auto printed = tell_id(session, options, submitted.entry);
    if (options.wait || options.follow || submitted.cancel_by != 0) {
        if (!printed) { // what --wait is for can still be had
            session.note(as_warnings(printed.error().faults()));
        }
        tell_leaving(session, submitted.entry);
        return follow_submission(session, options, context, submitted, signals);
    }
    CYBELE_CHECK(printed);
    if (session.is_json()) {
        const auto shown = Session::try_print(options.json({submitted.entry}));
        return shown ? Result<Turn>(Turn{}) : fail(unread_id(shown.error(), submitted.entry));
    }
    return Turn{};
}

/// What --dry-run shows.
Result<void> print_script(const Session& session, const submission::RenderedJob& ready) {
    return write_rendered(
        session,
        "-",
        ready.script,
        {{"name", ready.input.job.name}, {"scheduler", ready.input.render_input().dialect}});
}

Result<int> submit_script(Session& session, const SubmitOptions& options) {
    CYBELE_TRY(const submission::OwnScriptRequest script,
               script_request(session, options, options.script));
    CYBELE_TRY(const submission::RenderedJob ready,
               submission::ready_script(script, options.host, session.environment));
    session.note(ready.notes);
    show_stage(session, "rendered", ready);
    if (options.dry_run) {
        CYBELE_CHECK(print_script(session, ready));
        return 0;
    }
    CYBELE_TRY(const Turn turn, submit_ready(session, options, ready, {}));
    return turn.code;
}

/// The stages before the script: checked and built, or for --dry-run only planned.
Result<submission::BuiltJob>
build_submission(Session& session, const SubmitOptions& options, submission::ResolvedJob resolved) {
    if (options.dry_run) {
        CYBELE_TRY(submission::BuiltJob planned,
                   submission::plan_job(std::move(resolved), session.environment));
        planned.notes = submission::verification_notes(
            planned.input, session.environment, planned.connection, Session::clock());
        return planned;
    }
    const HttpClient client = HttpClient::find(session.environment, session.program);
    CYBELE_TRY(const registry::Transport transport,
               make_transport(session, options.access, client, "pulling"));
    session.doing("preparing the job"); // most images are here
    CYBELE_TRY(const submission::ImageRequest request, image_request(session, options, transport));
    CYBELE_TRY(submission::CheckedJob checked,
               submission::check_job(
                   std::move(resolved), session.environment, request.build.settings.time.now));
    show_stage(session, "checked", checked);
    return submission::build_job(std::move(checked), request, session.environment);
}

/// One submission of the Job, and its end where that is waited for.
Result<Turn> submit_turn(Session& session, const SubmitOptions& options) {
    TargetOptions target = options.target;
    target.is_dry = options.dry_run;
    target.is_followed = options.wait || options.follow;
    CYBELE_TRY(const submission::JobRequest request, job_request(session, options));
    CYBELE_TRY(submission::JobInput input, submission::read_job_input(request));
    show_stage(session, "read", input);
    CYBELE_TRY(const auto done, submit_elsewhere(session, input, target));
    if (done) {
        return Turn{*done, {}, {}};
    }
    session.doing("preparing the job");
    CYBELE_TRY(submission::ResolvedJob resolved,
               submission::resolve_job(
                   std::move(input), {options.host, options.token_command}, session.environment));
    show_stage(session, "resolved", resolved);
    CYBELE_TRY(submission::BuiltJob built, build_submission(session, options, std::move(resolved)));
    show_stage(session, "built", built);
    CYBELE_TRY(const submission::RenderedJob ready, submission::render_job(std::move(built)));
    show_stage(session, "rendered", ready);
    SubmitOptions with = options;
    if (options.before) { // what differs comes first
        with.differences = submission::differences_since(*options.before, ready);
        for (const submission::Difference& each : with.differences) {
            tell(session, "cybelectl: " + each.text);
        }
    }
    session.note(ready.notes);
    if (options.dry_run) {
        CYBELE_CHECK(print_script(session, ready));
        return Turn{};
    }
    CYBELE_CHECK(submission::bring_inputs(ready, words_of(session), session.environment));
    CYBELE_TRY(Turn turn,
               submit_ready(session, with, ready, submission::request_text(request, ready)));
    turn.continuation = ready.input.job.continuation;
    if (turn.continuation && !options.wait && !options.follow) {
        tell(session,
             "cybelectl: `continue` needs a command that waits: --wait or --follow; else run "
             "`cybelectl job resubmit` after the end");
    }
    return turn;
}

/// The options that submit a job of before again, as it was asked for then.
SubmitOptions options_again(const SubmitOptions& options,
                            const submission::JobRequest& request,
                            const submission::Entry& before) {
    SubmitOptions again = options;
    again.file = request.file.native();
    again.scheduler = request.scheduler;
    again.site = request.site.native();
    again.site_from = "the submission of job " + before.id;
    again.overrides = request.overrides;
    again.host = again.host.empty() ? before.login : again.host;
    again.before = before;
    return again;
}

/// The next submission of a job that `continue` speaks of; unset: it has ended in another way.
Result<std::optional<SubmitOptions>>
continued(const SubmitOptions& options, const Turn& turn, std::uint32_t times) {
    if (!turn.ended || !turn.continuation) {
        return std::optional<SubmitOptions>();
    }
    const submission::Entry& job = *turn.ended;
    const auto elements = submission::elements_of(job);
    const auto& on = turn.continuation->on;
    const auto is_continued = [&on](const submission::Entry& element) {
        return contains(on, submission::continued_end(element));
    };
    if (times >= turn.continuation->most || std::ranges::none_of(elements, is_continued)) {
        return std::optional<SubmitOptions>();
    }
    submission::RepeatChoice choice;
    choice.ends = on;
    CYBELE_TRY(const submission::JobRequest request,
               submission::repeat_request(job, elements, choice));
    return std::optional(options_again(options, request, job));
}

/// Submits, and submits again as often as `continue` says.
Result<int> submit_job(Session& session, const SubmitOptions& options) {
    SubmitOptions now = options;
    for (std::uint32_t times = 0;; ++times) {
        CYBELE_TRY(const Turn turn, submit_turn(session, now));
        CYBELE_TRY(auto next, continued(now, turn, times));
        if (!next || !turn.ended || !turn.continuation) {
            return turn.code;
        }
        tell(session,
             fmt::format("cybelectl: job {} is continued ({} of {})",
                         turn.ended->id,
                         times + 1,
                         turn.continuation->most));
        now = std::move(*next);
    }
}

Result<int> submit(Session& session, const SubmitOptions& options) {
    if (options.script.is_given()) {
        return submit_script(session, options);
    }
    SubmitOptions with = options;
    if (!options.script.has_job) {
        CYBELE_TRY(with.file, own_job());
        tell(session, "cybelectl: submitting " + printable(with.file) + ", the one Job here");
    }
    with.overrides.arguments = options.script.words;
    return submit_job(session, with);
}

struct ResubmitOptions {
    SubmitOptions submission;
    std::string name;
    submission::RepeatChoice choice_of_elements;
};

/// The submission of before, of the elements that are chosen, by the same way.
Result<int> resubmit(Session& session, const ResubmitOptions& options) {
    CYBELE_TRY(submission::JobContext context, open_context(session));
    CYBELE_TRY(const submission::Entry named,
               submission::job_to_repeat(context.journal(), options.name));
    std::vector<submission::Entry> entries{named};
    CYBELE_CHECK(refresh(session, context, entries));
    CYBELE_TRY(const auto elements, in_elements(session, context, entries));
    CYBELE_TRY(const submission::JobRequest request,
               submission::repeat_request(entries.front(), elements, options.choice_of_elements));
    return submit_job(session, options_again(options.submission, request, named));
}

void add_progress_options(CLI::App& verb, SubmitOptions& options) {
    verb.add_flag(
        "--wait",
        options.wait,
        "wait for the end; exit with the program's code; Ctrl-C cancels the job, a hangup "
        "does not");
    verb.add_flag(
        "--follow",
        options.follow,
        "--wait, and show what the job writes meanwhile; to watch a job without cancelling "
        "it by Ctrl-C: submit, then job logs --follow ID");
    verb.add_flag("--dry-run", options.dry_run, "print the script only");
    verb.add_flag("--no-build",
                  options.no_build,
                  "refuse a Job whose image is missing or older than its Recipe and files");
    add_follow_options(verb, options.choice);
}

} // namespace

void install_job_resubmit(CLI::App& job, Session& session) {
    auto options = std::make_shared<ResubmitOptions>();
    CLI::App* verb = add_verb(job,
                              "resubmit",
                              "Submit a job again, or those of its elements that failed.",
                              {"cybelectl job resubmit 1234",
                               "cybelectl job resubmit 1234 --failed --wait",
                               "cybelectl job resubmit 1234 --array 6-9",
                               "cybelectl job resubmit 1234_7",
                               "cybelectl job resubmit results/sweep-1234.job.json --failed"});
    verb->add_option(
            "job", options->name, "native id, ID_INDEX, UUID, or a record that collect made")
        ->required()
        ->type_name("ID|RECORD");
    verb->add_flag("--failed",
                   options->choice_of_elements.failed,
                   "only elements that failed; a job only if it failed");
    verb->add_option("-a,--array",
                     options->choice_of_elements.array,
                     "elements to submit again, for example 3 or 1-5")
        ->type_name("RANGE");
    verb->add_option(
            "--host", options->submission.host, "login node, reached by ssh (default: as before)")
        ->type_name("LOGIN");
    add_progress_options(*verb, options->submission);
    add_access(*verb, options->submission.access);
    add_library(*verb, options->submission.access);
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.refuses_with_255 = options->submission.wait || options->submission.follow;
        session.action = [&session, options] {
            return resubmit(session, *options)
                .map_error(during("submitting the job '" + options->name + "' again"));
        };
    });
}

void install_submit(CLI::App& app, Session& session) {
    auto options = std::make_shared<SubmitOptions>();
    CLI::App* verb =
        add_verb(app,
                 "submit",
                 "Build what is missing, check the Job and submit it.",
                 {"cybelectl submit demo -n 2",
                  "cybelectl submit job.yaml --scheduler slurm --wait",
                  "cybelectl submit job.yaml --site hall-a.yaml --follow",
                  "cybelectl submit job.yaml --ca-file centre.pem",
                  "cybelectl submit job.yaml --dry-run > job.sh",
                  "cybelectl submit --script old.sh --scheduler slurm -- data.txt",
                  "cybelectl submit batch.yaml -- data.txt",
                  "cybelectl submit job.yaml --site hall-a.yaml --target auto --explain",
                  "cybelectl submit job.yaml --site hall-a.yaml --kube --apply"});
    add_job_options(*verb, session, *options);
    add_script_options(*verb, options->script);
    add_overrides(*verb, *options);
    verb->add_option("--host", options->host, "login node, reached by ssh (default: the Site's)")
        ->type_name("LOGIN");
    verb->add_option("--token-command",
                     options->token_command,
                     "command that prints the token of a REST service (default: the Site's)")
        ->type_name("COMMAND");
    add_progress_options(*verb, *options);
    add_target_options(*verb, options->target);
    add_access(*verb, options->access);
    add_library(*verb, options->access);
    verb->callback([&session, options] {
        session.refuses_with_255 = options->wait || options->follow;
        session.action = [&session, options] {
            return submit(session, *options)
                .map_error(during("submitting '" + options->file + "'"));
        };
    });
}

} // namespace cybele::cli
