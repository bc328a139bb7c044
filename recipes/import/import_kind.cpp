// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/import_kind.hpp"

#include "recipes/forms/ledger.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

namespace cybele::recipes {
namespace {

namespace fs = std::filesystem;

struct KindRow {
    ImportKind kind;
    std::string_view word;
    std::string_view title; ///< for the Recipe's first comment
};
constexpr KindRow kKinds[] = {
    {ImportKind::kDockerfile, "dockerfile", "a Dockerfile"},
    {ImportKind::kConda, "conda", "a conda environment"},
    {ImportKind::kRequirements, "requirements", "pip's requirements"},
    {ImportKind::kSpack, "spack", "a Spack environment"},
    {ImportKind::kCondaLock, "conda-lock", "a conda lock"},
    {ImportKind::kDefinition, "definition", "a definition file"},
    {ImportKind::kPyproject, "pyproject", "a Python project"},
    {ImportKind::kUvLock, "uv-lock", "a lock of uv"},
    {ImportKind::kPoetryLock, "poetry-lock", "a lock of Poetry"},
    {ImportKind::kPixiLock, "pixi-lock", "a lock of pixi"},
    {ImportKind::kRenvLock, "renv-lock", "a lock of renv"},
    {ImportKind::kPipfile, "pipfile", "a Pipfile"},
    {ImportKind::kPipfileLock, "pipfile-lock", "a lock of Pipenv"},
    {ImportKind::kHpccm, "hpccm", "a recipe of HPCCM"},
};

/// Names of files that say what they are; `*` stands for anything.
struct NameRow {
    std::string_view start;
    std::string_view end;
    ImportKind kind;
};
constexpr NameRow kFileNames[] = {
    {"dockerfile", "", ImportKind::kDockerfile},
    {"containerfile", "", ImportKind::kDockerfile},
    {"", ".dockerfile", ImportKind::kDockerfile},
    {"", ".containerfile", ImportKind::kDockerfile},
    {"spack", ".yaml", ImportKind::kSpack},
    {"", "conda-lock.yml", ImportKind::kCondaLock},
    {"", "conda-lock.yaml", ImportKind::kCondaLock},
    {"conda-", ".lock", ImportKind::kCondaLock},
    {"", "uv.lock", ImportKind::kUvLock},
    {"", "poetry.lock", ImportKind::kPoetryLock},
    {"", "pixi.lock", ImportKind::kPixiLock},
    {"", "renv.lock", ImportKind::kRenvLock},
    {"", "pyproject.toml", ImportKind::kPyproject},
    {"", "pipfile", ImportKind::kPipfile},
    {"", "pipfile.lock", ImportKind::kPipfileLock},
    {"environment", ".yml", ImportKind::kConda},
    {"environment", ".yaml", ImportKind::kConda},
    {"", "requirements.txt", ImportKind::kRequirements},
    {"requirements", ".txt", ImportKind::kRequirements},
    {"requirements", ".in", ImportKind::kRequirements},
    {"", ".def", ImportKind::kDefinition},
    {"singularity", "", ImportKind::kDefinition},
    {"apptainer", "", ImportKind::kDefinition},
};

/// What begins a line of each, for files whose name says nothing.
struct ContentRow {
    std::string_view start;
    ImportKind kind;
};
constexpr ContentRow kContents[] = {
    {"@EXPLICIT", ImportKind::kCondaLock},
    {"spack:", ImportKind::kSpack},
    {"package:", ImportKind::kCondaLock},
    {"dependencies:", ImportKind::kConda},
    {"FROM ", ImportKind::kDockerfile},
    {"from ", ImportKind::kDockerfile},
    {"Bootstrap:", ImportKind::kDefinition},
    {"BootStrap:", ImportKind::kDefinition},
    {"bootstrap:", ImportKind::kDefinition},
    {"%post", ImportKind::kDefinition},
    {"Stage0", ImportKind::kHpccm},
};

const KindRow& row_of(ImportKind kind) {
    for (const auto& row : kKinds) {
        if (row.kind == kind) {
            return row;
        }
    }
    return kKinds[0];
}

std::string listed_words() {
    std::string words;
    for (const auto& row : kKinds) {
        words += (words.empty() ? "" : ", ") + std::string(row.word);
    }
    return words;
}

tl::unexpected<Error> removed_blocks() {
    return fail(
        ErrorCode::kUsage,
        problem("building-blocks-removed", "lists of building blocks are not supported any more"),
        "a Recipe declares the same libraries with checked names and versions",
        "write them as `packages: {needs: [cmake, hdf5]}` of a Recipe (`cybelectl explain "
        "recipe` lists the names)");
}

} // namespace

std::string_view import_title(ImportKind kind) {
    return row_of(kind).title;
}

std::string_view import_word(ImportKind kind) {
    return row_of(kind).word;
}

std::vector<std::string> import_words() {
    std::vector<std::string> words;
    for (const auto& row : kKinds) {
        words.emplace_back(row.word);
    }
    return words;
}

Result<ImportKind> find_import_kind(std::string_view word) {
    for (const auto& row : kKinds) {
        if (row.word == word) {
            return row.kind;
        }
    }
    if (word == "needs") {
        return removed_blocks();
    }
    return fail(ErrorCode::kUsage,
                problem("import-kind-unknown", "unknown kind of file '" + printable(word) + "'"),
                "known are " + listed_words(),
                "leave --kind out, or use one of these");
}

Result<ImportKind> detect_import_kind(const fs::path& file, std::string_view text) {
    const std::string name = text::lowered(file.filename().native());
    for (const auto& row : kFileNames) {
        if (name.starts_with(row.start) && name.ends_with(row.end)) {
            return row.kind;
        }
    }
    for (const auto& line : lines_of(text.substr(0, kLongestImportByHand))) {
        if (line.starts_with("blocks:")) {
            return removed_blocks();
        }
        const bool is_python =
            line.starts_with("from ") && line.find(" import ") != std::string_view::npos;
        for (const auto& row : kContents) {
            if (line.starts_with(row.start) && !is_python) {
                return row.kind;
            }
        }
    }
    const auto other = recognize_file(text, file.native());
    if (other && other->command != "recipe import") {
        return fail(ErrorCode::kUsage,
                    problem("import-other-file",
                            "this is " + std::string(other->what) + ", which no import reads"),
                    "imported are files that list packages: " + listed_words(),
                    help_for_other_file(*other, file.native()));
    }
    return fail(ErrorCode::kUsage,
                problem("import-kind-unclear",
                        "cannot determine the type of '" + printable(file.native()) + "'"),
                "neither its name nor its lines show it",
                "use --kind: " + listed_words());
}

} // namespace cybele::recipes
