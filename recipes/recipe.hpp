// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/definition.hpp"
#include "support/error.hpp"
#include "support/yaml.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

struct Base {
    std::string distribution; ///< "debian:12"; else
    std::string image;        ///< a path or reference
    std::string arch = "amd64";
    std::string key;
};

struct HostMpi {
    std::string launcher;
    std::string family;
    std::string version;
    std::string pmi;
};

struct RecipeMpi {
    std::string family; ///< openmpi, mpich, mvapich2, mvapich, intel; empty: no MPI
    std::string version;
    std::string from = "distribution"; ///< distribution, source, base
    std::optional<HostMpi> host;
};

struct SourcePackage {
    std::string name;
    std::string url;
    std::string sha256;
    std::string git;
    std::string commit;
    std::string build = "autotools";
    std::vector<std::string> options;
    std::string script;
};

struct Packages {
    std::vector<std::string> system; ///< name[=version], for the base's manager
    std::vector<std::string> needs;  ///< generic names of the table
    std::vector<std::string> pip;
    std::vector<std::string> conda_channels;
    std::vector<std::string> conda_packages;
    std::vector<std::string> spack;
    std::vector<SourcePackage> source;
};

struct FileCopy {
    std::string from;
    std::string to;
    std::string mode;
    std::string stage;
    yaml::Mark mark;
};

struct EnvironmentValue {
    enum class How { kSet, kPrepend, kAppend };
    How how = How::kSet;
    std::string value;
};

struct Step {
    std::string run;
    std::string shell = "sh";
    std::string workdir;
    yaml::Mark mark;
};

/// The fields that a stage and the top level share.
struct StageFields {
    std::optional<Base> base;
    RecipeMpi mpi;
    std::string gpu_vendor;
    std::string gpu_version;
    std::string compiler_family;
    std::string compiler_version;
    std::string compiler_target;
    Packages packages;
    std::vector<FileCopy> files;
    std::vector<std::pair<std::string, EnvironmentValue>> environment; ///< sorted by name
    std::vector<Step> steps;
};

struct RecipeStage : StageFields {
    std::string name;
};

struct RecipeApp {
    std::vector<Step> steps;
    std::vector<FileCopy> files;
    std::vector<std::pair<std::string, EnvironmentValue>> environment;
    std::vector<std::string> run_argv;
    std::string run_script;
    std::string test;
    std::string help;
    std::map<std::string, std::string> labels;
};

/// What a program needs: the document of kind Recipe, read and checked. `include`, `when`, `matrix`
/// and `args` are already resolved where a Recipe is given for one variant; the raw document stays
/// in `document`.
struct Recipe : StageFields {
    std::string name;
    std::string version = "0";
    std::map<std::string, std::string> args;
    std::vector<std::string> run_argv;
    std::string run_script;
    std::string test;
    std::string help;
    std::map<std::string, std::string> labels;
    std::vector<RecipeStage> stages;
    std::map<std::string, RecipeApp> apps;
    std::string compression = "zstd";
    std::string sbom = "spdx";

    std::string digest;           ///< SHA-256 (hex) of the document's text
    std::filesystem::path folder; ///< relative inputs start here
    yaml::Source source{"", ""};
    std::map<std::string, yaml::Mark> marks;
    /// What the document asks and this version cannot build yet, each with its place;
    /// render_definition() refuses it.
    std::vector<Fault> not_yet;

    /// A fault at a field ("stages[0].mpi"), or at the nearest field around it.
    [[nodiscard]] Fault fault_at(std::string_view field,
                                 std::string message,
                                 std::string because = {},
                                 std::string remedy = {}) const;
};

/// Reads a document of kind Recipe. All faults at once, each with its place (kInput). What this
/// version does not build yet is refused by render_definition() with "not yet: …", never ignored.
[[nodiscard]] Result<Recipe> read_recipe(std::string text, const std::filesystem::path& file);

/// The same with values for `args` (`--arg x=v`); one that the Recipe does not have is kUsage.
[[nodiscard]] Result<Recipe> read_recipe(std::string text,
                                         const std::filesystem::path& file,
                                         const std::map<std::string, std::string>& arguments);

/// A definition made from a Recipe, and the labels (facts) that its image gets.
struct Rendered {
    definitions::Definition definition;
    std::map<std::string, std::string>
        labels; ///< cybelectl.recipe, cybelectl.mpi, cybelectl.mpi-probe, …
};

/// The definition file for a Recipe; `mirror` empty: `{{ mirror }}` stands in its place. Pure: same
/// input, same bytes.
[[nodiscard]] Result<Rendered> render_definition(const Recipe& recipe,
                                                 const std::string& mirror = {});

} // namespace cybele::recipes
