// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/bases/agent.hpp"

#include <string_view>
#include <vector>

/// The bootstrap agents, one row each.
namespace cybele::builder {

/// All agents, by name.
[[nodiscard]] const std::vector<Agent>& agents();
/// Nothing where the embedded builder has no such agent.
[[nodiscard]] const Agent* find_agent(std::string_view name);

} // namespace cybele::builder
