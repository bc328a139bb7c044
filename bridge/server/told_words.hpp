// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/exchange.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace cybele::bridge {

/// What a log was told: trouble that lasts is told once an hour, not in each round.
class ToldWords {
public:
    /// Whether they are to be told now.
    bool take(const std::string& words, apiserver::Moment now) {
        std::erase_if(told_, [now](const auto& one) { return now - one.second >= kAgain; });
        if (told_.size() >= kMost) {
            told_.clear();
        }
        return told_.emplace(words, now).second;
    }
    void clear() {
        told_.clear();
    }
    [[nodiscard]] std::size_t size() const {
        return told_.size();
    }

private:
    static constexpr std::chrono::hours kAgain{1};
    static constexpr std::size_t kMost = 1000;
    std::map<std::string, apiserver::Moment> told_;
};

} // namespace cybele::bridge
