// SPDX-License-Identifier: Apache-2.0
#include "pipeline/project_file.hpp"

#include "pipeline/document_kind.hpp"
#include "pipeline/pattern.hpp"
#include "support/document_view.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

#include <set>

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

using document::Field;
using document::Shape;
using document::Table;
using document::Type;
using document::ValueFault;

/// Parts of a path that kind out of the project's folder.
ValueFault check_inside(std::string_view text) {
    const bool leads_up = text == ".." || text.starts_with("../") || text.ends_with("/..") ||
                          text.find("/../") != std::string_view::npos;
    if (text.starts_with('/') || text.starts_with('~') || leads_up) {
        return {"a project's files are in its folder", "write a path below it"};
    }
    return {};
}

constexpr document::Rule kInsideRule{"a path in the project", "", check_inside};
constexpr Shape kInside{.type = Type::kPath, .rule = &kInsideRule};
constexpr Shape kPatterns{.type = Type::kList, .item = &kInside};
constexpr Field kProjectFields[] = {
    {"recipes", &kPatterns, "Recipes", false, "[recipes/*.yaml]"},
    {"jobs", &kPatterns, "Jobs", false, "[jobs/*.yaml]"},
    {"sites", &kPatterns, "Sites; every Job is rendered for every one", false, "[sites/*.yaml]"},
    {"output", &kInside, "folder for `NAME[.SITE].{def,sh,yaml}`", false, "generated"},
};
constexpr Table kProjectTable{.title = "Project", .fields = kProjectFields};
constexpr document::Kind kProject{
    .name = "Project", .description = "Where a project's documents lie.", .table = &kProjectTable};

/// Files that the Project names and that do not exist: what was generated from them would be
/// removed.
void check_named_files(document::Reading& reading, const ProjectFile& project) {
    const std::pair<const char*, const std::vector<std::string>*> lists[] = {
        {"recipes", &project.recipes}, {"jobs", &project.jobs}, {"sites", &project.sites}};
    for (const auto& [field, patterns] : lists) {
        for (std::size_t at = 0; at < patterns->size(); ++at) {
            const std::string& name = (*patterns)[at];
            std::error_code error;
            if (name.find_first_of("*?") == std::string::npos &&
                !std::filesystem::exists(project.folder / name, error)) {
                reading.complain(
                    fmt::format("{}[{}]", field, at),
                    problem("project-file-missing", "no such file: " + printable(name)),
                    "it is named in full, so it belongs to the project",
                    "correct the name, or remove it");
            }
        }
    }
}

/// Documents are not read from the folder that `generate` writes into.
void check_output(document::Reading& reading, const ProjectFile& project) {
    for (const auto* patterns : {&project.recipes, &project.jobs, &project.sites}) {
        for (const std::string& pattern : *patterns) {
            const bool is_pattern = pattern.find_first_of("*?") != std::string::npos;
            if (is_pattern && std::filesystem::path(pattern).parent_path() ==
                                  std::filesystem::path(project.output).lexically_normal()) {
                reading.complain(
                    "output",
                    problem("project-output-read",
                            printable(pattern) + " names files of the output folder, too"),
                    "`generate` writes manifests (NAME.SITE.yaml) there, which a Project does not "
                    "have",
                    "name another folder, for example `output: generated`");
                return;
            }
        }
    }
}

} // namespace

const document::Kind& project_kind() {
    return kProject;
}

Result<ProjectFile> read_project(std::string text, const std::filesystem::path& file) {
    CYBELE_TRY(document::Reading reading,
               document::Reading::open(kProject, std::move(text), file.string()));
    if (reading.faults().has_errors()) {
        return fail(reading.faults().take());
    }
    const document::View root = reading.root();
    ProjectFile project;
    project.recipes = root.list("recipes");
    project.jobs = root.list("jobs");
    project.sites = root.list("sites");
    project.output = root.text("output");
    project.folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    check_named_files(reading, project);
    check_output(reading, project);
    if (reading.faults().has_errors()) {
        return fail(reading.faults().take());
    }
    return project;
}

Result<ProjectFile> find_project(const std::filesystem::path& folder) {
    std::error_code error;
    const std::filesystem::path file = folder / kProjectFile;
    if (std::filesystem::exists(file, error)) {
        CYBELE_TRY(std::string text, read_file(file).map_error(during("reading the Project")));
        return read_project(std::move(text), file);
    }
    if (!std::filesystem::is_directory(folder, error)) {
        const bool is_file = std::filesystem::is_regular_file(folder, error);
        return fail(
            ErrorCode::kInput,
            problem("not-a-project-folder", "'" + printable(folder.native()) + "' is not a folder"),
            "a project is a folder with recipes/, jobs/ and sites/",
            is_file ? "write `" +
                          (folder.has_parent_path() ? printable(folder.parent_path().native())
                                                    : std::string(".")) +
                          "`"
                    : "name the folder");
    }
    ProjectFile project;
    project.folder = folder;
    return project;
}

std::vector<std::filesystem::path> documents_of(const std::filesystem::path& folder,
                                                const std::vector<std::string>& patterns) {
    std::set<std::filesystem::path> files;
    for (const std::string& pattern : patterns) {
        for (auto& path : find_files(folder, pattern)) {
            if (!path.native().ends_with(".lock.yaml")) {
                files.insert(std::move(path));
            }
        }
    }
    return {files.begin(), files.end()};
}

Result<std::vector<std::filesystem::path>> recipe_files(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
        return std::vector{path};
    }
    CYBELE_TRY(const ProjectFile project, find_project(path));
    std::vector<std::filesystem::path> files;
    for (const auto& file : documents_of(project.folder, project.recipes)) {
        files.push_back(path / file);
    }
    if (files.empty()) {
        files = recipes_in(path);
    }
    if (files.empty()) {
        CYBELE_TRY(const std::filesystem::path own, find_recipe(path)); // says that there is none
        files.push_back(own);
    }
    return files;
}

Result<std::vector<std::filesystem::path>> job_files(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
        return std::vector{path};
    }
    CYBELE_TRY(const ProjectFile project, find_project(path));
    std::vector<std::filesystem::path> files;
    const std::filesystem::path own = path / "job.yaml";
    if (std::filesystem::exists(own, error)) {
        files.push_back(own);
    }
    for (const auto& file : documents_of(project.folder, project.jobs)) {
        if (path / file != own) {
            files.push_back(path / file);
        }
    }
    return files.empty() ? documents_in(path, "Job") : files;
}

std::vector<std::filesystem::path> site_files(const std::filesystem::path& path) {
    std::error_code error;
    const auto project = std::filesystem::is_directory(path, error)
                             ? find_project(path)
                             : Result<ProjectFile>(ProjectFile{{}, {}, {}, {}, {}});
    std::vector<std::filesystem::path> files;
    if (project) {
        for (const auto& file : documents_of(project->folder, project->sites)) {
            files.push_back(path / file);
        }
    }
    return files;
}

} // namespace cybele::pipeline
