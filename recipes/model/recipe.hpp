// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/dialect.hpp"
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
    std::string pmi; ///< pmix, pmi2, or a version of them: pmix_v4
    std::string
        site{}; ///< of a Site, from the Recipe's folder: it says the rest (project/recipe_file)

    /// Whether it is a Site that nobody has read.
    [[nodiscard]] bool is_unread() const {
        return !site.empty() && family.empty() && launcher.empty();
    }
};

struct RecipeMpi {
    std::string family; ///< openmpi, mpich, mvapich2, mvapich, intel; empty: no MPI
    std::string version;
    std::string from = "distribution"; ///< distribution, source, base
    std::optional<HostMpi> host;
    std::string pmi{}; ///< what it speaks where the Recipe's own building decides (recipes/mpi)
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

/// A further repository of the base's package manager.
struct Repository {
    std::string url;
    std::vector<std::string> suites;     ///< of apt
    std::vector<std::string> components; ///< of apt
    std::string key;                     ///< a file: the OpenPGP key that signs it
    std::string fingerprint;             ///< of that key
    std::string key_text;                ///< what the file holds; empty: it cannot be read
};

struct Packages {
    std::vector<std::string> system; ///< name[=version], for the base's manager
    bool recommends = false;         ///< with what the manager recommends, as it does by default
    std::string manager{};           ///< of a base whose name does not tell it; empty: the base's
    std::vector<std::string> needs;  ///< generic names of the table
    std::vector<std::string> pip;
    std::vector<std::string> conda_channels;
    std::vector<std::string> conda_packages;
    std::vector<std::string> spack;
    std::vector<SourcePackage> source;
    std::vector<Repository> repositories{};
};

struct FileCopy {
    std::string from;
    std::string to;
    std::string mode;
    std::string stage;
    yaml::Mark mark;
    std::vector<std::string> allow{}; ///< private keys and their like that are taken all the same
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
    bool has_environment = true; ///< `environment` of the Recipe is set in it
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
/// and `args` are resolved: it is one variant.
struct Recipe : StageFields {
    std::string name;
    std::string version = "0";
    std::map<std::string, std::string> args; ///< with those of the matrix
    std::string variant;                     ///< NAME-V1-V2, which is `name` too; empty: no matrix
    std::vector<std::string> variants;       ///< the names of all; empty: no matrix
    std::vector<std::string> run_argv;
    std::string run_script;
    std::string test;
    std::string help;
    std::map<std::string, std::string> labels;
    std::vector<RecipeStage> stages;
    std::map<std::string, RecipeApp> apps;
    std::string compression = "zstd";
    std::string sbom = "spdx";

    std::string digest; ///< SHA-256 (hex) of the Recipe with its includes, normalised
    /// The fields of the Recipe with its includes: name → value, normalised. Sorted.
    std::vector<std::pair<std::string, std::string>> fields;
    std::string package_fields; ///< what of them determines packages, for packages_digest()
    /// The same by field, as package_parts_of() has it, for a Lock's `fields`.
    std::vector<std::pair<std::string, std::string>> package_parts;
    std::string text;             ///< as yaml, with nothing left to resolve
    std::filesystem::path folder; ///< relative inputs start here
    yaml::Source source{"", ""};
    std::map<std::string, yaml::Mark> marks;
    /// What the document asks and this version cannot build yet, each with its place;
    /// render_definition() refuses it.
    std::vector<Fault> not_yet;

    /// A fault at a field ("stages[0].mpi"), or at the nearest field around it.
    [[nodiscard]] Fault fault_at(std::string_view field,
                                 Problem problem,
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

/// One variant of a Recipe by its name; empty: the first. kUsage where there is no such variant.
[[nodiscard]] Result<Recipe> read_variant(std::string text,
                                          const std::filesystem::path& file,
                                          const std::map<std::string, std::string>& arguments,
                                          const std::string& variant);

/// All variants of a Recipe, at least one; the faults of all at once.
[[nodiscard]] Result<std::vector<Recipe>>
read_variants(std::string text,
              const std::filesystem::path& file,
              const std::map<std::string, std::string>& arguments);

/// A definition made from a Recipe, and the labels (facts) that its image gets.
struct Rendered {
    definitions::Definition definition;
    std::map<std::string, std::string>
        labels; ///< cybelectl.recipe, cybelectl.mpi, cybelectl.mpi-probe, …
};

struct LockVariant;

/// What a rendering depends on besides the Recipe.
struct RenderOptions {
    std::string mirror;                ///< empty: `{{ mirror }}` stands in its place
    const LockVariant* lock = nullptr; ///< exact versions
    bool may_be_unverified = false;    ///< take pip packages that have no checksum
    definitions::Dialect dialect = definitions::kApptainer;
};

/// The definition file for a Recipe. Pure: same input, same bytes.
[[nodiscard]] Result<Rendered> render_definition(const Recipe& recipe,
                                                 const RenderOptions& options);
[[nodiscard]] Result<Rendered> render_definition(const Recipe& recipe,
                                                 const std::string& mirror = {});

/// The same as a Dockerfile (BuildKit's or Buildah's), stages and all.
[[nodiscard]] Result<std::string> render_dockerfile(const Recipe& recipe,
                                                    const RenderOptions& options);

/// What is allowed, but worth a word: bases out of support, images without a digest, MPI on musl.
[[nodiscard]] std::vector<Fault> warnings_of(const Recipe& recipe);

/// What the rendered file does not ask of its builder, a warning for each: a definition file and a
/// Dockerfile cannot name the key that verifies the base (`base.key`).
[[nodiscard]] std::vector<Fault> not_rendered(const Recipe& recipe);

} // namespace cybele::recipes
