// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/bases/stage_plan.hpp"
#include "builder/processes/apart.hpp"
#include "builder/steps/host_environment.hpp"
#include "registry/cache/cache.hpp"
#include "registry/cache/known_files.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A bootstrap agent: from what a stage's tree begins.
namespace cybele::builder {

/// What a build's agents work with.
struct AgentContext {
    const BuildRequest& request;
    const Environment& environment;
    const registry::Cache& cache;
    registry::KnownFiles& files; ///< of the host
};

/// What fills a stage's tree works with, in the process apart.
struct FillContext {
    const BuildRequest& request;
    const Environment& environment;
    const HostEnvironment& host_environment;
    const Report& report;
};

struct Agent {
    std::string_view name;
    std::uint64_t needed_bytes; ///< on disk, for one stage, packages that a %post installs included
    /// Judges the header when the build is planned: sets `source`, or gives a fault. Adds what it
    /// needs on disk beyond `needed_bytes`. Touches neither network nor cache.
    Result<std::uint64_t> (*plan)(StagePlan& plan, const BuildRequest& request);
    /// What the base's content depends on, where that is known without making it: of a base that is
    /// in the cache; "" where it is not known.
    Result<std::string> (*key)(const StagePlan& plan, const AgentContext& context);
    /// Outside of our namespaces: makes or fetches the base (sets `source`, and `base_key` where it
    /// can be known). Unset: there is nothing to do.
    Result<void> (*make)(StagePlan& plan, const AgentContext& context);
    /// Inside: fills the empty folder `root` with the base.
    Result<void> (*fill)(const StagePlan& plan,
                         const std::filesystem::path& root,
                         const FillContext& context);
};

} // namespace cybele::builder
