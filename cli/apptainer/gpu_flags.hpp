// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// `build --nv|--nvccli|--rocm`: where the host has no such driver, nothing is to be done, and a
/// line says so; kEnvironment where it has one, since build steps see no GPU.
[[nodiscard]] Result<void> check_gpu_flags(const Session& session, const OtherCall& call);

} // namespace cybele::cli
