// SPDX-License-Identifier: Apache-2.0
#include "cli/job/input.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/image_store.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "schedulers/scripts/render.hpp"

namespace cybele::cli {

void add_job_options(CLI::App& verb, Session& session, JobOptions& options, bool has_sarif) {
    verb.add_option("job", options.file, "the Job, or a folder with job.yaml")
        ->required()
        ->type_name("JOB");
    verb.add_option(
            "--scheduler", options.scheduler, "batch system (default: the Site's, or local)")
        ->check(CLI::IsMember(schedulers::dialect_names()));
    verb.add_option("--site", options.site, "Site where the job will run")->type_name("FILE");
    add_format(verb, session, has_sarif);
}

void add_overrides(CLI::App& verb, JobOptions& options) {
    submission::Overrides& overrides = options.overrides;
    verb.add_option("-N,--nodes", overrides.nodes, "number of nodes");
    verb.add_option("-n,--ntasks", overrides.tasks, "total number of tasks (ranks)");
    verb.add_option("--ntasks-per-node", overrides.tasks_per_node, "tasks per node");
    verb.add_option("-c,--cpus-per-task", overrides.cpus_per_task, "cores per task");
    verb.add_option(
        "-t,--time", overrides.time, "time limit: minutes, H:M:S or D-H:M:S, as for sbatch");
    verb.add_option(
        "-p,--partition,--queue", overrides.queue, "queue (partition) of the scheduler");
    verb.add_option("-A,--account", overrides.account, "account that is charged");
    verb.add_option("-J,--job-name", overrides.name, "job name");
    verb.add_option("-a,--array", overrides.array, "elements of an array, e.g. 0-9 or 1,4,7")
        ->type_name("RANGE");
    verb.add_option(
        "-d,--dependency", overrides.dependency, "jobs to wait for, as for sbatch: afterok:ID");
    for (const submission::OptionOverride& row : submission::option_overrides()) {
        const std::string name = row.option;
        if (row.is_flag) {
            verb.add_flag_callback(
                row.names,
                [&overrides, name] { overrides.options[name] = "true"; },
                row.description);
        } else {
            verb.add_option_function<std::string>(
                row.names,
                [&overrides, name](const std::string& value) { overrides.options[name] = value; },
                row.description);
        }
    }
    verb.add_option("--stdout", overrides.standard_output, "file for standard output");
    verb.add_option("--stderr", overrides.standard_error, "file for standard error");
    verb.add_flag("--allow-root", overrides.allow_root, "let mpirun start as root");
}

Result<submission::JobRequest> job_request(const Session& session, const JobOptions& options) {
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    submission::JobRequest request;
    request.file = options.file;
    request.site = options.site.empty() ? settings.get("site") : options.site;
    request.scheduler = options.scheduler;
    if (request.scheduler.empty() && request.site.empty()) {
        request.scheduler = settings.get("scheduler");
    }
    CYBELE_TRY(request.store, store_root(session));
    request.overrides = options.overrides;
    return request;
}

Result<submission::JobInput> load_job(const Session& session, const JobOptions& options) {
    CYBELE_TRY(const submission::JobRequest request, job_request(session, options));
    return submission::read_job_input(request);
}

} // namespace cybele::cli
