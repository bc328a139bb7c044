// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>

namespace cybele::jobs {

/// Verifies the image as the Job and its Site ask (`verify`), before anything is submitted; does
/// nothing where neither asks. kVerification with who asked; `now` is Unix seconds.
[[nodiscard]] Result<void>
verify_image(const JobInput& input, const Environment& environment, std::int64_t now);

/// The same of a file that is to become the Job's image.
[[nodiscard]] Result<void> verify_file(const JobInput& input,
                                       const std::filesystem::path& file,
                                       const Environment& environment,
                                       std::int64_t now);

} // namespace cybele::jobs
