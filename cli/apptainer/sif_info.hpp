// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// `sif info ID IMAGE`: the fields of an object, a line each; gives the exit code.
[[nodiscard]] Result<int> show_object(const OtherCall& call);

} // namespace cybele::cli
