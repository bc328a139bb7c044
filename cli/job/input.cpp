// SPDX-License-Identifier: Apache-2.0
#include "cli/job/input.hpp"

#include "cli/common/cli11.hpp"
#include "cli/common/image_store.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "schedulers/scripts/render.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace cybele::cli {

void add_job_options(CLI::App& verb, Session& session, JobOptions& options, Formats formats) {
    verb.add_option("job", options.file, "the Job, or a folder with job.yaml")
        ->required()
        ->type_name("JOB");
    add_place_options(verb, session, options, formats);
}

void add_place_options(CLI::App& verb, Session& session, JobOptions& options, Formats formats) {
    verb.add_option("--scheduler",
                    options.scheduler,
                    "batch system, pbspro for PBS Pro and OpenPBS (default: the Site's, or local)")
        ->check(CLI::IsMember(schedulers::dialect_names()));
    verb.add_option("--site", options.site, "Site where the job will run")->type_name("FILE");
    add_format(verb, session, formats);
}

namespace {

/// How the help names the value of an option; others have a text of their own in the table.
struct ValueName {
    std::string_view option;
    const char* value;
};
constexpr std::array kValueNames{ValueName{"--gpus", "N"},
                                 ValueName{"--gpus-per-node", "N"},
                                 ValueName{"--gpus-per-task", "N"},
                                 ValueName{"--cpus-per-gpu", "N"},
                                 ValueName{"--mem-per-gpu", "SIZE"},
                                 ValueName{"--reservation", "NAME"},
                                 ValueName{"--nodelist", "NODES"},
                                 ValueName{"--exclude", "NODES"},
                                 ValueName{"--threads-per-core", "N"},
                                 ValueName{"--licenses", "LIST"},
                                 ValueName{"--gres", "LIST"},
                                 ValueName{"--open-mode", "append|truncate"},
                                 ValueName{"--begin", "TIME"},
                                 ValueName{"--comment", "TEXT"}};

const char* value_name(std::string_view option) {
    const auto* const found = std::ranges::find(kValueNames, option, &ValueName::option);
    return found == kValueNames.end() ? "VALUE" : found->value;
}

/// Without the option the field of the Job counts.
std::string of_job(std::string_view description) {
    return std::string(description) + " (default: the Job's)";
}

bool is_count_word(const std::string& text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

} // namespace

void add_overrides(CLI::App& verb, JobOptions& options) {
    submission::Overrides& overrides = options.overrides;
    const auto add = [&verb](const char* names, auto& into, const char* text, const char* value) {
        verb.add_option(names, into, of_job(text))->type_name(value);
    };
    add("-N,--nodes", overrides.nodes, "number of nodes", "N");
    add("-n,--ntasks", overrides.tasks, "total number of tasks (ranks)", "N");
    add("--ntasks-per-node", overrides.tasks_per_node, "tasks per node", "N");
    add("-c,--cpus-per-task", overrides.cpus_per_task, "cores per task", "N");
    add("-t,--time",
        overrides.time,
        "time limit: minutes, H:M:S or D-H:M:S, as for sbatch",
        "TIME");
    add("-p,--partition,--queue", overrides.queue, "queue (partition) of the scheduler", "NAME");
    add("-A,--account", overrides.account, "account that is charged", "NAME");
    add("-J,--job-name", overrides.name, "job name", "NAME");
    add("-a,--array", overrides.array, "elements of an array, e.g. 0-9 or 1,4,7", "RANGE");
    add("-d,--dependency",
        overrides.dependency,
        "jobs to wait for, e.g. afterok:12, as for sbatch",
        "LIST");
    for (const submission::OptionOverride& row : submission::option_overrides()) {
        const std::string name = row.option;
        if (row.is_flag) {
            verb.add_flag_callback(
                row.names,
                [&overrides, name] { overrides.options[name] = "true"; },
                of_job(row.description));
        } else {
            verb.add_option_function<std::string>(
                    row.names,
                    [&overrides, name](const std::string& value) {
                        overrides.options[name] = value;
                    },
                    of_job(row.description))
                ->type_name(value_name(row.option));
        }
    }
    add("--stdout", overrides.standard_output, "file for standard output", "FILE");
    add("--stderr", overrides.standard_error, "file for standard error", "FILE");
    verb.add_flag("--allow-root", overrides.allow_root, of_job("start mpirun also as root"));
}

namespace {

/// The scheduler of the settings must exist; the error names the settings file.
Result<void> check_scheduler_setting(const pipeline::Settings& settings) {
    const std::string word = settings.get("scheduler");
    if (word.empty()) {
        return {};
    }
    const auto known = schedulers::find_dialect(word);
    if (known) {
        return {};
    }
    Fault fault = known.error().faults().front();
    fault.where = settings.place("scheduler");
    fault.because = "the setting `scheduler` is from " + printable(settings.origin("scheduler")) +
                    "; " + fault.because;
    return fail(std::move(fault));
}

/// `-q gpu job.yaml`, as qsub names a queue.
Result<void> check_quiet_queue(const Session& session, const JobOptions& options) {
    const auto& words = options.overrides.arguments;
    std::error_code error;
    if (!session.is_quiet || words.size() != 1 || !words.front().ends_with(".yaml") ||
        options.file.ends_with(".yaml") || std::filesystem::exists(options.file, error)) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("quiet-for-queue", "no such file: " + printable(options.file)),
                "-q is --quiet, and the queue is named by -p",
                "write `-p " + shell_quote(options.file) + " " + shell_quote(words.front()) + "`");
}

} // namespace

Result<submission::JobRequest> job_request(const Session& session, const JobOptions& options) {
    if (options.overrides.tasks == "p") { // mpirun's -np, read as `-n p`
        return fail(ErrorCode::kUsage,
                    problem("option-of-mpirun", "there is no option '-np'"),
                    "it is mpirun's; here the number of ranks is that of sbatch",
                    "write `-n " + printable(is_count_word(options.file) ? options.file : "N") +
                        "`");
    }
    CYBELE_CHECK(check_quiet_queue(session, options));
    CYBELE_TRY(const pipeline::Settings settings, session.settings());
    submission::JobRequest request;
    request.file = options.file;
    request.site = options.site;
    request.site_from = options.site_from;
    if (options.site.empty()) {
        request.site = settings.get("site");
        request.site_place = settings.place("site");
        request.site_from =
            request.site_place ? "this file of settings" : "the " + settings.origin("site");
    }
    request.scheduler = options.scheduler;
    if (request.scheduler.empty() && request.site.empty()) {
        request.scheduler = settings.get("scheduler");
        CYBELE_CHECK(check_scheduler_setting(settings));
    }
    CYBELE_TRY(request.store, store_root(session));
    request.home = session.environment.home();
    request.overrides = options.overrides;
    return request;
}

Result<submission::JobInput> load_job(const Session& session, const JobOptions& options) {
    CYBELE_TRY(const submission::JobRequest request, job_request(session, options));
    return submission::read_job_input(request);
}

} // namespace cybele::cli
