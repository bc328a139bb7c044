// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/source_folder.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// A package that a program in R loads.
struct RUse {
    std::string package;
    std::string file;
    std::size_t line = 0;
};

/// The packages that a text loads by `library(x)`, `require(x)`, `loadNamespace("x")`,
/// `requireNamespace("x")` and `x::y`, each at its first line; comments and texts are not read.
[[nodiscard]] std::vector<RUse> packages_loaded(std::string_view text, const std::string& file);

/// Those of all files of R of the folder but install.R and those below tests/ and vignettes/, each
/// at its first place, sorted by name; without packages that R itself has.
[[nodiscard]] std::vector<RUse> foreign_packages(const SourceFolder& folder);

/// Whether R itself has the package: stats, parallel, ….
[[nodiscard]] bool is_own_package(std::string_view package);

/// What the folder's DESCRIPTION asks for: its name, and `Depends`, `Imports` and `LinkingTo` as
/// packages with their conditions ("ggplot2", ">= 3.0").
struct RDescription {
    struct Item {
        std::string package;
        std::string condition;
    };
    std::string package;
    std::vector<Item> items;
};
[[nodiscard]] RDescription read_description(std::string_view text);

} // namespace cybele::pipeline
