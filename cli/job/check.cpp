// SPDX-License-Identifier: Apache-2.0
#include "cli/job/check.hpp"

#include "cli/common/build_settings.hpp"
#include "cli/common/cli11.hpp"
#include "cli/job/input.hpp"
#include "cli/job/verdict.hpp"
#include "pipeline/project_file.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "schedulers/scripts/render.hpp"
#include "submission/local/demand.hpp"
#include "submission/staging/manifest.hpp"
#include "submission/submit/dependencies.hpp"
#include "submission/submit/here.hpp"
#include "submission/submit/image.hpp"
#include "submission/submit/places.hpp"
#include "submission/submit/site_signers.hpp"
#include "submission/submit/submit.hpp"
#include "submission/submit/verification.hpp"
#include "support/counted.hpp"
#include "support/json.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

namespace cybele::cli {
namespace {

namespace fs = std::filesystem;
using VerdictJson = nlohmann::ordered_json;

struct JobCheckOptions : JobOptions {
    std::vector<std::string> files;
    bool is_strict = false;
};

/// What is found in one Job.
struct JobFindings {
    std::string name; ///< the file, and the Site of a project
    Faults faults;
    Faults script_notes;
    Faults here;                  ///< of this machine, where nothing says that the job runs on it
    bool is_cluster_here = false; ///< `here` counts with --strict
    std::string verdict;
    bool works = false;
    bool is_launch_checked = true; ///< false: the Job's own script starts the ranks
    std::string elsewhere;         ///< the machine whose files were not looked at; empty: this one
    VerdictJson json;
};

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

/// An image that is not here cannot be checked. On this machine a submission needs it; a Job for a
/// cluster may be checked where its image is not.
void add_missing_image(const submission::JobInput& input,
                       const submission::Connection& connection,
                       bool is_named,
                       Faults& faults) {
    auto missing = submission::missing_image(input, connection);
    if (!missing) {
        return;
    }
    missing->is_warning = !is_named || input.dialect != "local";
    if (missing->is_warning) {
        missing->message += ", so it was not checked";
    }
    faults.add(std::move(*missing));
}

/// What a submission by this connection would miss.
void add_files(const Session& session,
               const submission::JobInput& input,
               const submission::Connection& connection,
               bool is_named,
               JobFindings& findings) {
    add_places(session, input, connection, findings.faults);
    if (auto fault = submission::unstartable_image(input)) {
        fault->is_warning = !is_named || input.dialect != "local"; // its script may be rendered
        if (fault->is_warning) {
            fault->message.insert(0, "`cybelectl submit` refuses this Job: ");
        }
        findings.faults.add(std::move(*fault));
    }
    add_missing_image(input, connection, is_named, findings.faults);
    findings.elsewhere =
        connection.is_here() ? std::string() : printable(submission::shown(connection));
}

/// A Job without an image runs whatever the Policy of its Site says; others would not. Files that
/// are not on this machine are no mistake of that Policy.
void add_policy_of_site(const Session& session, const submission::JobInput& input, Faults& faults) {
    if (input.job.image || !input.site) {
        return;
    }
    const Faults found =
        submission::check_site_signers(*input.site, session.environment, Session::clock());
    for (Fault fault : found.all()) {
        if (!fault.is_warning && !fault.id.ends_with("-missing")) {
            fault.is_warning = true;
            fault.message = "Jobs with an image are refused at this Site: " + fault.message;
            faults.add(std::move(fault));
        }
    }
}

/// Whether a submission would build the image again, and why.
Result<std::vector<Fault>> check_image_of(const Session& session, submission::JobInput& input) {
    pipeline::ImageBuild build;
    CYBELE_TRY(build.settings, build_settings(session, {}));
    return submission::check_image(input, build);
}

/// Without a scheduler and a Site a submission is to this machine, but nothing says that it is
/// meant.
void add_this_machine(const Session& session,
                      const submission::JobInput& input,
                      JobFindings& findings) {
    const auto known = submission::check_local(input.job, session.environment);
    if (known) {
        return;
    }
    for (Fault fault : known.error().faults()) {
        fault.is_warning = true;
        fault.message =
            "`cybelectl submit` without --scheduler would run it here: " + fault.message;
        findings.here.add(std::move(fault));
    }
}

/// Without a scheduler and a Site a Job that this machine's scheduler cannot express is checked for
/// the first cluster that can, and what this machine lacks is told.
void choose_cluster(submission::JobInput& input, JobFindings& findings) {
    const auto here = schedulers::render_script(input.render_input());
    if (here) {
        return;
    }
    submission::JobInput other = input;
    for (const std::string_view dialect : {"slurm", "torque", "pbspro"}) {
        other.dialect = dialect;
        if (!schedulers::render_script(other.render_input())) {
            continue;
        }
        for (Fault fault : here.error().faults()) {
            fault.is_warning = true;
            fault.message =
                "`cybelectl submit` without --scheduler would run it here: " + fault.message;
            fault.help = fmt::format("name its cluster, for example `--scheduler {}`", dialect);
            findings.here.add(std::move(fault));
        }
        input.dialect = dialect;
        return;
    }
}

/// The verdict on the launch, where one is printed.
Result<void>
add_verdict(const Session& session, const submission::JobInput& input, JobFindings& findings) {
    if (session.is_quiet || session.is_sarif()) {
        return {};
    }
    CYBELE_TRY(JobVerdict verdict, job_verdict(input));
    findings.verdict = std::move(verdict.text);
    findings.works = verdict.works;
    findings.is_launch_checked = verdict.is_checked;
    findings.json = std::move(verdict.json);
    return {};
}

Result<JobFindings> check_one(const Session& session, const JobCheckOptions& options) {
    CYBELE_TRY(submission::JobInput input, load_job(session, options));
    CYBELE_CHECK(schedulers::find_dialect(input.dialect));
    JobFindings findings;
    findings.name = options.file;
    findings.faults = Faults("checking the Job '" + options.file + "'");
    // By default nothing says that it is this machine where it will run.
    const bool is_named = !options.scheduler.empty() || input.site;
    if (!is_named) {
        choose_cluster(input, findings);
    }
    Faults& faults = findings.faults;
    const auto take = [&faults](const auto& checked) {
        if (!checked) {
            faults.add(checked.error());
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
    if (input.dialect == "local" && is_named) {
        take(submission::check_local(input.job, session.environment));
        take(submission::check_here(input, session.environment, ::geteuid()));
    } else if (input.dialect == "local") {
        add_this_machine(session, input, findings);
    }
    if (connection) {
        add_files(session, input, *connection, is_named, findings);
    }
    for (const Fault& note : image.value_or(std::vector<Fault>())) {
        faults.add(note);
    }
    const auto rendered = schedulers::render_script(input.render_input());
    take(rendered);
    std::error_code unseen;
    if (connection && !faults.has_errors() && fs::exists(input.image_file, unseen)) {
        take(submission::verify_image(input, session.environment, *connection, Session::clock()));
    }
    add_policy_of_site(session, input, faults);
    CYBELE_CHECK(add_verdict(session, input, findings));
    if (rendered) {
        for (const Fault& note : rendered->notes) {
            findings.script_notes.add(note);
        }
    }
    if (!faults.has_errors() && connection->is_here() && input.dialect != "local") {
        add_here(session, input, findings.here);
        findings.is_cluster_here = true;
    }
    return findings;
}

/// A centre's project may have Recipes and no Jobs.
bool is_project_without_jobs(const fs::path& folder) {
    std::error_code error;
    const auto jobs = pipeline::job_files(folder);
    if (!fs::is_directory(folder, error) || !jobs || !jobs->empty()) {
        return false;
    }
    const auto project = pipeline::find_project(folder);
    return project && !pipeline::documents_of(project->folder, project->recipes).empty();
}

/// A folder stands for its Jobs; in a Project with Sites each is checked for each, as `generate`
/// renders it, unless a Site or a scheduler is named.
std::vector<JobCheckOptions> expand(const Session& session, const JobCheckOptions& options) {
    std::vector<JobCheckOptions> all;
    for (const std::string& given : options.files) {
        if (is_project_without_jobs(given)) {
            if (!session.is_quiet && !session.is_json() && !session.is_sarif()) {
                Session::print(printable(given) + ": Recipes and no Jobs\n");
            }
            continue;
        }
        JobCheckOptions one = options;
        one.file = given;
        const auto jobs = pipeline::job_files(given);
        if (!jobs || jobs->empty()) { // reading it reports why
            all.push_back(std::move(one));
            continue;
        }
        std::vector<fs::path> sites;
        if (options.site.empty() && options.scheduler.empty()) {
            sites = pipeline::site_files(given);
        }
        for (const fs::path& job : *jobs) {
            one.file = job.native();
            for (const fs::path& site : sites) {
                one.site = site.native();
                one.site_from = "the project";
                all.push_back(one);
            }
            if (sites.empty()) {
                all.push_back(one);
            }
        }
    }
    return all;
}

/// The verdict of a Job that is rejected for another reason says nothing.
void print_findings(const Session& session, const JobFindings& findings, bool is_alone) {
    const bool is_rejected = findings.faults.has_errors();
    if (!session.is_quiet && !session.is_json() && !session.is_sarif() &&
        (is_alone ? !is_rejected || !findings.works : !findings.works)) {
        Session::print((is_alone ? "" : printable(findings.name) + ":\n") + findings.verdict);
    }
}

/// Whether something was noted that counts with --strict.
bool print_notes(const Session& session, const JobFindings& findings, bool is_strict) {
    session.note(findings.faults.all(), is_strict);
    session.note(findings.script_notes.all(), is_strict);
    session.note(findings.here.all(), is_strict && findings.is_cluster_here);
    const std::size_t own = findings.faults.all().size() + findings.script_notes.all().size();
    const std::size_t noted = own + findings.here.all().size();
    const bool has_notes = own != 0;
    const bool is_refused =
        is_strict && (has_notes || (findings.is_cluster_here && !findings.here.empty()));
    if (!is_refused && !session.is_quiet && !session.is_json() && !session.is_sarif()) {
        Session::print(printable(findings.name) +
                       (noted != 0                   ? ": no errors, " + counted(noted, "warning")
                        : findings.is_launch_checked ? ": no problems found"
                                                     : ": no problems found; "
                                                       "the launch was not checked") +
                       (findings.elsewhere.empty()
                            ? "\n"
                            : "; the files on " + findings.elsewhere + " were not checked\n"));
    }
    return is_refused;
}

Result<int> check_jobs(Session& session, const JobCheckOptions& options) {
    const std::vector<JobCheckOptions> wanted = expand(session, options);
    const bool is_alone = wanted.size() == 1;
    std::vector<Fault> faults;
    auto documents = VerdictJson::array();
    bool is_refused = false;
    for (const JobCheckOptions& one : wanted) {
        auto findings = check_one(session, one);
        if (!findings) {
            const auto& own = findings.error().faults();
            faults.insert(faults.end(), own.begin(), own.end());
            continue;
        }
        if (options.site.empty() && !one.site.empty()) {
            findings->name += " for " + one.site;
        }
        if (!findings->json.is_null()) {
            documents.push_back({{"job", one.file}});
            documents.back().update(findings->json);
        }
        if (is_alone && session.is_json() && !session.is_quiet) {
            Session::print(json_text(findings->json) + "\n");
        }
        print_findings(session, *findings, is_alone);
        if (findings->faults.has_errors()) {
            const Error error = findings->faults.take();
            faults.insert(faults.end(), error.faults().begin(), error.faults().end());
            continue;
        }
        is_refused = print_notes(session, *findings, options.is_strict) || is_refused;
    }
    if (!is_alone && session.is_json() && !session.is_quiet) {
        Session::print(json_text(VerdictJson{{"format", 1}, {"jobs", documents}}) + "\n");
    }
    if (!faults.empty()) {
        return fail(Error(std::move(faults)));
    }
    return is_refused ? static_cast<int>(ErrorCode::kInput) : 0;
}

} // namespace

void install_job_check(CLI::App& job, Session& session) {
    auto options = std::make_shared<JobCheckOptions>();
    CLI::App* verb = add_verb(job,
                              "check",
                              "Check Jobs and report all errors before they are queued.",
                              {"cybelectl job check job.yaml --scheduler slurm",
                               "cybelectl job check job.yaml --site hall-a.yaml --strict",
                               "cybelectl job check .            # all Jobs of a project",
                               "cybelectl job check job.yaml --format sarif > job.sarif"});
    verb->add_option("job",
                     options->files,
                     "Jobs, or folders with job.yaml or the Jobs of a project, for each of its "
                     "Sites")
        ->required()
        ->type_name("JOB");
    add_place_options(*verb, session, *options, Formats::kAlsoSarif);
    add_overrides(*verb, *options);
    verb->add_flag("--strict", options->is_strict, "treat notes as errors (exit code 3)");
    verb->callback([&session, options] {
        session.checked_file = options->files.front();
        session.action = [&session, options] { return check_jobs(session, *options); };
    });
}

} // namespace cybele::cli
