// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/stage/base.hpp"
#include "recipes/tables/tables.hpp"

#include <string>
#include <vector>

/// Further repositories of a package manager, each with the one key that signs it.
namespace cybele::recipes {

/// Adds them, with their keys; repository_end_lines() removes both.
[[nodiscard]] std::string repository_lines(const ManagerRow& manager,
                                           const std::vector<Repository>& repositories);
[[nodiscard]] std::string repository_end_lines(const ManagerRow& manager,
                                               const std::vector<Repository>& repositories);

/// Faults of a stage's repositories; a key with another fingerprint is kVerification.
void check_repositories(const StageContext& context, Faults& faults);

} // namespace cybele::recipes
