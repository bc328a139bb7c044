// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/words.hpp"

#include "support/text.hpp"

namespace cybele::recipes {

bool has_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        const auto end = list.find_first_of(" |");
        if (list.substr(0, end) == word) {
            return true;
        }
        list = end == std::string_view::npos ? std::string_view{} : list.substr(end + 1);
    }
    return false;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
    return text::trimmed(text, blanks);
}

std::string literal(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i).starts_with("@{")) {
            result += '@';
        }
        result += text[i];
    }
    return result;
}

} // namespace cybele::recipes
