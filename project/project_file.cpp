// SPDX-License-Identifier: Apache-2.0
#include "project/project_file.hpp"

#include "support/document_view.hpp"

namespace cybele::project {
namespace {

using document::Complaint;
using document::Field;
using document::Shape;
using document::Table;
using document::Type;

/// Parts of a path that lead out of the project's folder.
Complaint check_inside(std::string_view text) {
    const bool leads_up = text == ".." || text.starts_with("../") || text.ends_with("/..") ||
                          text.find("/../") != std::string_view::npos;
    if (text.starts_with('/') || text.starts_with('~') || leads_up) {
        return {"a project's files lie in its folder", "write a path below it"};
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
    return project;
}

} // namespace cybele::project
