// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/model/recipe.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

/// A step of a Recipe that is being written, with the comments that stood above it.
struct DraftStep {
    std::string run;
    std::string shell = "sh";
    std::string workdir{};
    std::vector<std::string> comments{};
    bool has_environment = true;
    std::size_t line = 0; ///< of the file that it is made from; 0: not known
};

/// The fields of a stage that an importer can set. Texts are as the Recipe has them: `@{x}` names
/// an argument, a literal `@{` is `@@{`.
struct DraftStage {
    std::string name;
    std::string base;  ///< a distribution, else
    std::string image; ///< an image
    RecipeMpi mpi;
    Packages packages;
    std::vector<FileCopy> files;
    std::map<std::string, EnvironmentValue> environment;
    std::vector<DraftStep> steps;
};

/// A SCIF app; its fields are those of a stage and of the Recipe.
struct DraftApp {
    std::vector<DraftStep> steps;
    std::vector<FileCopy> files;
    std::map<std::string, EnvironmentValue> environment;
    std::vector<std::string> run_argv;
    std::string run_script;
    std::string test;
    std::string help;
    std::map<std::string, std::string> labels;
};

struct Draft : DraftStage {
    std::string version;
    std::map<std::string, std::string> args;
    std::vector<std::string> run_argv;
    std::string run_script;
    std::string help;
    std::string test;
    std::map<std::string, std::string> labels;
    std::vector<DraftStage> stages;
    std::map<std::string, DraftApp> apps;
};

/// `distribution` or `image`, whichever the name is: `debian:12` is one of the table's releases.
void set_base(DraftStage& stage, const std::string& name);

/// The Recipe as yaml, below the comments of `head`. The same draft gives the same bytes.
[[nodiscard]] std::string print_draft(const Draft& draft, const std::vector<std::string>& head);

} // namespace cybele::recipes
