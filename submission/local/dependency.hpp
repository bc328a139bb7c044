// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/local/queue.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::submission {

/// A condition under `after`: `ok`, `any`, `failed`, `started` of a job or of one element.
struct LocalCondition {
    std::string when;
    std::int64_t number = 0;
    std::int64_t index = -1; ///< -1: the job, all of its elements
};

/// `ok:12 any:13_2`; what is no condition is left out.
[[nodiscard]] std::vector<LocalCondition> read_conditions(std::string_view text);
[[nodiscard]] std::string text_of(const std::vector<LocalCondition>& conditions);
/// `12`, or `12_3`, as number and index; unset: it is no id of the local scheduler.
[[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>>
read_local_id(std::string_view id);

enum class ConditionState { kYes, kNotYet, kNever };

/// What the parts of the job that is waited for make of the condition. An array is met when all of
/// its elements have ended; it failed when one of them did.
[[nodiscard]] ConditionState judge(const LocalCondition& condition,
                                   const std::vector<LocalPart>& parts);

} // namespace cybele::submission
