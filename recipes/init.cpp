// SPDX-License-Identifier: Apache-2.0
#include "recipes/init.hpp"

#include "support/embedded.hpp"
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

} // namespace

std::vector<std::string_view> template_names() {
    return {"mpi", "serial"};
}

Result<std::vector<std::pair<std::string, std::string>>>
project_template(std::string_view name, std::string_view template_name) {
    if (!is_name(name)) {
        const std::string better = suggest_name(name);
        return fail(ErrorCode::kUsage,
                    "'" + printable(name) + "' cannot name a project",
                    "a name has small letters, digits and `-`, begins with a letter and has at "
                    "most 50 characters",
                    better.empty() ? "choose another name" : "write `" + better + "`");
    }
    const auto names = template_names();
    if (std::find(names.begin(), names.end(), template_name) == names.end()) {
        const std::string near = nearest(template_name, names);
        return fail(ErrorCode::kUsage,
                    "no template '" + printable(template_name) + "'",
                    "there are: mpi, serial",
                    near.empty() ? "use mpi" : "did you mean `" + near + "`?");
    }
    const std::string folder = "templates/" + std::string(template_name) + "/";
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& file : embedded::recipe_files()) {
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

} // namespace cybele::recipes
