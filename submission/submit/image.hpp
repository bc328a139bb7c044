// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/image_build.hpp"
#include "registry/oci/images.hpp"
#include "submission/backends/connection.hpp"
#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

using OnWord = std::function<void(const std::string&)>; ///< what a person should know meanwhile

/// Where the image of a Job comes from.
struct ImageRequest {
    pipeline::ImageBuild build;  ///< how an image is built where the Job names a Recipe
    bool builds = true;          ///< whether one that is missing or not current is built
    registry::StoreFolder store; ///< where images `store:…` are
    const registry::Transport* transport = nullptr; ///< to registries; unset: none is asked
    std::int64_t clock = 0; ///< Unix seconds; keeps an image of the store from gc
    OnWord on_word;
};

/// Makes sure that the image is there before a submission: one of a Recipe is built where it is
/// missing or not current, with a word that says why; one of a registry is pulled; any other must
/// exist. kInput where `builds` is off and a build is needed, as pipeline::state_of_image() and
/// pipeline::build_image() for the rest. Gives warnings about an image that is used.
[[nodiscard]] Result<std::vector<Fault>> provide_image(JobInput& input,
                                                       const ImageRequest& request,
                                                       const Environment& environment,
                                                       const Connection& connection);

/// An image of OCI, as `docker://debian`, which a submission does not convert; unset: another one.
[[nodiscard]] std::optional<Fault> unstartable_image(const JobInput& input);

/// The error of an image that a Job names by its file, where that file is on this machine or is
/// sent from it, and does not exist.
[[nodiscard]] std::optional<Fault> missing_image(const JobInput& input,
                                                 const Connection& connection);

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
find_image_digest(JobInput& input, const Environment& environment, const Connection& connection);

} // namespace cybele::submission
