// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "submission/submit/job_input.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>

namespace cybele::cli {

/// Where `submit` puts a Job, and as what.
struct TargetOptions {
    std::string target; ///< auto, cluster, kubernetes; empty: the Job's
    std::string kind;   ///< of the object; empty: the Site's
    std::string name_space;
    bool is_explained = false; ///< the table is printed, and nothing is submitted
    bool is_yaml = false;      ///< the yaml is printed
    bool is_applied = false;   ///< the yaml goes to kubectl
    bool is_dry = false;       ///< nothing is changed anywhere
    bool is_followed = false;  ///< the end is to be waited for, which only a batch job has here
};

void add_target_options(CLI::App& verb, TargetOptions& options);

/// What `submit` does where the batch system is not called: the table, the yaml, or kubectl. Unset:
/// the Job goes to the cluster. A Job that no side can run is kInput.
[[nodiscard]] Result<std::optional<int>>
submit_elsewhere(Session& session, const submission::JobInput& input, const TargetOptions& options);

} // namespace cybele::cli
