// SPDX-License-Identifier: Apache-2.0
#include "submission/local/dependency.hpp"

#include "submission/backends/command_backend.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::submission {

std::optional<std::pair<std::int64_t, std::int64_t>> read_local_id(std::string_view id) {
    const std::size_t line = id.find('_');
    const auto number = text::number(id.substr(0, line));
    if (!number || *number <= 0) {
        return std::nullopt;
    }
    if (line == std::string_view::npos) {
        return std::pair<std::int64_t, std::int64_t>(*number, -1);
    }
    const auto index = text::number(id.substr(line + 1));
    if (!index || *index < 0) {
        return std::nullopt;
    }
    return std::pair<std::int64_t, std::int64_t>(*number, *index);
}

std::vector<LocalCondition> read_conditions(std::string_view text) {
    std::vector<LocalCondition> conditions;
    for (const std::string_view word : text::split(text, ' ')) {
        const std::size_t colon = word.find(':');
        const auto id =
            colon == std::string_view::npos ? std::nullopt : read_local_id(word.substr(colon + 1));
        if (id) {
            conditions.push_back({std::string(word.substr(0, colon)), id->first, id->second});
        }
    }
    return conditions;
}

std::string text_of(const std::vector<LocalCondition>& conditions) {
    std::string text;
    for (const LocalCondition& condition : conditions) {
        text += (text.empty() ? "" : " ") + condition.when + ":" + std::to_string(condition.number);
        if (condition.index >= 0) {
            text += "_" + std::to_string(condition.index);
        }
    }
    return text;
}

ConditionState judge(const LocalCondition& condition, const std::vector<LocalPart>& parts) {
    using Phase = LocalPart::Phase;
    bool is_any = false;
    bool is_started = true;
    bool is_ended = true;
    bool is_good = true;
    for (const LocalPart& part : parts) {
        if (condition.index >= 0 && part.index != condition.index) {
            continue;
        }
        is_any = true;
        is_started = is_started && part.phase != Phase::kWaiting;
        is_ended = is_ended && part.phase == Phase::kEnded;
        is_good = is_good && (part.phase != Phase::kEnded || part.outcome == "done");
    }
    if (!is_any) {
        return ConditionState::kNever;
    }
    if (condition.when == "started") {
        return is_started ? ConditionState::kYes : ConditionState::kNotYet;
    }
    if (condition.when == "ok" && !is_good) {
        return ConditionState::kNever;
    }
    if (!is_ended) {
        return ConditionState::kNotYet;
    }
    if (condition.when == "failed") {
        return is_good ? ConditionState::kNever : ConditionState::kYes;
    }
    return ConditionState::kYes;
}

} // namespace cybele::submission
