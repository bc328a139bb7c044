// SPDX-License-Identifier: Apache-2.0
#include "recipes/packages/base.hpp"
#include "recipes/recipe.hpp"

#include <set>

namespace cybele::recipes {
namespace {

void add(std::vector<Fault>& list, Fault fault) {
    fault.is_warning = true;
    list.push_back(std::move(fault));
}

} // namespace

std::vector<Fault> warnings_of(const Recipe& recipe) {
    std::vector<Fault> list;
    for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
        const StageContext context = stage_context(recipe, i);
        const DistributionRow* row = context.base.row;
        const bool is_told = !context.is_last && !context.fields->base;
        if (row != nullptr && !is_told && row->end_of_support.text.starts_with("ended")) {
            add(list,
                recipe.fault_at(context.prefix + "base",
                                std::string(row->id) + " is out of support",
                                std::string(row->end_of_support.text),
                                "choose a newer release"));
        }
        if (!is_told && context.base.agent == "docker" &&
            context.base.from.find('@') == std::string::npos) {
            add(list,
                recipe.fault_at(context.prefix + "base",
                                "the base has no digest",
                                "'" + context.base.from + "' may be another image tomorrow",
                                "write `base: {image: docker://" + context.base.from +
                                    "@sha256:…}`"));
        }
        if (row != nullptr && row->manager == "apk" && context.is_last &&
            !(recipe.mpi.family.empty() && recipe.gpu_vendor.empty())) {
            add(list,
                recipe.fault_at(
                    recipe.mpi.family.empty() ? "gpu" : "mpi",
                    "Alpine has musl instead of glibc",
                    "no UCX or libfabric, few Python wheels, and no host library can be bound in",
                    "use a base with glibc"));
        }
    }
    return list;
}

} // namespace cybele::recipes
