// SPDX-License-Identifier: Apache-2.0
#include "recipes/init.hpp"

#include "support/embedded.hpp"

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

std::vector<std::pair<std::string, std::string>> project_template(std::string_view name,
                                                                  std::string_view template_name) {
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
