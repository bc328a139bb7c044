// SPDX-License-Identifier: Apache-2.0
#include "recipes/render_stage.hpp"

#include "recipes/render_text.hpp"
#include "recipes/tables.hpp"

namespace cybele::recipes {
namespace {

using definitions::Section;
using definitions::Stage;

/// A word of a `%files` line; double quotes protect blanks there, single ones do not.
std::string file_word(const std::string& path) {
    const bool needs_quotes = path.find_first_of(" \t'#") != std::string::npos;
    return needs_quotes ? "\"" + path + "\"" : path;
}

/// Where a copied file lies afterwards: below `to` when that ends with a slash.
std::string target_of(const FileCopy& file) {
    if (!file.to.ends_with('/')) {
        return file.to;
    }
    std::string from = file.from;
    while (from.size() > 1 && from.ends_with('/')) {
        from.pop_back();
    }
    const auto slash = from.rfind('/');
    return file.to + (slash == std::string::npos ? from : from.substr(slash + 1));
}

void add_files(Stage& stage, const std::vector<FileCopy>& files) {
    for (const auto& file : files) {
        const std::string arguments = file.stage.empty() ? "" : "from " + file.stage;
        const std::string line = "    " + file_word(file.from) + " " + file_word(file.to) + "\n";
        Section* last = stage.sections.empty() ? nullptr : &stage.sections.back();
        if (last != nullptr && last->name == "files" && last->arguments == arguments) {
            last->text += line;
        } else {
            stage.sections.push_back({"files", arguments, line, 0, false});
        }
    }
    std::string modes;
    for (const auto& file : files) {
        if (!file.mode.empty()) {
            modes += "chmod " + file.mode + " " + definition_quote(target_of(file)) + "\n";
        }
    }
    if (!modes.empty()) {
        stage.sections.push_back(post_section(isolated(modes)));
    }
}

} // namespace

const Base& base_of(const Recipe& recipe, const StageFields& fields) {
    return fields.base ? *fields.base : *recipe.base;
}

const RecipeMpi& mpi_of(const Recipe& recipe, const StageFields& fields) {
    const bool has_same_base =
        !fields.base || (fields.base->distribution == recipe.base->distribution &&
                         fields.base->image == recipe.base->image);
    return fields.mpi.family.empty() && has_same_base ? recipe.mpi : fields.mpi;
}

std::vector<std::pair<std::string, std::string>> header_of(const Base& base,
                                                           const std::string& mirror) {
    if (!base.image.empty()) {
        return {{"bootstrap", "localimage"}, {"from", base.image}};
    }
    const DistributionRow* row = find_distribution(base.distribution);
    return {{"bootstrap", std::string(row->agent)},
            {"osversion", std::string(row->suite)},
            {"mirrorurl", mirror.empty() ? "{{ mirror }}" : mirror},
            {"include", "ca-certificates"}};
}

Section post_section(std::string text) {
    return {"post", {}, std::move(text), 0, true};
}

void add_packages(Stage& stage,
                  const StageFields& fields,
                  const Base& base,
                  const std::vector<std::string>& more) {
    std::vector<std::string> packages = fields.packages.system;
    packages.insert(packages.end(), more.begin(), more.end());
    const DistributionRow* row = find_distribution(base.distribution);
    for (const auto& need : fields.packages.needs) {
        const NeedRow* found = row != nullptr ? find_need(row->manager, need) : nullptr;
        if (found != nullptr) {
            const auto words = words_of(found->packages);
            packages.insert(packages.end(), words.begin(), words.end());
        }
    }
    if (!packages.empty()) {
        stage.sections.push_back(post_section(isolated(apt_transaction(std::move(packages)))));
    }
}

void add_content(Stage& stage,
                 const StageFields& fields,
                 const std::map<std::string, std::string>& arguments) {
    add_files(stage, fields.files);
    for (const auto& step : fields.steps) {
        stage.sections.push_back(post_section(step_lines(step, fields.environment, arguments)));
    }
}

} // namespace cybele::recipes
