// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/exchange.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace cybele::bridge {

/// What stands in a log: a failure that lasts is logged once an hour, not in each round.
class LoggedWords {
public:
    /// Whether the words are to be logged now; they count as logged then.
    bool is_due(const std::string& words, apiserver::Moment now) {
        std::erase_if(logged_, [now](const auto& one) { return now - one.second >= kAgain; });
        if (logged_.size() >= kMost) {
            logged_.clear();
        }
        return logged_.emplace(words, now).second;
    }
    void clear() {
        logged_.clear();
    }
    [[nodiscard]] std::size_t size() const {
        return logged_.size();
    }

private:
    static constexpr std::chrono::hours kAgain{1};
    static constexpr std::size_t kMost = 1000;
    std::map<std::string, apiserver::Moment> logged_;
};

} // namespace cybele::bridge
