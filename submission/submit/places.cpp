// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/places.hpp"

#include "launchers/documents/expand_help.hpp"
#include "schedulers/dialects/dialect.hpp"
#include "submission/submit/prepare.hpp"
#include "submission/submit/verification.hpp"
#include "support/quote.hpp"

#include <system_error>
#include <utility>

namespace cybele::submission {
namespace {

namespace fs = std::filesystem;

void add_workdir(const launchers::Job& job, const fs::path& workdir, Faults& faults) {
    std::error_code error;
    const std::string expanded = launchers::expand_help(job.workdir);
    if (!fs::is_directory(workdir, error)) {
        faults.add(job.fault_at("workdir",
                                problem("workdir-missing", "the working directory does not exist"),
                                printable(workdir.native()) + " is not a directory",
                                expanded.empty()
                                    ? "make it: `mkdir -p " + shell_quote(workdir.native()) + "`"
                                    : expanded));
    }
}

void add_outputs(const launchers::Job& job,
                 const fs::path& workdir,
                 const std::string& scheduler,
                 Faults& faults) {
    for (const auto& [field, pattern] : {std::pair("output.stdout", job.output.standard_output),
                                         std::pair("output.stderr", job.output.standard_error)}) {
        const fs::path folder =
            (job.is_of_home(pattern) ? job.place(pattern) : fs::path(pattern)).parent_path();
        const bool is_known = folder.native().find('%') == std::string::npos;
        std::error_code error;
        if (is_known && (folder.is_relative() || scheduler == "local") &&
            !fs::is_directory(workdir / folder, error)) {
            faults.add(job.fault_at(
                field,
                problem("output-folder-missing-there", "the folder of this output does not exist"),
                printable((workdir / folder).native()) + " is not a directory",
                "make it: `mkdir -p " + shell_quote((workdir / folder).native()) + "`"));
        }
    }
}

/// TORQUE hands the directory of submission on in a list of variables that it does not quote.
Result<void> add_submission(const JobInput& input, const fs::path& folder, Faults& faults) {
    CYBELE_TRY(const schedulers::Dialect dialect, schedulers::find_dialect(input.dialect));
    if (dialect.has("plain-folders") && folder.native().find_first_of(",\\") != std::string::npos) {
        faults.add(input.job.fault_at(
            "name",
            problem("submit-directory-name",
                    input.dialect + " cannot run a job that is submitted from this directory"),
            printable(folder.native()) + " contains a comma or a backslash, which " +
                input.dialect + " does not pass on to the job",
            "move the Job to a directory without either character"));
    }
    return {};
}

Result<void> told(Faults& faults) {
    return faults.has_errors() ? Result<void>(fail(faults.take())) : Result<void>();
}

} // namespace

Result<void> check_workdir(const launchers::Job& job, const fs::path& workdir) {
    Faults faults;
    add_workdir(job, workdir, faults);
    return told(faults);
}

Result<void>
check_folders(const launchers::Job& job, const fs::path& workdir, const std::string& scheduler) {
    CYBELE_CHECK(check_workdir(job, workdir));
    Faults faults;
    add_outputs(job, workdir, scheduler, faults);
    return told(faults);
}

Result<void> check_places(const JobInput& input,
                          const Environment& environment,
                          const Connection& connection,
                          std::int64_t now) {
    const launchers::Job& job = input.job;
    Faults faults;
    const fs::path folder = connection.is_here() ? job.folder : fs::path(job.workdir);
    CYBELE_CHECK(add_submission(input, place_of(folder), faults));
    if (connection.is_here()) {
        const fs::path workdir = place_of(job.place(job.workdir));
        add_workdir(job, workdir, faults);
        if (!faults.has_errors() && job.stage_in.empty()) {
            add_outputs(job, workdir, input.dialect, faults);
        }
    }
    if (!lies_elsewhere(input, connection)) {
        if (const auto known = check_signers(input, environment, now); !known) {
            faults.add(known.error());
        }
    }
    return told(faults);
}

} // namespace cybele::submission
