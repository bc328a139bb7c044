// SPDX-License-Identifier: Apache-2.0
#include "support/start_time.hpp"

#include "support/file.hpp"
#include "support/text.hpp"

namespace cybele {

std::string start_time(pid_t pid) {
    constexpr std::size_t kMost = 4096;
    constexpr std::size_t kBehindState = 19; // fields, to the 22nd of all
    const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", kMost);
    // The name stands in parentheses and may hold anything, parentheses too.
    const std::size_t name_end = text ? text->rfind(')') : std::string::npos;
    if (name_end == std::string::npos) {
        return {};
    }
    const auto fields = text::split_terminated(std::string_view(*text).substr(name_end + 1), ' ');
    constexpr std::size_t kState = 1; // behind a blank
    if (fields.size() <= kState + kBehindState || fields[kState] == "Z" || fields[kState] == "X") {
        return {};
    }
    return std::string(fields[kState + kBehindState]);
}

} // namespace cybele
