// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/bases/stage_plan.hpp"
#include "builder/pack/builder.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

/// What a build will do, judged before anything is built.
namespace cybele::builder {

/// Finds sources and orders the steps as Apptainer does: %files from, %setup, %files, %post.
/// Refused with all faults at once: agents and sections that cannot be built yet, missing sources.
/// `definition` must outlive the plan.
[[nodiscard]] Result<BuildPlan> make_plan(const BuildRequest& request,
                                          const Environment& environment);

} // namespace cybele::builder
