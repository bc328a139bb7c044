// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/characters.hpp"

#include <string>

namespace cybele::bridge {

/// The name of the batch job of an object whose script names none: names of PBS are short and begin
/// with a letter.
[[nodiscard]] inline std::string job_name(const std::string& name, bool is_slurm) {
    constexpr std::size_t kLongestPbsName = 15;
    const bool begins_with_digit = !name.empty() && is_digit(name.front());
    return is_slurm ? name : ((begins_with_digit ? "j" : "") + name).substr(0, kLongestPbsName);
}

} // namespace cybele::bridge
