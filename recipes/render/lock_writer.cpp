// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/requirements.hpp"
#include "recipes/model/lock.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/mpi/mpi.hpp"
#include "recipes/packages/packages.hpp"
#include "support/digest.hpp"
#include "support/document.hpp"
#include "support/encoding.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::recipes {
namespace {

constexpr std::string_view kOrder[] = {"system", "pip", "conda", "spack", "source", "repository"};

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

std::map<std::string, std::string> field_digests(const Recipe& recipe) {
    std::map<std::string, std::string> digests;
    for (const auto& [name, value] : recipe.package_parts) {
        digests[name] = "sha256:" + hex(sha256(value));
    }
    return digests;
}

/// "`base`, `packages.system` changed"; what a Lock without `fields` cannot name is said in
/// general.
std::string changed_fields(const Lock& lock, const Recipe& recipe) {
    if (lock.fields.empty()) {
        return "the packages that the Recipe asks for, or what determines them, changed";
    }
    const auto now = field_digests(recipe);
    std::set<std::string> changed;
    for (const auto& [name, digest] : now) {
        const auto known = lock.fields.find(name);
        if (known == lock.fields.end() || known->second != digest) {
            changed.insert("`" + name + "`");
        }
    }
    for (const auto& [name, digest] : lock.fields) {
        if (!now.contains(name)) {
            changed.insert("`" + printable(name) + "`");
        }
    }
    return changed.empty() ? "its own field `recipe` changed"
                           : fmt::format("{} of the Recipe changed", fmt::join(changed, ", "));
}

bool holds(const LockVariant& variant, const std::string& list, const std::string& name) {
    const auto found = variant.packages.find(list);
    return found != variant.packages.end() && contains(found->second, name, &LockedPackage::name);
}

/// What the change matters: packages that the Recipe names and the Lock lacks.
std::string what_it_matters(const LockVariant& variant, const Recipe& asked) {
    Faults faults;
    const Recipe recipe = lower_mpi(asked, faults);
    const std::string base = recipe.base ? recipe.base->distribution : std::string();
    if (faults.has_errors() || base != variant.distribution) {
        return base.empty() || variant.distribution.empty()
                   ? std::string("the image would not have these packages")
                   : "its packages are those of " + variant.distribution + ", not of " + base;
    }
    std::set<std::string> lacking;
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        const StageContext context = stage_context(recipe, i);
        if (context.base.row == nullptr) {
            continue;
        }
        for (const auto& word : system_packages(context)) {
            const std::string name = word.substr(0, word.find('='));
            if (!holds(variant, "system", name)) {
                lacking.insert(name);
            }
        }
        for (const auto& line : context.fields->packages.pip) {
            if (!holds(variant, "pip", requirement_name(line))) {
                lacking.insert(requirement_name(line));
            }
        }
    }
    if (lacking.empty()) {
        return "it has every package that the Recipe names, but perhaps in other versions, or more "
               "than it needs";
    }
    return fmt::format("it lacks {}", fmt::join(lacking, ", "));
}

} // namespace

std::string print_lock(const Recipe& recipe, const std::vector<LockVariant>& variants) {
    std::string text =
        "kind: Lock\nrule: packages\nrecipe: sha256:" + packages_digest(recipe) + "\nfields:\n";
    for (const auto& [name, digest] : field_digests(recipe)) {
        text += fmt::format("  {}: {}\n", name, digest);
    }
    text += "variants:\n";
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
        return fail(document::fault_at(lock.source,
                                       document::mark_of(lock.marks, "recipe"),
                                       problem("lock-stale", "the Lock is stale"),
                                       std::move(because),
                                       "run `cybelectl recipe lock " +
                                           shell_quote(recipe.source.file()) +
                                           "`, or build with --unlocked"));
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
            return stale("an earlier version made it, whose Locks cover the entire Recipe, and the "
                         "Recipe, a file that it includes or its arguments changed since");
        }
        if (lock.covers_packages_only && lock.recipe != "sha256:" + packages_digest(recipe)) {
            return stale(changed_fields(lock, recipe) +
                         " since it was written: " + what_it_matters(variant, recipe));
        }
        return variant;
    }
    return stale("it has no variant '" + recipe.name + "'");
}

} // namespace cybele::recipes
