// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::recipes {

/// Templates that `init --template` knows; the first is the default.
[[nodiscard]] std::vector<std::string_view> template_names();

/// The files of a new project, path (relative) and text, sorted by path: NAME.yaml, README.md,
/// job.yaml, src/hello.c. A name that is no is_name() or an unknown template is kUsage.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>>
project_template(std::string_view name, std::string_view template_name = "mpi");

/// A commented Recipe to begin with (`recipe new`).
[[nodiscard]] Result<std::string> new_recipe(std::string_view name);

/// The text of templates/jobs/LAUNCH.yaml with its marks (`@NAME@`) replaced. kUsage where there is
/// no such launch.
[[nodiscard]] Result<std::string>
job_template(std::string_view launch,
             const std::vector<std::pair<std::string_view, std::string>>& marks);

/// The Recipes that the program brings along: name and text, sorted.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> catalogue();

} // namespace cybele::recipes
