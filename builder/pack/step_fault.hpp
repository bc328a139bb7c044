// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/request/request.hpp"
#include "builder/steps/host_environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>

namespace cybele::builder {

/// A script of a section that did not end well.
struct FailedScript {
    const definitions::Section& section;
    const std::string& name; ///< "%post 2 of 3"
    const ScriptEnd& end;
    const std::filesystem::path& root;    ///< where it ran
    bool is_cached = false;               ///< what it left can be looked at (failed_step.hpp)
    std::filesystem::path certificates{}; ///< of this machine; empty: it has none
};

/// Why it failed, as its output says, and the line of the definition file.
[[nodiscard]] Error step_fault(const BuildRequest& request, const FailedScript& failed);

} // namespace cybele::builder
