// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// Reports a file of the command line that does not exist in the words of its verb, as Apptainer.
[[nodiscard]] Result<void> check_given_files(const Session& session, const OtherCall& call);

} // namespace cybele::cli
