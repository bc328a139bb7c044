// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>

namespace cybele::pipeline {

/// Compares two images of one build, signatures left out. kExecution where they differ, naming the
/// files (the first of them) that do.
[[nodiscard]] Result<void> compare_builds(const std::filesystem::path& one,
                                          const std::filesystem::path& other);

} // namespace cybele::pipeline
