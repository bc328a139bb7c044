// SPDX-License-Identifier: Apache-2.0
#include "recipes/starters/init.hpp"

#include "support/embedded.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <span>

namespace cybele::embedded {
std::span<const EmbeddedFile> recipe_files();
}

namespace cybele::recipes {
namespace {

constexpr std::string_view kPlaceholder = "@NAME@";

std::string filled(std::string_view text, std::string_view name) {
    std::string result;
    while (true) {
        const auto at = text.find(kPlaceholder);
        result += text.substr(0, at);
        if (at == std::string_view::npos) {
            return result;
        }
        result += name;
        text.remove_prefix(at + kPlaceholder.size());
    }
}

Result<void> check_name(std::string_view name) {
    if (!is_name(name)) {
        const std::string better = suggest_name(name);
        return fail(ErrorCode::kUsage,
                    problem("project-name", "'" + printable(name) + "' cannot name a project"),
                    "a name has small letters, digits and `-`, begins with a letter and has at "
                    "most 50 characters",
                    better.empty() ? "choose another name" : "write `" + better + "`");
    }
    return {};
}

} // namespace

std::vector<std::string_view> template_names() {
    return {"mpi", "mpi4py", "serial", "batch"};
}

Result<std::vector<std::pair<std::string, std::string>>>
project_template(std::string_view name, std::string_view template_name) {
    CYBELE_CHECK(check_name(name));
    const auto names = template_names();
    if (!contains(names, template_name)) {
        const std::string near = nearest(template_name, names);
        return fail(ErrorCode::kUsage,
                    problem("template-unknown", "no template '" + printable(template_name) + "'"),
                    "there are: mpi, mpi4py, serial, batch",
                    near.empty() ? "use mpi" : "did you mean `" + near + "`?");
    }
    const std::string folder = "templates/" + std::string(template_name) + "/";
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& file : embedded::recipe_files()) {
        if (file.name == "templates/gitignore") {
            files.emplace_back(".gitignore", file.bytes);
            continue;
        }
        if (!file.name.starts_with(folder)) {
            continue;
        }
        std::string path(file.name.substr(folder.size()));
        if (path == "recipe.yaml") {
            path = std::string(name) + ".yaml";
        }
        files.emplace_back(std::move(path), filled(file.bytes, name));
    }
    std::sort(files.begin(), files.end());
    return files;
}

Result<std::string> new_recipe(std::string_view name) {
    CYBELE_CHECK(check_name(name));
    for (const auto& file : embedded::recipe_files()) {
        if (file.name == "templates/new.yaml") {
            return filled(file.bytes, name);
        }
    }
    return std::string{};
}

Result<std::string>
job_template(std::string_view launch,
             const std::vector<std::pair<std::string_view, std::string>>& marks) {
    const std::string name = "templates/jobs/" + std::string(launch) + ".yaml";
    for (const auto& file : embedded::recipe_files()) {
        if (file.name != name) {
            continue;
        }
        std::string text;
        std::string_view rest = file.bytes;
        while (!rest.empty()) { // one pass: a value that holds a mark stays as it is
            const auto mark = std::ranges::find_if(
                marks, [&](const auto& one) { return rest.starts_with(one.first); });
            text += mark == marks.end() ? std::string(rest.substr(0, 1)) : mark->second;
            rest.remove_prefix(mark == marks.end() ? 1 : mark->first.size());
        }
        return text;
    }
    return fail(ErrorCode::kUsage,
                problem("launch-unknown", "unknown launch '" + printable(launch) + "'"),
                "there are: serial, openmp, mpi, torch, spark",
                "use one of these");
}

std::vector<std::pair<std::string_view, std::string_view>> catalogue() {
    constexpr std::string_view kFolder = "catalogue/";
    std::vector<std::pair<std::string_view, std::string_view>> list;
    for (const auto& file : embedded::recipe_files()) {
        if (!file.name.starts_with(kFolder) || !file.name.ends_with(".yaml")) {
            continue;
        }
        std::string_view name = file.name.substr(kFolder.size());
        name.remove_suffix(std::string_view(".yaml").size());
        if (name.find('/') == std::string_view::npos) {
            list.emplace_back(name, file.bytes);
        }
    }
    std::sort(list.begin(), list.end());
    return list;
}

} // namespace cybele::recipes
