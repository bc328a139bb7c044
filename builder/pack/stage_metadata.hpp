// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/pack/stage.hpp"

#include <filesystem>
#include <string>
#include <string_view>

/// What a stage's sections say of its image, besides its steps.
namespace cybele::builder {

/// The last section of this name; null: there is none.
[[nodiscard]] const definitions::Section* last_section(const definitions::Stage& stage,
                                                       std::string_view name);

/// The arguments of the last section of this name that has some, which hold for all.
[[nodiscard]] std::string arguments_of(const definitions::Stage& stage, std::string_view name);

/// Writes the scripts, labels and texts of the stage into its tree.
[[nodiscard]] Result<void> write_stage_metadata(const StageContext& context,
                                                const StagePlan& plan,
                                                const std::filesystem::path& root);

/// A program that cannot start is reported here, not by exit code 127 in a job.
void warn_of_libraries(const StageContext& context,
                       const StagePlan& plan,
                       const std::filesystem::path& root);

} // namespace cybele::builder
