// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/images.hpp"
#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>

namespace cybele::submission {

struct FetchRequest {
    const registry::Transport* transport = nullptr;
    registry::StoreFolder store;
    std::int64_t now = 0;        ///< Unix seconds, for the store
    std::int64_t build_time = 0; ///< Unix seconds, for certificates and keys
};

/// Whether the Job names an image of a registry or a library (`oras://`, `library://`).
[[nodiscard]] bool is_remote(const JobInput& input);

/// Brings such an image into the store, once, and makes the Job's image that file: with its digest,
/// its facts, and its name in the store. Of an image that is there nothing is downloaded. What the
/// Job or its Site demand of signatures is asked before the image is kept. Faults have the place
/// of the Job's `image`; codes as of registry::pull().
[[nodiscard]] Result<void>
fetch_image(JobInput& input, const FetchRequest& request, const Environment& environment);

} // namespace cybele::submission
