// SPDX-License-Identifier: Apache-2.0
#include "cli/common/build_settings.hpp"
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "cli/job/context.hpp"
#include "cli/job/explain.hpp"
#include "cli/job/input.hpp"
#include "cli/job/render_all.hpp"
#include "cli/job/submit.hpp"
#include "cli/job/verdict.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "schedulers/scripts/render.hpp"
#include "submission/local/demand.hpp"
#include "submission/staging/manifest.hpp"
#include "submission/submit/dependencies.hpp"
#include "submission/submit/here.hpp"
#include "submission/submit/image.hpp"
#include "submission/submit/places.hpp"
#include "submission/submit/submit.hpp"
#include "submission/submit/verification.hpp"
#include "support/file.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <memory>

namespace cybele::cli {

namespace {

/// A script alone copies nothing.
void note_inputs(const Session& session, const launchers::Job& job) {
    if (job.stage_in.empty()) {
        return;
    }
    Fault note = job.fault_at("stage-in",
                              problem("inputs-not-staged", "the script does not bring the inputs"),
                              "`cybelectl submit` copies them before it hands the script over",
                              "submit the Job, or copy them yourself");
    note.is_warning = true;
    session.note({note});
}

/// What a submission from here would refuse. A Job for a cluster may be checked elsewhere, where
/// its folders and keys are not: then it is told, and no fault.
void add_places(const Session& session,
                const submission::JobInput& input,
                const submission::Connection& connection,
                Faults& faults) {
    const auto known =
        submission::check_places(input, session.environment, connection, session.now());
    if (known) {
        return;
    }
    for (Fault fault : known.error().faults()) {
        fault.is_warning = input.dialect != "local";
        faults.add(std::move(fault));
    }
}

/// What a job of this cluster would refuse when it runs, where it is submitted from here: told.
void add_here(const Session& session, const submission::JobInput& input, Faults& faults) {
    const std::string submitter = input.dialect == "slurm" ? "sbatch" : "qsub";
    if (input.dialect == "local" ||
        !find_program(submitter, session.environment.get_or("PATH", ""))) {
        return;
    }
    const auto known = submission::check_here(input, session.environment, ::geteuid());
    if (known) {
        return;
    }
    for (Fault fault : known.error().faults()) {
        fault.is_warning = true;
        faults.add(std::move(fault));
    }
}

/// Whether a submission would build the image again, and why.
Result<std::vector<Fault>> check_image_of(const Session& session, submission::JobInput& input) {
    pipeline::ImageBuild build;
    CYBELE_TRY(static_cast<pipeline::BuildSettings&>(build), build_settings(session, {}));
    return submission::check_image(input, build);
}

Result<int> check_job(Session& session, const JobOptions& options, bool is_strict) {
    CYBELE_TRY(submission::JobInput input, load_job(session, options));
    CYBELE_CHECK(schedulers::find_dialect(input.dialect));
    Faults faults("checking the Job '" + options.file + "'");
    const auto take = [&faults](const auto& judged) {
        if (!judged) {
            faults.add(judged.error());
        }
    };
    take(submission::resolve_dependencies(input, session.environment)
             .map_error(during("finding the jobs of 'after'")));
    const auto image = check_image_of(session, input);
    take(image);
    take(submission::find_facts_in_files(input));
    take(submission::read_manifest(input.job, session.environment, submission::Contents::kUnread));
    const auto connection = submission::choose_connection(input);
    take(connection);
    // By default nothing says that it is this machine where it will run.
    if (input.dialect == "local" && (!options.scheduler.empty() || input.site)) {
        take(submission::check_local(input.job, session.environment));
        take(submission::check_here(input, session.environment, ::geteuid()));
    }
    if (connection) {
        add_places(session, input, *connection, faults);
    }
    for (const Fault& note : image.value_or(std::vector<Fault>())) {
        faults.add(note);
    }
    const auto rendered = schedulers::render_script(input.render_input());
    take(rendered);
    std::error_code unseen;
    if (connection && !faults.has_errors() && std::filesystem::exists(input.image_file, unseen)) {
        take(submission::verify_image(input, session.environment, *connection, Session::clock()));
    }
    if (!session.is_quiet && !session.is_sarif()) {
        take(print_job_verdict(session, input, faults.has_errors()));
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    const schedulers::RenderedScript& script = *rendered;
    session.note(faults.all(), is_strict);
    session.note(script.notes, is_strict);
    Faults here;
    if (connection->is_here()) {
        add_here(session, input, here);
    }
    session.note(here.all(), is_strict);
    const bool has_notes = !faults.empty() || !script.notes.empty() || !here.empty();
    if (has_notes && is_strict) {
        return static_cast<int>(ErrorCode::kInput);
    }
    if (!session.is_quiet && !session.is_json() && !session.is_sarif()) {
        Session::print(options.file + (has_notes ? ": notes above\n" : ": no problems found\n"));
    }
    return 0;
}

Result<int> render_job(Session& session, const JobOptions& options) {
    CYBELE_TRY(submission::JobInput input, load_job(session, options));
    CYBELE_CHECK(submission::resolve_dependencies(input, session.environment));
    schedulers::RenderInput request = input.render_input();
    request.is_plain = options.is_plain;
    CYBELE_TRY(const schedulers::RenderedScript script, schedulers::render_script(request));
    session.note(submission::image_notes(input));
    session.note(script.notes);
    note_inputs(session, input.job);
    CYBELE_CHECK(write_file(options.output, script.text, 0755));
    return 0;
}

/// Below `job`, each in a file of its own.
constexpr void (*kFurtherVerbs[])(CLI::App&, Session&) = {install_job_explain,
                                                          install_job_convert,
                                                          install_job_new,
                                                          install_job_list,
                                                          install_job_show,
                                                          install_job_follow,
                                                          install_job_hold,
                                                          install_job_mirror,
                                                          install_job_logs,
                                                          install_job_collect,
                                                          install_job_results,
                                                          install_job_resubmit};

} // namespace

void install_job(CLI::App& app, Session& session) {
    auto options = std::make_shared<JobOptions>();
    auto is_strict = std::make_shared<bool>(false);
    CLI::App* job =
        add_verb(app,
                 "job",
                 "Check, render and convert Jobs; list, follow, cancel and collect submitted ones.",
                 {"cybelectl job render job.yaml --scheduler slurm", "cybelectl job list"});
    job->require_subcommand(1);
    CLI::App* check_verb = add_verb(*job,
                                    "check",
                                    "Check a Job and report all errors before it is queued.",
                                    {"cybelectl job check job.yaml --scheduler slurm",
                                     "cybelectl job check job.yaml --site hall-a.yaml --strict",
                                     "cybelectl job check job.yaml --format sarif > job.sarif"});
    add_job_options(*check_verb, session, *options, true);
    add_overrides(*check_verb, *options);
    check_verb->add_flag("--strict", *is_strict, "treat notes as errors (exit code 3)");
    check_verb->callback([&session, options, is_strict] {
        session.checked_file = options->file;
        session.action = [&session, options, is_strict] {
            return check_job(session, *options, *is_strict);
        };
    });
    CLI::App* render_verb = add_verb(*job,
                                     "render",
                                     "Write the batch script of a Job.",
                                     {"cybelectl job render job.yaml --scheduler slurm",
                                      "cybelectl job render job.yaml --site hall-a.yaml -o job.sh",
                                      "cybelectl job render job.yaml --all-schedulers -o scripts",
                                      "cybelectl job render job.yaml --scheduler torque --plain"});
    add_job_options(*render_verb, session, *options);
    add_overrides(*render_verb, *options);
    render_verb
        ->add_option(
            "arguments", options->overrides.arguments, "of a Job with `launch: batch`, after `--`")
        ->type_name("ARGUMENTS");
    render_verb->add_option("-o,--output", options->output, "output file; - is standard output")
        ->type_name("FILE");
    auto is_for_all = std::make_shared<bool>(false);
    render_verb->add_flag(
        "--all-schedulers",
        *is_for_all,
        "write a script for each batch system that can run it, into the folder of --output");
    render_verb->add_flag("--plain",
                          options->is_plain,
                          "only directives, exports and the launch: no record, checks or clean-up");
    render_verb->callback([&session, options, is_for_all] {
        session.action = [&session, options, is_for_all] {
            return (*is_for_all ? render_for_all(session, *options) : render_job(session, *options))
                .map_error(during("rendering the batch script of the Job '" + options->file + "'"));
        };
    });
    for (const auto install : kFurtherVerbs) {
        install(*job, session);
    }
}

} // namespace cybele::cli
