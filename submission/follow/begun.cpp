// SPDX-License-Identifier: Apache-2.0
#include "submission/follow/begun.hpp"

#include <filesystem>
#include <system_error>

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

bool is_output_to_come(const Entry& entry, std::int64_t ended, std::int64_t now) {
    const std::filesystem::path output = entry.standard_output;
    const std::string number = entry.id.substr(0, entry.id.find_first_of("[."));
    if (!entry.login.empty() || now >= ended + kDeliverySeconds || number.empty() ||
        output.filename().native().find(".o" + number) == std::string::npos) {
        return false;
    }
    std::error_code error;
    return !std::filesystem::exists(output, error) && !error;
}

} // namespace cybele::submission
