// SPDX-License-Identifier: Apache-2.0
#include "pipeline/new_project.hpp"

#include "pipeline/schemas.hpp"
#include "recipes/starters/init.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"

namespace cybele::pipeline {

namespace fs = std::filesystem;

namespace {

Result<void> write_project(const fs::path& folder,
                           const std::vector<std::pair<std::string, std::string>>& files,
                           std::vector<fs::path>& made) {
    for (const auto& [file, text] : files) {
        CYBELE_CHECK(make_directories((folder / file).parent_path()));
        CYBELE_CHECK(write_file(folder / file, text));
        made.push_back(folder / file);
    }
    CYBELE_TRY(const auto schemas, write_schemas(folder, {"Recipe", "Job"}));
    made.insert(made.end(), schemas.begin(), schemas.end());
    return {};
}

} // namespace

std::string name_of_folder(const fs::path& folder) {
    std::error_code error;
    const fs::path absolute = fs::absolute(folder, error).lexically_normal();
    return (absolute.has_filename() ? absolute : absolute.parent_path()).filename().native();
}

Result<std::vector<fs::path>> new_project(const fs::path& folder,
                                          const std::string& template_name) {
    std::error_code error;
    const std::string name = name_of_folder(folder);
    CYBELE_TRY(auto files, recipes::project_template(name, template_name));
    // A repository that was just made has one already, which stays.
    std::erase_if(files, [&](const auto& file) {
        return file.first == ".gitignore" &&
               fs::exists(fs::symlink_status(folder / file.first, error));
    });
    Faults faults;
    for (const auto& [file, text] : files) {
        if (fs::exists(fs::symlink_status(folder / file, error))) {
            faults.add(Fault(ErrorCode::kInput,
                             problem("project-file-exists",
                                     printable((folder / file).native()) + " exists already"),
                             "`init` replaces no file",
                             "choose another name, or move the file away"));
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    const bool is_new = !fs::exists(folder, error);
    std::vector<fs::path> made;
    auto written = write_project(folder, files, made);
    if (!written) { // all or nothing
        for (const fs::path& file : made) {
            fs::remove(file, error);
        }
        if (is_new) {
            fs::remove_all(folder, error);
        }
        return fail(written.error());
    }
    return made;
}

} // namespace cybele::pipeline
