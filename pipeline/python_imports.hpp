// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/source_folder.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace cybele::pipeline {

/// A module that a program in Python imports.
struct PythonImport {
    std::string module; ///< its first word: "bs4" of `from bs4.element import Tag`
    std::string file;
    std::size_t line = 0;
};

/// Modules that neither Python nor the folder itself has, each at its first place, sorted by name.
/// Lines within texts of three quotes are not read.
[[nodiscard]] std::vector<PythonImport> foreign_imports(const SourceFolder& folder);

} // namespace cybele::pipeline
