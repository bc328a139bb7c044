// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/other_verbs.hpp"

namespace cybele::cli {

/// What Apptainer refuses of the words of `sif add`, `del`, `dump`, `header`, `info`, `list`,
/// `new` and `setprim`, with the usage of the verb (kUsage).
[[nodiscard]] Result<void> check_sif_words(const OtherCall& call);

} // namespace cybele::cli
