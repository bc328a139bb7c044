// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/batch/cluster.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::bridge {

/// The path of the hostPath volume that results are copied to; empty: another kind of volume.
[[nodiscard]] std::string host_path_of(const Object& object);

[[nodiscard]] Collected
not_collected(std::string_view reason, std::string message, std::int64_t now);

/// Reads what kReadTails prints, of each object that is complete.
[[nodiscard]] std::vector<Streams> read_tails(std::string_view text);

/// The report of kCollectResults; unset: it is not finished, or is not a complete report.
[[nodiscard]] std::optional<Collected> read_collected(std::string_view text, std::int64_t now);

} // namespace cybele::bridge
