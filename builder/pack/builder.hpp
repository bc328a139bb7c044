// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>

namespace cybele::builder {

/// Builds with the embedded builder, by the bootstrap agents of agents.cpp; %setup and %pre
/// are refused unless root asks. As root, or as a user with subuid. A step that fails is
/// kExecution, with the last lines of its output and the line of the definition file.
[[nodiscard]] Result<BuildResult> build(const BuildRequest& request,
                                        const Environment& environment);

/// Whether the embedded builder knows a bootstrap agent.
[[nodiscard]] bool has_agent(std::string_view name);

/// Hands the definition file to an installed `apptainer` or `singularity` instead.
[[nodiscard]] Result<BuildResult>
build_with(const std::string& program, const BuildRequest& request, const Environment& environment);

} // namespace cybele::builder
