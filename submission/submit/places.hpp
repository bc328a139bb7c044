// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/connection.hpp"
#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace cybele::submission {

/// kInput, at the Job's `workdir`, where it is no folder of this machine.
[[nodiscard]] Result<void> check_workdir(const launchers::Job& job,
                                         const std::filesystem::path& workdir);

/// The same and, at each output, whether its folder is there: a scheduler that cannot open an
/// output ends the job before it begins, and tells it to nobody. Absolute places of a cluster may
/// be those of its nodes alone: they are not looked at.
[[nodiscard]] Result<void> check_folders(const launchers::Job& job,
                                         const std::filesystem::path& workdir,
                                         const std::string& scheduler);

/// What a submission would miss on this machine, found before anything is built or copied: the
/// folders above (without outputs where `stage-in` may bring them) and what `verify` names. All at
/// once (kInput), each at its place. Behind a login (ssh, REST) the folders are of another machine;
/// so are the keys where the image is. `now` is Unix seconds.
[[nodiscard]] Result<void> check_places(const JobInput& input,
                                        const Environment& environment,
                                        const Connection& connection,
                                        std::int64_t now);

} // namespace cybele::submission
