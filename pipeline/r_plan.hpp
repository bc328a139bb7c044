// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/config_files.hpp"
#include "pipeline/evidence.hpp"
#include "pipeline/source_folder.hpp"
#include "recipes/import/draft.hpp"

#include <string>
#include <vector>

namespace cybele::pipeline {

/// Whether the program is in R: the folder has one, and none in Python, or asks for R as in
/// repo2docker: by a DESCRIPTION, a runtime.txt with `r-…`, or a renv.lock.
[[nodiscard]] bool has_r_program(const SourceFolder& folder, const FolderEvidence& evidence);

/// Whether there is something to compile: else a Makefile next to a program in R does not build it.
[[nodiscard]] bool has_native_source(const SourceFolder& folder);

/// The file that starts the program: the only one, `main.R` and its like, or the first. Empty:
/// there is none; files of a package of R, and of its tests, are none.
[[nodiscard]] std::string r_program(const SourceFolder& folder, const std::string& name);

/// R and the packages that the program loads: those of renv.lock as `recipe import` installs them,
/// else those of Debian; others are named in `assumed`. Lists of Python packages count, too.
[[nodiscard]] ConfigUse plan_r_packages(const SourceFolder& folder,
                                        const FolderEvidence& evidence,
                                        const std::string& folder_from,
                                        recipes::Draft& draft,
                                        std::vector<std::string>& assumed);

/// Copies the program into the image; gives its path there.
[[nodiscard]] std::string plan_r_program(const SourceFolder& folder,
                                         const std::string& folder_from,
                                         recipes::Draft& draft,
                                         std::vector<std::string>& assumed);

} // namespace cybele::pipeline
