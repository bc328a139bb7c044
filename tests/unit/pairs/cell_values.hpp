// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_cell.hpp"

#include <cstdint>
#include <string>

namespace cybele::pairs {

/// The value of a field as a number or a text; `otherwise` where the field is not written.
[[nodiscard]] std::uint64_t
number_at(const nlohmann::ordered_json& document, const std::string& path, std::uint64_t otherwise);
[[nodiscard]] std::string text_at(const nlohmann::ordered_json& document,
                                  const std::string& path,
                                  std::string otherwise = {});

/// `23 GiB` in KiB.
[[nodiscard]] std::uint64_t kibibytes(const std::string& size);

/// `49 h` as HH:MM:SS.
[[nodiscard]] std::string clock_of(const std::string& duration);

[[nodiscard]] std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit);

/// The texts of a list, with `between` between them.
[[nodiscard]] std::string joined(const nlohmann::ordered_json& list, const char* between);

} // namespace cybele::pairs
