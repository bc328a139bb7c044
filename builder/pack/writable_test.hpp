// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/steps/host_environment.hpp"
#include "support/error.hpp"

#include <filesystem>

namespace cybele::builder {

/// Runs the image's own test action on a tree that takes changes: they go to a layer over it, which
/// is thrown away. kEnvironment where no such layer can be mounted. For the process apart.
[[nodiscard]] Result<ScriptEnd> run_writable_test(const std::filesystem::path& root,
                                                  const HostEnvironment& host_environment);

} // namespace cybele::builder
