// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/journal/entry.hpp"
#include "support/error.hpp"

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

namespace cybele::submission {

/// What the description of a job (`job.json`, and `NAME-ID.job.json` of `collect`) says of it, as
/// far as both say the same. Others may have written it: each field is a text, and the array is
/// one that a Job may have; else kInput. `file` is for messages.
[[nodiscard]] Result<Entry> read_recorded(const nlohmann::json& document,
                                          const std::filesystem::path& file);

} // namespace cybele::submission
