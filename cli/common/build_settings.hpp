// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/image_access.hpp"
#include "cli/common/session.hpp"
#include "pipeline/build_settings.hpp"

#include <string>

namespace cybele::cli {

/// What a command line says of builds; empty: the settings say it.
struct BuildFlags {
    std::string builder;
    std::string mirror;
    std::string pip_index;
    std::string sign_key;
    AccessOptions access;
    unsigned jobs = 0;          ///< stages at a time; 0: the cores
    bool makes_sandbox = false; ///< the image becomes a directory
    std::string updated;        ///< the sandbox that is updated, if any
    bool fixes_permissions = false;
};

/// The one place where flags and settings become what builds and Locks obey.
[[nodiscard]] Result<pipeline::BuildSettings> build_settings(const Session& session,
                                                             const BuildFlags& flags);

/// The processors that this process may use.
[[nodiscard]] unsigned cores();

} // namespace cybele::cli
