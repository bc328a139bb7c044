// SPDX-License-Identifier: Apache-2.0
#include "recipes/lock.hpp"
#include "recipes/recipe.hpp"
#include "support/digest.hpp"
#include "support/document.hpp"
#include "support/encoding.hpp"

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

std::string package_lines(const std::vector<LockedPackage>& packages) {
    std::vector<std::string> lines;
    lines.reserve(packages.size());
    for (const auto& package : packages) {
        lines.push_back("      - " + package.name + " " + package.version + " " + package.arch +
                        " " + package.digest + "\n");
    }
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    std::string text;
    for (const auto& line : lines) {
        text += line;
    }
    return text;
}

std::string variant_lines(const LockVariant& variant) {
    std::string text = "  - name: " + variant.name + "\n    arch: " + variant.arch + "\n" +
                       base_lines(variant) + image_lines(variant) +
                       "    epoch: " + std::to_string(variant.epoch) + "\n";
    for (const auto name : kOrder) {
        const auto list = variant.packages.find(std::string(name));
        if (list != variant.packages.end() && !list->second.empty()) {
            text += "    " + std::string(name) + ":\n" + package_lines(list->second);
        }
    }
    return text;
}

} // namespace

std::string print_lock(const Recipe& recipe, const std::vector<LockVariant>& variants) {
    std::string text =
        "kind: Lock\nrule: packages\nrecipe: sha256:" + packages_digest(recipe) + "\nvariants:\n";
    for (const auto& variant : variants) {
        text += variant_lines(variant);
    }
    return text;
}

std::string packages_digest(const Recipe& recipe) {
    return hex(sha256(recipe.package_fields));
}

std::string lock_digest(const LockVariant& variant) {
    return hex(sha256(variant_lines(variant)));
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
        if (!lock.covers_packages_only && lock.recipe != "sha256:" + recipe.digest) {
            return stale(
                "an earlier version made it, whose Locks are for the whole Recipe, and the "
                "Recipe, a file that it includes or its arguments changed since");
        }
        if (lock.covers_packages_only && lock.recipe != "sha256:" + packages_digest(recipe)) {
            return stale("the packages that the Recipe asks for, or what determines them, changed "
                         "since");
        }
        return variant;
    }
    return stale("it has no variant '" + recipe.name + "'");
}

} // namespace cybele::recipes
