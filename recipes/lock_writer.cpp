// SPDX-License-Identifier: Apache-2.0
#include "recipes/lock.hpp"
#include "recipes/recipe.hpp"
#include "support/document.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

constexpr std::string_view kOrder[] = {"system", "pip", "conda", "spack", "source"};

std::string image_words(const std::string& image, const std::string& digest) {
    return "{image: \"" + image + "\", digest: \"" + digest + "\"}\n";
}

std::string image_lines(const LockVariant& variant) {
    std::string lines = variant.images.empty() ? "" : "    images:\n";
    for (const auto& [image, digest] : variant.images) {
        lines += "      - " + image_words(image, digest);
    }
    return lines;
}

std::string base_lines(const LockVariant& variant) {
    if (!variant.image.empty()) {
        return "    base: " + image_words(variant.image, variant.image_digest);
    }
    std::string list;
    for (const auto& digest : variant.release) {
        list += (list.empty() ? "\"" : ", \"") + digest + "\"";
    }
    return "    base: {distribution: \"" + variant.distribution + "\", release: [" + list + "]}\n";
}

} // namespace

std::string print_lock(const Recipe& recipe, const std::vector<LockVariant>& variants) {
    std::string text = "kind: Lock\nrecipe: sha256:" + recipe.digest + "\nvariants:\n";
    for (const auto& variant : variants) {
        text += "  - name: " + variant.name + "\n    arch: " + variant.arch + "\n" +
                base_lines(variant) + image_lines(variant) +
                "    epoch: " + std::to_string(variant.epoch) + "\n";
        for (const auto name : kOrder) {
            const auto list = variant.packages.find(std::string(name));
            if (list == variant.packages.end() || list->second.empty()) {
                continue;
            }
            std::vector<std::string> lines;
            for (const auto& package : list->second) {
                lines.push_back("      - " + package.name + " " + package.version + " " +
                                package.arch + " " + package.digest + "\n");
            }
            std::sort(lines.begin(), lines.end());
            lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
            text += "    " + std::string(name) + ":\n";
            for (const auto& line : lines) {
                text += line;
            }
        }
    }
    return text;
}

Result<LockVariant> locked_variant(const Lock& lock, const Recipe& recipe) {
    const auto stale = [&](std::string because) {
        return fail(Error(document::fault_at(lock.source,
                                             document::mark_of(lock.marks, "recipe"),
                                             "the Lock is stale",
                                             std::move(because),
                                             "run `cybelectl recipe lock`, or build with "
                                             "--unlocked")));
    };
    for (const auto& variant : lock.variants) {
        if (variant.name != recipe.name) {
            continue;
        }
        const std::string arch = recipe.base ? recipe.base->arch : std::string();
        if (variant.arch != arch) {
            return stale("it is for " + variant.arch + ", the Recipe for " + arch);
        }
        if (lock.recipe != "sha256:" + recipe.digest) {
            return stale("the Recipe, what it includes or its arguments changed since");
        }
        return variant;
    }
    return stale("it has no variant '" + recipe.name + "'");
}

} // namespace cybele::recipes
