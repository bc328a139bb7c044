// SPDX-License-Identifier: Apache-2.0
#include "support/start_time.hpp"

#include "support/file.hpp"

#include <sstream>

namespace cybele {

std::string start_time(pid_t pid) {
    constexpr std::size_t kMost = 4096;
    constexpr int kBehindState = 19; // fields, to the 22nd of all
    const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", kMost);
    // The name stands in parentheses and may hold anything, parentheses too.
    const std::size_t name_end = text ? text->rfind(')') : std::string::npos;
    if (name_end == std::string::npos) {
        return {};
    }
    std::istringstream fields(text->substr(name_end + 1));
    std::string field;
    fields >> field;
    if (field == "Z" || field == "X") {
        return {};
    }
    for (int i = 0; i < kBehindState; ++i) {
        fields >> field;
    }
    return fields ? field : std::string{};
}

} // namespace cybele
