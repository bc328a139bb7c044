// SPDX-License-Identifier: Apache-2.0
#include "launchers/documents/first_line.hpp"

#include "support/text.hpp"

#include <algorithm>

namespace cybele::launchers {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view without_folder(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

/// What `env` starts: the first word that is not an option of it and sets no variable.
std::string_view program_of_env(std::string_view word) {
    while (!word.empty()) {
        const std::size_t end = std::min(word.find_first_of(kBlanks), word.size());
        std::string_view first = word.substr(0, end);
        if (first.starts_with("-S")) {
            first.remove_prefix(2);
        }
        if (!first.empty() && !first.starts_with('-') && first.find('=') == first.npos) {
            return first;
        }
        word = text::trimmed(word.substr(end));
    }
    return {};
}

} // namespace

std::vector<std::string> words_of_first_line(std::string_view script) {
    if (!script.starts_with("#!")) {
        return {};
    }
    const std::string_view line = text::trimmed(script.substr(2, script.find('\n') - 2));
    const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
    std::vector<std::string> words{std::string(line.substr(0, end))};
    if (const auto option = text::trimmed(line.substr(end)); !option.empty()) {
        words.emplace_back(option);
    }
    return words;
}

std::string program_of_words(const std::vector<std::string>& words) {
    if (words.empty()) {
        return {};
    }
    const std::string_view first = without_folder(words.front());
    if (first == "env") {
        for (std::size_t at = 1; at < words.size(); ++at) {
            if (const auto program = program_of_env(words[at]); !program.empty()) {
                return std::string(without_folder(program));
            }
        }
    }
    return std::string(first);
}

} // namespace cybele::launchers
