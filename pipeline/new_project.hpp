// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::pipeline {

/// Makes a folder with a Recipe, a Job, sources and a README from a template (`mpi`, `serial`). A
/// folder that holds one of the files already is refused, with their names. Gives the files made.
[[nodiscard]] Result<std::vector<std::filesystem::path>>
new_project(const std::filesystem::path& folder, const std::string& template_name);

/// The last part of a folder's name, also of `.` and of `DIR/`.
[[nodiscard]] std::string name_of_folder(const std::filesystem::path& folder);

} // namespace cybele::pipeline
