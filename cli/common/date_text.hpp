// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cybele::cli {

/// A moment as `2026-11-22T08:30:00Z`; 0 is `-`.
[[nodiscard]] std::string date_text(std::int64_t seconds);
/// As Apptainer writes it: "2020-06-30 00:01:56 +0000 UTC".
[[nodiscard]] std::string readable_time(std::int64_t seconds);

} // namespace cybele::cli
