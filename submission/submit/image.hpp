// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <string>
#include <vector>

namespace cybele::submission {

struct SubmitRequest;

/// Makes sure that the image is there before a submission: one of a Recipe is built where it is
/// missing or not current, with a word that says why; one of a registry is pulled; any other must
/// exist. kInput where `builds` is off and a build is needed, as pipeline::state_of_image() and
/// pipeline::build_image() for the rest.
[[nodiscard]] Result<void> provide_image(JobInput& input,
                                         const SubmitRequest& request,
                                         const Environment& environment,
                                         const std::string& login);

/// What `job check` reports of an image of a Recipe, without building it: a warning where a
/// submission would build it again, what provide_image() would refuse as faults. Facts of an image
/// that is not current are dropped from `input`.
[[nodiscard]] Result<std::vector<Fault>> check_image(JobInput& input,
                                                     const pipeline::ImageBuild& build);

/// A warning where facts of the image are not taken over, since its Recipe is another one now.
[[nodiscard]] std::vector<Fault> image_notes(const JobInput& input);

/// Fills JobInput::file_digest for the job's record: the digest that the Job or the store names,
/// else that of the file, which is read only where it changed since it was read last. Empty for an
/// image that is a folder, or a file of another machine.
[[nodiscard]] Result<void>
find_image_digest(JobInput& input, const Environment& environment, const std::string& login);

} // namespace cybele::submission
