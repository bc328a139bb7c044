// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/output.hpp"
#include "cli/common/session.hpp"
#include "cli/common/verbs.hpp"
#include "cli/job/check.hpp"
#include "cli/job/context.hpp"
#include "cli/job/explain.hpp"
#include "cli/job/input.hpp"
#include "cli/job/render_all.hpp"
#include "cli/job/submit.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "schedulers/scripts/render.hpp"
#include "submission/submit/choose_connection.hpp"
#include "submission/submit/dependencies.hpp"
#include "submission/submit/image.hpp"
#include "submission/submit/verification.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

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

Result<int> render_job(Session& session, const JobOptions& options) {
    CYBELE_TRY(submission::JobInput input, load_job(session, options));
    CYBELE_CHECK(submission::resolve_dependencies(input, session.environment));
    schedulers::RenderInput request = input.render_input();
    request.is_plain = options.is_plain;
    CYBELE_TRY(const schedulers::RenderedScript script, schedulers::render_script(request));
    session.note(submission::image_notes(input));
    if (const auto connection = submission::choose_connection(input)) {
        session.note(submission::verification_notes(
            input, session.environment, *connection, Session::clock()));
    }
    session.note(script.notes);
    note_inputs(session, input.job);
    CYBELE_CHECK(check_output(options.output, {options.file, options.file + "/job.yaml"}));
    CYBELE_CHECK(write_rendered(session,
                                options.output,
                                script.text,
                                {{"name", input.job.name}, {"scheduler", request.dialect}},
                                0755));
    if (options.output != "-") {
        session.say("cybelectl: the script is in " + printable(options.output));
    }
    return 0;
}

/// `job render job.sh job.yaml`: the script was to be made.
Result<void> check_order(const JobOptions& options) {
    const auto& words = options.overrides.arguments;
    const auto is_there = [](const std::string& name) {
        std::error_code error;
        return std::filesystem::is_regular_file(name, error);
    };
    if (words.size() != 1 || is_there(options.file) || !words.front().ends_with(".yaml") ||
        !is_there(words.front())) {
        return {};
    }
    if (schedulers::find_dialect(options.file)) {
        return fail(ErrorCode::kUsage,
                    problem("render-scheduler", "no such file: " + printable(options.file)),
                    "the scheduler is named by an option",
                    "write `cybelectl job render " + shell_quote(words.front()) + " --scheduler " +
                        options.file + "`");
    }
    return fail(ErrorCode::kUsage,
                problem("render-order", "no such file: " + printable(options.file)),
                "the Job comes first, and -o names the script",
                "write `cybelectl job render " + shell_quote(words.front()) + " -o " +
                    shell_quote(options.file) + "`");
}

void install_job_render(CLI::App& job, Session& session) {
    auto options = std::make_shared<JobOptions>();
    CLI::App* render_verb = add_verb(job,
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
    render_verb
        ->add_option("-o,--output", options->output, "output file (default: -, standard output)")
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
        session.action = [&session, options, is_for_all]() -> Result<int> {
            CYBELE_CHECK(check_order(*options));
            return (*is_for_all ? render_for_all(session, *options) : render_job(session, *options))
                .map_error(during("rendering the batch script of the Job '" + options->file + "'"));
        };
    });
}

/// Below `job`, each in a file of its own.
const std::vector<VerbGroup>& verbs_of_jobs() {
    static const std::vector<VerbGroup> verbs{{{"check"}, install_job_check},
                                              {{"render"}, install_job_render},
                                              {{"explain"}, install_job_explain},
                                              {{"convert"}, install_job_convert},
                                              {{"new"}, install_job_new},
                                              {{"list"}, install_job_list},
                                              {{"status"}, install_job_show},
                                              {{"wait", "cancel", "attach"}, install_job_follow},
                                              {{"hold", "release"}, install_job_hold},
                                              {{"mirror"}, install_job_mirror},
                                              {{"logs"}, install_job_logs},
                                              {{"collect"}, install_job_collect},
                                              {{"results"}, install_job_results},
                                              {{"resubmit"}, install_job_resubmit}};
    return verbs;
}

} // namespace

void install_job(CLI::App& app, Session& session) {
    CLI::App* job =
        add_verb(app,
                 "job",
                 "Check, render and convert Jobs; list, follow, cancel and collect submitted ones.",
                 {"cybelectl job render job.yaml --scheduler slurm", "cybelectl job list"});
    job->require_subcommand(1);
    install_called(verbs_of_jobs(), verb_word(session.words, 1), *job, session);
}

} // namespace cybele::cli
