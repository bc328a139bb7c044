// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/layers/layers.hpp"
#include "builder/pack/keys.hpp"
#include "builder/pack/plan.hpp"
#include "builder/processes/apart.hpp"
#include "builder/steps/inside.hpp"
#include "registry/cache/cache.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cybele::builder {

/// What all stages of a build share; lives in the process apart.
struct StageContext {
    const BuildRequest& request;
    const Environment& environment;
    const registry::Cache& cache;
    const HostEnvironment& host_environment;
    const Report& report;
    const std::vector<StageKeys>& keys;
    std::string owners; ///< how this user's builds own files, as image_key()
    OverlaySupport way;
    std::vector<std::filesystem::path> roots; ///< trees of the stages built so far
    /// Makes the tree of a stage that was put off, or waits for it; empty: it is made.
    std::vector<std::function<Result<void>()>> put_off;
    /// Of the last stage, where it is made of layers: each step's folder, then the one of tidying
    /// and metadata.
    std::shared_ptr<Layers> layers;
};

/// Builds the tree of the image's stage, the last one: base, steps (from the last one whose result
/// is kept), tidying, metadata, test. Adds it to the context.
[[nodiscard]] Result<void> build_last_stage(StageContext& context, const StagePlan& plan);

/// Adds another stage, which is built when a later one needs it (StageContext::put_off).
void add_stage(StageContext& context, const StagePlan& plan);

/// How many of a stage's first steps have results that are kept.
[[nodiscard]] std::size_t count_kept(const StageContext& context, std::size_t stage);

} // namespace cybele::builder
