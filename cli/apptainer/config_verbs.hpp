// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// `config global`: shows or changes a directive of apptainer.conf, whose other lines stay.
[[nodiscard]] Result<int> configure(const OtherCall& call);

} // namespace cybele::cli
