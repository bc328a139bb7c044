// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/evidence.hpp"
#include "pipeline/python_packages.hpp"
#include "pipeline/source_folder.hpp"
#include "recipes/import/import.hpp"
#include "recipes/model/recipe.hpp"

#include <string>
#include <vector>

namespace cybele::pipeline {

/// A list of packages as `recipe import` reads it; what it leaves out is added to `assumed`.
[[nodiscard]] Result<recipes::Recipe> imported_list(const SourceFolder& folder,
                                                    const std::string& file,
                                                    recipes::ImportKind kind,
                                                    std::vector<std::string>& assumed);

/// What a folder is made for: with R, its Python packages come next to those of R.
enum class FolderLanguage { kPython, kR };

/// The folder's lists of Python packages in repo2docker's order: the environment of conda, else
/// Pipfile or its lock, else requirements.txt with pyproject.toml, setup.py or setup.cfg. For R,
/// requirements.txt counts next to the environment. Each list that is not used is named.
void take_python_lists(const SourceFolder& folder,
                       const FolderEvidence& evidence,
                       FolderLanguage language,
                       PythonPackages& packages,
                       std::vector<std::string>& assumed);

} // namespace cybele::pipeline
