// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/apart.hpp"
#include "builder/inside.hpp"
#include "builder/plan.hpp"
#include "registry/cache.hpp"

#include <filesystem>
#include <functional>
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
    /// Makes the tree of a stage that was put off; empty: it is made.
    std::vector<std::function<Result<void>()>> put_off;
};

/// Builds the tree of one stage: base, steps (from the last one whose result is kept), tidying,
/// metadata, test. Adds it to the context. With `is_last` false a stage whose result is known by
/// its key alone is put off until a later stage copies from it and that copy's result is not kept.
[[nodiscard]] Result<void> build_stage(StageContext& context, const StagePlan& plan, bool is_last);

} // namespace cybele::builder
