// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/site.hpp"

#include <string>
#include <string_view>

namespace cybele::launchers {

/// What `srun --mpi=` calls a PMI (`pmix`, `pmi2`) at the Site: the word itself, or a version of it
/// (`pmix_v4`). Empty where the Site is known not to have it; the word where nothing is known.
[[nodiscard]] std::string pmi_name(const Site* site, std::string_view pmi);

} // namespace cybele::launchers
