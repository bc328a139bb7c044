// SPDX-License-Identifier: Apache-2.0
#include "submission/records/output_pattern.hpp"

#include <cstddef>

namespace cybele::submission {

std::string expand_pattern(const std::string& pattern,
                           const std::string& name,
                           const std::string& id,
                           const std::string& index) {
    std::string out;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const char next = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
        const bool is_index = next == 'a' && !index.empty();
        if (pattern[at] != '%' || (next != 'x' && next != 'j' && next != '%' && !is_index)) {
            out += pattern[at];
            continue;
        }
        out += next == 'x' ? name : next == 'j' ? id : is_index ? index : "%";
        ++at;
    }
    return out;
}

std::string without_percents(const std::filesystem::path& folder) {
    std::string text;
    for (const char letter : folder.native()) {
        text += letter == '%' ? std::string("%%") : std::string(1, letter);
    }
    return text;
}

} // namespace cybele::submission
