// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/follow/poll.hpp"

#include <string>
#include <vector>

namespace cybele::submission {

/// The UUID of a job by its name in the journal; or, where `name` is a record folder
/// (`.cybelectl/UUID`) that the journal does not know, of that job, which is entered then as one
/// whose submission was not acknowledged.
[[nodiscard]] Result<std::string> take_up(JobContext& context, const std::string& name);

/// Asks for the end of jobs and writes down that it was asked; does not wait for it.
[[nodiscard]] Result<void> ask_to_end(JobContext& context, std::vector<Entry>& entries);

} // namespace cybele::submission
