// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/bases/agents.hpp"
#include "builder/pack/plan.hpp"
#include "builder/steps/kept_step.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What a tree depends on, as texts that name it in the cache.
namespace cybele::builder {

struct StepKey {
    std::string key; ///< of the tree after the step; empty: not known
    std::vector<KeyPart> parts;
};

struct StageKeys {
    std::string base; ///< empty: not known
    std::vector<StepKey> steps;

    /// Of the tree after the last step.
    [[nodiscard]] const std::string& result() const {
        return steps.empty() ? base : steps.back().key;
    }
};

/// The keys of every stage. Each says all that a tree depends on: the base, every step before, the
/// step's own text, its interpreter, the content of its files, the given time, the machine, and the
/// form of this builder's results. %pre and %setup do on the host what cannot be known.
[[nodiscard]] Result<std::vector<StageKeys>> find_keys(const BuildPlan& plan,
                                                       const AgentContext& context);

/// Of the whole unsigned image: the last stage's tree, metadata and how it is packed. `owners`
/// tells how this user's builds own files. Empty where a stage's key is.
[[nodiscard]] std::string
image_key(const std::vector<StageKeys>& keys, const BuildRequest& request, std::string_view owners);

/// The name of a step's layer in the cache: `attributes` of the overlay, `owners` as image_key().
[[nodiscard]] std::string
layer_key(std::string_view key, std::string_view attributes, std::string_view owners);

/// Why a step is not reused, from what was kept of the same step of the same file the last time:
/// "its text changed"; "" where nothing was.
[[nodiscard]] std::string why_not_reused(const registry::Cache& cache, const KeptStep& wanted);

} // namespace cybele::builder
