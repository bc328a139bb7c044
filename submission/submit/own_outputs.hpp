// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "schedulers/reading/asked.hpp"

#include <string>

namespace cybele::submission {

/// What is known where the outputs will be written.
struct OutputPlace {
    bool is_local = false; ///< this machine writes them, so that all of a name is known
    std::string host;
    std::string user;
};

/// A script as it was read, and what it asks for.
struct OwnOutputs {
    const schedulers::BatchScript& script;
    const schedulers::Asked& asked;
    const OutputPlace& place;
};

/// The names of both outputs, as patterns of a Job: by the directives, else as the batch system
/// chooses them. Empty: only the batch system knows.
void set_outputs(const OwnOutputs& own, launchers::Output& into);

} // namespace cybele::submission
