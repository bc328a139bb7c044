// SPDX-License-Identifier: Apache-2.0
#include "pipeline/document_kind.hpp"

#include "pipeline/image_source.hpp"
#include "pipeline/project_file.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/yaml.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include <strings.h>

namespace cybele::pipeline {

namespace fs = std::filesystem;

namespace {

/// Of the first line `kind: X`, unless it lies in a definition, which may hold a Recipe in its
/// %post: a line `Bootstrap:` comes before any section there, and is in no document of ours.
std::string kind_of_damaged(const std::string& text) {
    constexpr std::string_view kKind = "kind:";
    constexpr std::string_view kBootstrap = "bootstrap";
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (::strncasecmp(line.c_str(), kBootstrap.data(), kBootstrap.size()) == 0) {
            const std::size_t next = line.find_first_not_of(" \t", kBootstrap.size());
            if (next != std::string::npos && line[next] == ':') {
                return {};
            }
        }
        if (line.starts_with(kKind)) {
            const std::size_t begin = line.find_first_not_of(" \t", kKind.size());
            return begin == std::string::npos
                       ? std::string()
                       : line.substr(begin, line.find_first_of(" \t\r#", begin) - begin);
        }
    }
    return {};
}

} // namespace

std::string document_kind(const fs::path& file) {
    const auto text = read_file(file, std::size_t{1} << 20U);
    if (!text) {
        return {};
    }
    const auto document = yaml::parse(*text, file.native());
    if (!document) {
        // A damaged document still tells its kind in its first lines, so that the right reader
        // reports its faults.
        return kind_of_damaged(*text);
    }
    const yaml::Node* kind = document->root.find("kind");
    return kind != nullptr ? kind->scalar : std::string();
}

std::vector<fs::path> documents_in(const fs::path& folder, std::string_view kind) {
    std::error_code error;
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const bool is_yaml =
            entry.path().extension() == ".yaml" || entry.path().extension() == ".yml";
        if (is_yaml && entry.is_regular_file(error) && document_kind(entry.path()) == kind) {
            found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<fs::path> recipes_in(const fs::path& folder) {
    return documents_in(folder, "Recipe");
}

Result<fs::path> find_recipe(const fs::path& folder) {
    std::error_code error;
    std::string name = fs::absolute(folder, error).lexically_normal().filename().native();
    if (name.empty()) {
        name = fs::absolute(folder, error).lexically_normal().parent_path().filename().native();
    }
    const fs::path first = folder / (name + ".yaml");
    if (fs::is_regular_file(first, error) && document_kind(first) == "Recipe") {
        return first;
    }
    const std::vector<fs::path> found = recipes_in(folder);
    if (found.size() == 1) {
        return found.front();
    }
    if (found.empty()) {
        return fail(ErrorCode::kInput,
                    problem("folder-without-recipe", "no Recipe in " + printable(folder.native())),
                    "there is no *.yaml with `kind: Recipe` in it, and no root file system either "
                    "(/.singularity.d or /bin/sh)",
                    "`cybelectl init NAME` makes a Recipe; `cybelectl build --help` lists sources");
    }
    return fail(
        ErrorCode::kInput,
        problem("folder-with-several-recipes", "several Recipes in " + printable(folder.native())),
        printable(found[0].native()) + " and " + printable(found[1].native()) + " are two of them",
        "name one of them, or build all: `cybelectl build " + shell_quote(folder.native()) +
            " --all`");
}

SourceKind source_kind(const fs::path& source) {
    if (source == "-") {
        return SourceKind::kDefinition; // standard input is read once, as the definition
    }
    if (image_source(source)) {
        return SourceKind::kImage;
    }
    const std::string extension = source.extension();
    const bool is_recipe =
        extension == ".yaml" || extension == ".yml" || document_kind(source) == "Recipe";
    return is_recipe ? SourceKind::kRecipe : SourceKind::kDefinition;
}

Result<fs::path> find_source(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error) || image_source(path)) {
        return path;
    }
    auto own = find_recipe(path);
    if (own) {
        return own;
    }
    CYBELE_TRY(const ProjectFile project, find_project(path));
    const auto files = documents_of(project.folder, project.recipes);
    if (files.size() == 1) {
        return path / files.front();
    }
    if (files.empty()) {
        return own;
    }
    return fail(
        ErrorCode::kInput,
        problem("folder-with-several-recipes", "several Recipes in " + printable(path.native())),
        printable(files[0].native()) + " and " + printable(files[1].native()) + " are two of them",
        "name one of them, or build all: `cybelectl build " + shell_quote(path.native()) +
            " --all`");
}

} // namespace cybele::pipeline
