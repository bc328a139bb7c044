// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/connection.hpp"
#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::submission {

/// Verifies the image as the Job and its Site ask (`verify`), before anything is submitted; does
/// nothing where neither asks, or where the image lies_elsewhere(). kVerification with who asked;
/// `now` is Unix seconds.
[[nodiscard]] Result<void> verify_image(const JobInput& input,
                                        const Environment& environment,
                                        const Connection& connection,
                                        std::int64_t now);

/// The same as warnings, for who only renders the script: an image that does not exist yet, and
/// keys that cannot be read here, are not reported.
[[nodiscard]] std::vector<Fault> verification_notes(const JobInput& input,
                                                    const Environment& environment,
                                                    const Connection& connection,
                                                    std::int64_t now);

/// The same of a file that is to become the Job's image.
[[nodiscard]] Result<void> verify_file(const JobInput& input,
                                       const std::filesystem::path& file,
                                       const Environment& environment,
                                       std::int64_t now);

/// Whether what verify_image() reads can be read: keys and Policies of the Job and its Site. kInput
/// with all that is not there, each at its place; as images::load_trust() for what is in them.
[[nodiscard]] Result<void>
check_signers(const JobInput& input, const Environment& environment, std::int64_t now);

/// Whether the image is a path of the machine behind the connection and of that alone: it is
/// verified there.
[[nodiscard]] bool lies_elsewhere(const JobInput& input, const Connection& connection);

} // namespace cybele::submission
