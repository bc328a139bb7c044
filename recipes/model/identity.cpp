// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/language.hpp"
#include "recipes/model/tree.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace cybele::recipes {
namespace {

using yaml::Node;

/// Fields that determine packages, of the whole Recipe, of a stage and of an item of `when`.
constexpr std::string_view kOfRecipe[] = {
    "base", "compilers", "gpu", "matrix", "mpi", "packages", "stages", "when"};
constexpr std::string_view kOfStage[] = {"base", "compilers", "gpu", "mpi", "name", "packages"};
constexpr std::string_view kOfCondition[] = {"compilers", "gpu", "mpi", "on", "packages"};

Node only_fields(const Node& map, std::span<const std::string_view> keys) {
    Node kept;
    kept.kind = map.kind;
    kept.scalar = map.scalar;
    std::copy_if(map.entries.begin(),
                 map.entries.end(),
                 std::back_inserter(kept.entries),
                 [&](const yaml::Entry& entry) { return contains(keys, entry.first.scalar); });
    return kept;
}

/// A condition that changes no packages is left out.
void narrow_items(Node& list, std::span<const std::string_view> keys, bool is_condition) {
    for (Node& item : list.items) {
        item = only_fields(item, keys);
    }
    if (is_condition) {
        std::erase_if(list.items, [](const Node& item) { return item.entries.size() < 2; });
    }
}

bool is_used_argument(std::string_view text, std::string_view argument) {
    return text.find(fmt::format("@{{{}}}", argument)) != std::string_view::npos ||
           text.find(fmt::format("\"{}\":", argument)) != std::string_view::npos; // of a `when.on`
}

} // namespace

std::vector<std::pair<std::string, std::string>> fields_of(const Node& root) {
    std::vector<std::pair<std::string, std::string>> fields;
    fields.reserve(root.entries.size());
    for (const auto& [key, value] : root.entries) {
        fields.emplace_back(key.scalar, normalised(value));
    }
    std::sort(fields.begin(), fields.end());
    return fields;
}

namespace {

Node package_tree(const Node& root) {
    Node kept = only_fields(root, kOfRecipe);
    for (auto& [key, value] : kept.entries) {
        if (key.scalar == "stages") {
            narrow_items(value, kOfStage, false);
        } else if (key.scalar == "when") {
            narrow_items(value, kOfCondition, true);
        }
    }
    std::erase_if(kept.entries, [](const yaml::Entry& entry) {
        return entry.first.scalar == "when" && entry.second.items.empty();
    });
    return kept;
}

} // namespace

std::vector<std::pair<std::string, std::string>> package_parts_of(const Node& root,
                                                                  const Values& arguments) {
    const Node kept = package_tree(root);
    std::vector<std::pair<std::string, std::string>> parts;
    for (const auto& [key, value] : kept.entries) {
        if (key.scalar == "packages" && value.kind == Node::Kind::kMapping) {
            for (const auto& [name, list] : value.entries) {
                parts.emplace_back("packages." + name.scalar, normalised(list));
            }
        } else {
            parts.emplace_back(key.scalar, normalised(value));
        }
    }
    const std::string fields = normalised(kept);
    for (const auto& [name, value] : arguments) {
        if (is_used_argument(fields, name)) {
            parts.emplace_back("args." + name, value);
        }
    }
    std::sort(parts.begin(), parts.end());
    return parts;
}

std::string package_fields_of(const Node& root, const Values& arguments) {
    const std::string fields = normalised(package_tree(root));
    std::string text = fields;
    for (const auto& [name, value] : arguments) {
        if (is_used_argument(fields, name)) {
            text += fmt::format("\n{}={}", name, value);
        }
    }
    return text;
}

} // namespace cybele::recipes
