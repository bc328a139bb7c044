// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/batch/cluster.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cybele::bridge {

/// The path of the hostPath volume that results are copied to; empty: another kind of volume.
[[nodiscard]] std::string host_path_of(const Object& object);

[[nodiscard]] Collected
not_collected(std::string_view reason, std::string message, std::int64_t now);

/// The report of kCollectResults; unset: it is not finished, or is not a complete report.
/// Reads what kReadTails prints; empty where it is not complete.
[[nodiscard]] Streams read_tails(std::string_view text);

[[nodiscard]] std::optional<Collected> read_collected(std::string_view text, std::int64_t now);

} // namespace cybele::bridge
