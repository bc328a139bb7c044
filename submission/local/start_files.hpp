// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "submission/local/queue.hpp"
#include "support/error.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::submission {

/// What a job of the local queue is started with: its script and the environment of who submitted
/// it, in FOLDER/local/UUID below the journal's folder (0700, 0600), which nobody shares, until the
/// job ends.
struct StartFiles {
    std::filesystem::path script;
    EnvironmentMap environment;
    std::vector<std::string> command; ///< of a script of the user's own; none: bash runs it
};

/// Keeps them; `spec.script` is the script's digest. kEnvironment where the folder is not the
/// user's own.
[[nodiscard]] Result<void> keep_start(const std::filesystem::path& folder,
                                      const LocalSpec& spec,
                                      std::string_view script,
                                      const EnvironmentMap& environment,
                                      const OwnScript* own = nullptr);
/// Brings them onto the disk: the machine may stop before the job has begun.
void secure_start(const std::filesystem::path& folder, const LocalSpec& spec);
/// kVerification where the script is not the one that was submitted. Those of a job that an older
/// cybelectl submitted lie in its record.
[[nodiscard]] Result<StartFiles> kept_start(const std::filesystem::path& folder,
                                            const LocalSpec& spec);
void forget_start(const std::filesystem::path& folder, const LocalSpec& spec);

} // namespace cybele::submission
