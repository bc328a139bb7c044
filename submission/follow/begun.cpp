// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/begun.hpp"

namespace cybele::submission {

Reading mark_of_begin(const Entry& entry) {
    return {entry.record + "/started/id", 0, 1};
}

bool has_begun(const Entry& entry, bool is_marked, std::chrono::steady_clock::duration running) {
    if (is_marked) {
        return true;
    }
    switch (entry.state) {
    case State::kSubmitting:
    case State::kPending:
    case State::kHeld:
    case State::kStarting:
        return false;
    case State::kCancelled:
    case State::kNotSubmitted:
        return entry.started != 0;
    case State::kRunning:
        return running >= kSilentBegin;
    default:
        return true;
    }
}

} // namespace cybele::submission
