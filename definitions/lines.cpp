// SPDX-License-Identifier: Apache-2.0
#include "definitions/lines.hpp"

#include "definitions/grammar.hpp"

#include <algorithm>

namespace cybele::definitions {
namespace {

/// Calls `visit(line, index)` for each line of a text, without its LF.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
    for (std::size_t begin = 0, index = 0; begin < text.size(); ++index) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        visit(text.substr(begin, end - begin), index);
        begin = end + 1;
    }
}

bool is_data(std::string_view trimmed) {
    return !trimmed.empty() && trimmed.front() != '#';
}

bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/// The next word at `at`, or nothing at the end of the line.
std::optional<std::string> next_word(std::string_view line, std::size_t& at) {
    while (at < line.size()) {
        if (is_blank(line[at])) {
            ++at;
            continue;
        }
        if (line[at] == '"') {
            const std::size_t end = line.find('"', at + 1);
            if (end == std::string_view::npos) {
                ++at; // an open quote means nothing
                continue;
            }
            std::string word(line.substr(at + 1, end - at - 1));
            at = end + 1;
            return word;
        }
        const std::size_t begin = at;
        if (line[at] == '\'') {
            at = std::min(line.find('\'', at + 1), line.size());
        } else {
            while (at < line.size() && !is_blank(line[at]) && line[at] != '"' && line[at] != '\'') {
                ++at;
            }
        }
        return std::string(line.substr(begin, at - begin));
    }
    return std::nullopt;
}

} // namespace

std::optional<std::pair<std::string, std::string>> split_file_line(std::string_view line) {
    std::size_t at = 0;
    const auto source = next_word(line, at);
    if (!source) {
        return std::nullopt;
    }
    const auto destination = next_word(line, at);
    return std::pair(std::string(trim(*source)), std::string(trim(destination.value_or(""))));
}

std::vector<FileLine> file_lines(const Section& section) {
    std::vector<FileLine> lines;
    for_each_line(section.text, [&](std::string_view text, std::size_t index) {
        const std::string_view trimmed = trim(text);
        if (!is_data(trimmed)) {
            return;
        }
        if (auto words = split_file_line(trimmed)) {
            lines.push_back(FileLine{std::move(words->first),
                                     std::move(words->second),
                                     section.line == 0 ? 0 : section.line + 1 + index,
                                     std::string(text)});
        }
    });
    return lines;
}

FilesOrigin files_origin(const Section& section) {
    const std::string_view bare =
        std::string_view(section.arguments).substr(0, section.arguments.find('#'));
    std::vector<std::string> words;
    for (std::size_t at = 0; at < bare.size();) {
        if (is_blank(bare[at])) {
            ++at;
            continue;
        }
        const std::size_t begin = at;
        while (at < bare.size() && !is_blank(bare[at])) {
            ++at;
        }
        words.emplace_back(bare.substr(begin, at - begin));
    }
    if (words.empty()) {
        return {};
    }
    if (words.size() == 2 && words[0] == "from") {
        return {FilesOrigin::Kind::kStage, words[1]};
    }
    return {FilesOrigin::Kind::kSkipped, {}};
}

std::vector<std::pair<std::string, std::string>> label_lines(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> labels;
    for_each_line(text, [&](std::string_view line, std::size_t) {
        const std::string_view trimmed = trim(line);
        if (!is_data(trimmed)) {
            return;
        }
        const std::size_t space = std::min(trimmed.find(' '), trimmed.size());
        std::string key(trim(trimmed.substr(0, space)));
        std::string value(trim(trimmed.substr(space)));
        const auto same = std::find_if(
            labels.begin(), labels.end(), [&](const auto& label) { return label.first == key; });
        if (same != labels.end()) {
            same->second = std::move(value);
        } else {
            labels.emplace_back(std::move(key), std::move(value));
        }
    });
    return labels;
}

BuildArguments argument_lines(std::string_view text) {
    BuildArguments arguments;
    for_each_line(text, [&](std::string_view line, std::size_t) {
        const std::string_view trimmed = trim(line);
        const std::size_t equals = trimmed.find('=');
        if (!is_data(trimmed) || equals == std::string_view::npos) {
            return;
        }
        const std::string_view key = trim(trimmed.substr(0, equals));
        if (!key.empty()) {
            arguments[std::string(key)] = trim(trimmed.substr(equals + 1));
        }
    });
    return arguments;
}

} // namespace cybele::definitions
