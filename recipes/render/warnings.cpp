// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/recipe.hpp"
#include "recipes/packages/packages.hpp"
#include "recipes/stage/base.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <set>

namespace cybele::recipes {
namespace {

void add(std::vector<Fault>& list, Fault fault) {
    fault.is_warning = true;
    list.push_back(std::move(fault));
}

/// Files that take each other's place.
void add_overwritten(std::vector<Fault>& list, const Recipe& recipe, const StageContext& context) {
    std::set<std::string> targets;
    const std::vector<FileCopy>& files = context.fields->files;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (!files[i].to.ends_with('/') && !targets.insert(files[i].to).second) {
            add(list,
                recipe.fault_at(
                    context.prefix + "files[" + std::to_string(i) + "].to",
                    problem("file-target-duplicate",
                            "'" + printable(files[i].to) + "' is a destination above already"),
                    "a file replaces the other, a folder is placed below it",
                    "give each its own name, or end it with `/`"));
        }
    }
}

/// Values that a shell would evaluate; a Recipe's are quoted.
void add_unevaluated(std::vector<Fault>& list, const Recipe& recipe, const StageContext& context) {
    for (const auto& [name, value] : context.fields->environment) {
        const std::string& text = value.value;
        const std::size_t dollar = text.find('$');
        const bool is_variable =
            dollar != std::string::npos && dollar + 1 < text.size() &&
            (text[dollar + 1] == '{' || is_variable_name(text.substr(dollar + 1, 1)));
        if (is_variable) {
            add(list,
                recipe.fault_at(context.prefix + "environment." + name,
                                problem("value-dollar-literal",
                                        "'$' in the value of '" + name + "' stands for itself"),
                                "a value is a value; no shell evaluates it",
                                "write `" + name +
                                    ": {prepend: …}` or `{append: …}` to extend a list"));
        }
    }
}

/// mpi4py without an MPI fails at its first import.
void add_missing_mpi(std::vector<Fault>& list, const Recipe& recipe, const StageContext& context) {
    const bool has_mpi = !recipe.mpi.family.empty() || !context.fields->mpi.family.empty();
    if (!has_mpi && context.is_last && lists_mpi4py(context.fields->packages)) {
        add(list,
            recipe.fault_at(
                "packages.pip",
                problem("mpi4py-without-mpi", "pip installs mpi4py, and the Recipe has no `mpi`"),
                "mpi4py loads the MPI of the image, so it needs one there",
                "add `mpi: openmpi`, or the family that the cluster has"));
    }
}

} // namespace

std::vector<Fault> warnings_of(const Recipe& recipe) {
    std::vector<Fault> list;
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        const StageContext context = stage_context(recipe, i);
        add_overwritten(list, recipe, context);
        add_unevaluated(list, recipe, context);
        add_missing_mpi(list, recipe, context);
        const DistributionRow* row = context.base.row;
        const bool is_told = !context.is_last && !context.fields->base;
        if (row != nullptr && !is_told && row->end_of_support.text.starts_with("ended")) {
            add(list,
                recipe.fault_at(context.prefix + "base",
                                problem("distribution-out-of-support",
                                        std::string(row->id) + " is out of support"),
                                std::string(row->end_of_support.text),
                                "choose a newer release"));
        }
        if (!is_told && context.base.agent == "docker" &&
            context.base.from.find('@') == std::string::npos) {
            add(list,
                recipe.fault_at(context.prefix + "base",
                                problem("base-without-digest", "the base has no digest"),
                                "'" + context.base.from + "' may be another image tomorrow",
                                "write `base: {image: docker://" + context.base.from +
                                    "@sha256:…}`"));
        }
        if (row != nullptr && row->manager == "apk" && context.is_last &&
            !(recipe.mpi.family.empty() && recipe.gpu_vendor.empty())) {
            add(list,
                recipe.fault_at(
                    recipe.mpi.family.empty() ? "gpu" : "mpi",
                    problem("alpine-musl", "Alpine has musl instead of glibc"),
                    "no UCX or libfabric, few Python wheels, and no host library can be bound in",
                    "use a base with glibc"));
        }
    }
    return list;
}

std::vector<Fault> not_rendered(const Recipe& recipe) {
    std::vector<Fault> list;
    if (!base_of(recipe, recipe).key.empty()) {
        add(list,
            recipe.fault_at("base.key",
                            problem("base-key-not-rendered", "the rendered file has no `base.key`"),
                            "who builds from it does not verify the base",
                            "build the Recipe itself: `cybelectl build`"));
    }
    return list;
}

} // namespace cybele::recipes
