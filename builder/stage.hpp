// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/apart.hpp"
#include "builder/inside.hpp"
#include "builder/plan.hpp"
#include "registry/cache.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace cybele::builder {

/// What all stages of a build share; lives in the process apart.
struct StageContext {
    const BuildRequest& request;
    const Environment& environment;
    const registry::Cache& cache;
    const Surroundings& surroundings;
    const Report& report;
    std::vector<std::filesystem::path> roots; ///< trees of the stages built so far
    std::vector<std::string> keys;            ///< what they were made from; empty: not known
};

/// Builds the tree of one stage: base, steps (from the last one whose result is kept), tidying,
/// metadata, test. Adds it to the context.
[[nodiscard]] Result<void> build_stage(StageContext& context, const StagePlan& plan);

} // namespace cybele::builder
