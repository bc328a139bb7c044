// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/evidence.hpp"
#include "pipeline/source_folder.hpp"
#include "recipes/import/draft.hpp"

#include <string>
#include <vector>

namespace cybele::pipeline {

/// Adds the stage that compiles somebody's source, and what its program requires afterwards.
/// `folder_from` is the folder of the source, seen from the Recipe. What was decided is added to
/// `assumed`. Gives the program's path in the image.
[[nodiscard]] std::string plan_native_build(const SourceFolder& folder,
                                            const FolderEvidence& evidence,
                                            const std::string& folder_from,
                                            recipes::Draft& draft,
                                            std::vector<std::string>& assumed);

/// Copies of the source into the image, below `to`: its top entries that have files of these
/// patterns, or the folder as it stands where they are many.
[[nodiscard]] std::vector<recipes::FileCopy> source_copies(const SourceFolder& folder,
                                                           std::string_view patterns,
                                                           const std::string& folder_from,
                                                           const std::string& to,
                                                           std::vector<std::string>& assumed);

/// The programs of a CMakeLists.txt or a Makefile, in the file's order.
[[nodiscard]] std::vector<std::string> cmake_programs(std::string_view text);
[[nodiscard]] std::vector<std::string> make_programs(std::string_view text);

} // namespace cybele::pipeline
