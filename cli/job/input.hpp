// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "submission/submit/job_input.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace cybele::cli {

/// The options that `job`, `kube` and `submit` share.
struct JobOptions {
    std::string file;
    std::string scheduler;
    std::string site;
    std::string site_from = "--site"; ///< for the error where it is missing
    std::string output = "-";
    bool is_plain = false; ///< `job render`: directives and the launch alone
    submission::Overrides overrides;
};

void add_job_options(CLI::App& verb,
                     Session& session,
                     JobOptions& options,
                     Formats formats = Formats::kUsual);
/// Those of them that say where it runs, and the form of what is printed.
void add_place_options(CLI::App& verb,
                       Session& session,
                       JobOptions& options,
                       Formats formats = Formats::kUsual);
/// sbatch's letters.
void add_overrides(CLI::App& verb, JobOptions& options);

/// Which Job, Site and scheduler are meant: an option wins over a setting, a Site over the
/// scheduler of a setting.
[[nodiscard]] Result<submission::JobRequest> job_request(const Session& session,
                                                         const JobOptions& options);

/// Reads the Job, the Site and the image's facts, as the options and settings say.
[[nodiscard]] Result<submission::JobInput> load_job(const Session& session,
                                                    const JobOptions& options);

} // namespace cybele::cli
