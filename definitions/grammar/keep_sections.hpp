// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "support/error.hpp"

#include <string>
#include <vector>

namespace cybele::definitions {

/// Leaves out the sections that --section does not name, as Apptainer does: %files, %pre, %setup,
/// %environment, %runscript, %startscript, %test, %help and %labels; others, %post among them, are
/// always carried out. Nothing and "all" leave out none, "none" all of these. The text that is
/// stored in the image stays complete. kUsage: "all" or "none" with others.
[[nodiscard]] Result<void> keep_sections(Definition& definition,
                                         const std::vector<std::string>& names);

/// Whether --section knows the names; Apptainer ignores others. kUsage: it does not.
[[nodiscard]] Result<void> check_section_names(const std::vector<std::string>& names);

} // namespace cybele::definitions
