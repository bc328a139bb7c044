// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "support/environment.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace cybele::pipeline {

/// Where packages come from, and what proves the servers.
struct PackageSources {
    std::string mirror;
    std::string pip_index; ///< where pip asks in build steps; empty: where this machine's does
    std::filesystem::path ca_file;
};

/// What every build and every Lock obeys, whichever verb makes it: `build`, `submit`, `recipe
/// lock`. What is rendered (`generate`) obeys none of it, so that its bytes are the same
/// everywhere.
struct BuildSettings {
    std::string builder = "embedded"; ///< embedded, apptainer, singularity
    PackageSources packages;
    std::filesystem::path sign_key;
    /// How images that stages begin with are reached; their keys and digests are the Recipe's and
    /// the Lock's.
    builder::BaseImages bases;
    unsigned step_timeout = 0; ///< seconds; 0: any
    unsigned stages_at_once = 1;
    bool is_verbose = false;
    std::int64_t now = 0; ///< Unix seconds
    bool is_deterministic = false;
    /// With the folders of the cache and of temporary trees.
    Environment environment;
    std::function<void(const std::string&)> on_step;
};

} // namespace cybele::pipeline
