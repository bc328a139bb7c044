// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "builder/steps/packages.hpp"
#include "support/environment.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::builder {

/// What a script that is run while an image is built gets from this machine; the same for all
/// steps of a build.
struct HostEnvironment {
    std::vector<StepBind> binds;   ///< of --bind
    std::filesystem::path work;    ///< of this build; private
    std::filesystem::path cache;   ///< that keeps downloaded packages; empty: none
    std::string definition;        ///< the file that is built, for what is kept
    std::filesystem::path ca_file; ///< certificates that the machine trusts; empty: the image's own
    EnvironmentMap proxies;        ///< http_proxy and its like
    EnvironmentMap pip;            ///< PIP_INDEX_URL and its like
    bool accepts_expired_indexes = false;
    bool is_verbose = false;
    StepOutput output = StepOutput::kKept;
    bool has_one_id = false;   ///< nothing can belong to anybody but root
    unsigned step_timeout = 0; ///< seconds; 0: none
    mode_t umask = 0022;
    bool follows_apptainer = false; ///< as StepRules
    EnvironmentMap variables;       ///< of the caller, over the usual ones
    std::int64_t epoch = -1;        ///< SOURCE_DATE_EPOCH of the steps; -1: none
};

/// How a script ended, with the last lines of its output.
struct ScriptEnd {
    int code = 0;
    std::string last_lines;
    PackageCount packages = {};
    std::string state = {}; ///< of a failed script's shell (recording_script())
};

} // namespace cybele::builder
