// SPDX-License-Identifier: Apache-2.0
#include "cli/job/submit_script.hpp"

#include "cli/common/cli11.hpp"
#include "pipeline/document_kind.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::cli {

void add_script_options(CLI::App& verb, ScriptOptions& options) {
    CLI::Option* const script =
        verb.add_option("--script",
                        options.file,
                        "submit this batch script unchanged, in the place of a Job; its arguments "
                        "follow `--`")
            ->type_name("FILE");
    verb.add_option("--workdir",
                    options.workdir,
                    "directory where a script is submitted (default: the current one)")
        ->type_name("DIR")
        ->needs(script);
    CLI::Option* const job = verb.get_option("job");
    job->required(false);
    job->each([&options](const std::string&) { options.has_job = true; });
    verb.add_option(
            "arguments",
            options.words,
            "of a script, of the runscript of a Job's image, or of a Job with `launch: batch`")
        ->type_name("ARGUMENTS");
}

namespace {

tl::unexpected<Error> refuse_override(const std::string& option) {
    return fail(ErrorCode::kUsage,
                problem("option-changes-job",
                        option + " changes a Job, and --script submits a script unchanged"),
                {},
                "write it into the script as a directive");
}

/// sbatch's letters change a Job; a script says itself what it asks for.
Result<void> check_no_overrides(const submission::Overrides& overrides) {
    const std::pair<const char*, bool> given[] = {
        {"-N", !overrides.nodes.empty()},
        {"-n", !overrides.tasks.empty()},
        {"--ntasks-per-node", !overrides.tasks_per_node.empty()},
        {"-c", !overrides.cpus_per_task.empty()},
        {"-t", !overrides.time.empty()},
        {"-p", !overrides.queue.empty()},
        {"-A", !overrides.account.empty()},
        {"-J", !overrides.name.empty()},
        {"-a", overrides.array.has_value()},
        {"-d", !overrides.dependency.empty()},
        {"--stdout", !overrides.standard_output.empty()},
        {"--stderr", !overrides.standard_error.empty()},
        {"--allow-root", overrides.allow_root}};
    if (!overrides.options.empty()) {
        return refuse_override(overrides.options.begin()->first);
    }
    for (const auto& [option, is_given] : given) {
        if (is_given) {
            return refuse_override(option);
        }
    }
    return {};
}

} // namespace

Result<submission::OwnScriptRequest>
script_request(const Session& session, const JobOptions& job, const ScriptOptions& options) {
    CYBELE_CHECK(check_no_overrides(job.overrides));
    CYBELE_TRY(const submission::JobRequest common, job_request(session, job));
    submission::OwnScriptRequest request;
    request.file = options.file;
    if (options.has_job) {
        request.arguments.push_back(job.file);
    }
    request.arguments.insert(request.arguments.end(), options.words.begin(), options.words.end());
    request.scheduler = common.scheduler;
    request.site = common.site;
    request.site_from = common.site_from;
    request.site_place = common.site_place;
    std::error_code error;
    request.folder = std::filesystem::current_path(error);
    if (error) {
        return fail(ErrorCode::kEnvironment,
                    problem("current-directory-unknown", "the current directory is not known"),
                    error.message(),
                    "change to the directory where the script is to run");
    }
    request.workdir = options.workdir;
    return request;
}

Result<std::string> own_job() {
    const auto jobs = pipeline::documents_in(".", "Job");
    if (jobs.size() == 1) {
        return jobs.front().lexically_normal().native();
    }
    std::vector<std::string> names;
    for (const auto& job : jobs) {
        names.push_back(printable(job.lexically_normal().native()));
    }
    return fail(
        ErrorCode::kUsage,
        problem("job-not-named", "no Job is named"),
        names.empty() ? std::string()
                      : fmt::format("this folder has {}: {}", names.size(), fmt::join(names, ", ")),
        names.empty()
            ? "write `cybelectl submit JOB`, or `cybelectl submit --script FILE` for a "
              "batch script"
            : "write `cybelectl submit " + shell_quote(names.front()) + "`, or name another");
}

} // namespace cybele::cli
