// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

#include <optional>
#include <string>

namespace cybele::cli {

/// What Apptainer itself refuses of a verb that is not supported here, in its words; an exit
/// code where it ends without an error. Nothing where it would do what is asked.
[[nodiscard]] std::optional<Result<int>> refused_as_apptainer(const Session& session,
                                                              const std::string& verb);

} // namespace cybele::cli
