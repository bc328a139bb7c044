// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "support/environment.hpp"
#include "support/passphrase.hpp"

#include <filesystem>
#include <string>

namespace cybele::pipeline {

/// What every build and every Lock obeys, whichever verb makes it: `build`, `submit`, `recipe
/// lock`. What is rendered (`generate`) obeys none of it, so that its bytes are the same
/// everywhere.
struct BuildSettings {
    std::string builder = "embedded"; ///< embedded, apptainer, singularity
    builder::PackageSources packages;
    std::filesystem::path sign_key;
    PassphraseSource sign_passphrase; ///< of an encrypted one
    /// How images that stages begin with are reached; their keys and digests are the Recipe's and
    /// the Lock's.
    builder::BaseImages bases;
    unsigned stages_at_once = 1;
    builder::BuildTime time;
    /// With the folders of the cache and of temporary trees.
    Environment environment;
    builder::BuildReporter reporter;
};

} // namespace cybele::pipeline
