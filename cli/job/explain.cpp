// SPDX-License-Identifier: Apache-2.0
#include "cli/job/explain.hpp"

#include "cli/common/cli11.hpp"
#include "schedulers/reading/explain.hpp"
#include "schedulers/reading/symptoms.hpp"
#include "support/file.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"

#include <array>
#include <filesystem>
#include <memory>
#include <system_error>

namespace cybele::cli {
namespace {

struct ExplainOptions {
    std::string script;
    std::string log;
    std::string scheduler;
    bool is_strict = false;
};

constexpr std::size_t kMostOfLog = std::size_t{256} << 20U;

/// `--log --strict FILE`, and `--log 42` with the id of a job.
Result<void> check_log(const std::string& log) {
    if (log.starts_with("--")) {
        return fail(ErrorCode::kUsage,
                    problem("log-without-file",
                            "--log needs FILE, and `" + printable(log) + "` follows it"),
                    {},
                    "write the name of the file after --log");
    }
    std::error_code error;
    if (!log.empty() && log.find_first_not_of("0123456789_") == std::string::npos &&
        !std::filesystem::exists(log, error)) {
        return fail(ErrorCode::kInput,
                    problem("log-is-id", "no such file: " + log),
                    "--log reads a file, not the job of that id",
                    "write `cybelectl job explain --log <(cybelectl job logs " + log + ")`");
    }
    return {};
}

Result<int> explain_log(const Session& session, const ExplainOptions& options) {
    CYBELE_TRY(const std::string text,
               read_file(options.log, kMostOfLog).map_error(during("reading the log")));
    if (const auto other = recognize_file(text); other && other->command == "inspect") {
        return fail(ErrorCode::kInput,
                    problem("log-is-image", printable(options.log) + " is an image, not a log"),
                    "a log is what a job printed",
                    "name the file with its output or its errors; " +
                        ("this one is read by `cybelectl inspect " + shell_quote(options.log)) +
                        "`");
    }
    const auto findings = schedulers::find_symptoms(text);
    Session::print(session.is_json() ? schedulers::findings_json(findings, options.log)
                                     : schedulers::findings_text(findings, options.log));
    return !findings.empty() && options.is_strict ? static_cast<int>(ErrorCode::kInput) : 0;
}

Result<int> explain_script(const Session& session, const ExplainOptions& options) {
    CYBELE_CHECK(check_log(options.log));
    if (options.script.empty() == options.log.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("explain-one-file", "a script or a log is explained, one at a time"),
                    {},
                    "name a script, or give --log FILE");
    }
    if (!options.log.empty()) {
        return explain_log(session, options);
    }
    CYBELE_TRY(std::string text, read_file(options.script));
    const auto other = recognize_file(text);
    if (other && other->what != "a script") {
        return fail(ErrorCode::kInput,
                    problem("explained-other-file",
                            "this is " + std::string(other->what) + ", not a batch script"),
                    "a batch script has #SBATCH or #PBS lines, or begins with `#!`",
                    help_for_other_file(*other, options.script));
    }
    CYBELE_TRY(
        const auto explanation,
        schedulers::explain_script(std::move(text), options.script, reader_of(options.scheduler)));
    Session::print(session.is_json() ? schedulers::explanation_json(explanation)
                                     : schedulers::explanation_text(explanation));
    return !explanation.breaks.empty() && options.is_strict ? static_cast<int>(ErrorCode::kInput)
                                                            : 0;
}

} // namespace

schedulers::Reader reader_of(const std::string& scheduler) {
    for (const auto reader :
         {schedulers::Reader::kSlurm, schedulers::Reader::kTorque, schedulers::Reader::kPbspro}) {
        if (schedulers::reader_text(reader) == scheduler) {
            return reader;
        }
    }
    return schedulers::Reader::kNone;
}

void add_script_reader(CLI::App& verb, std::string& scheduler) {
    verb.add_option(
            "--scheduler", scheduler, "scheduler of the script (default: by its directives)")
        ->check(CLI::IsMember({"slurm", "torque", "pbspro"}));
}

void install_job_explain(CLI::App& job, Session& session) {
    auto options = std::make_shared<ExplainOptions>();
    CLI::App* verb =
        add_verb(job,
                 "explain",
                 "Show what a batch script asks for and which rules it breaks, or what "
                 "went wrong in a job's output.",
                 {"cybelectl job explain old.sh",
                  "cybelectl job explain old.pbs --scheduler pbspro --format json",
                  "cybelectl job explain --log slurm-42.out"});
    verb->add_option("script", options->script, "a script with #SBATCH or #PBS lines")
        ->type_name("SCRIPT");
    verb->add_option("--log", options->log, "output of a failed job")->type_name("FILE");
    add_script_reader(*verb, options->scheduler);
    verb->add_flag("--strict", options->is_strict, "treat every finding as an error (exit code 3)");
    add_format(*verb, session);
    verb->callback([&session, options] {
        session.action = [&session, options] {
            return explain_script(session, *options)
                .map_error(during("explaining the script or log '" + options->script +
                                  options->log + "'"));
        };
    });
}

} // namespace cybele::cli
