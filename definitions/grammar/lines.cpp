// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/lines.hpp"

#include "definitions/grammar/grammar.hpp"
#include "support/characters.hpp"

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

/// The blanks of Apptainer's regular expressions; a vertical tab is none.
bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

bool ends_word(char c) {
    return is_blank(c) || c == '"' || c == '\'';
}

template <class Is>
std::size_t skip(std::string_view line, std::size_t at, Is is) {
    while (at < line.size() && is(line[at])) {
        ++at;
    }
    return at;
}

/// Behind `{{ name }` and all the braces that follow it at `at`; npos where that is no template.
std::size_t behind_template(std::string_view line, std::size_t at) {
    if (!line.substr(at).starts_with("{{")) {
        return std::string_view::npos;
    }
    const std::size_t name = skip(line, at + 2, is_blank);
    const std::size_t name_end = skip(line, name, is_word_character);
    const std::size_t brace = skip(line, name_end, is_blank);
    if (name == name_end || brace >= line.size() || line[brace] != '}') {
        return std::string_view::npos;
    }
    return skip(line, brace, [](char c) { return c == '}'; });
}

/// The end of the word at `at` that holds templates with their blanks; npos where it holds none.
std::size_t templated_word_end(std::string_view line, std::size_t at) {
    std::size_t end = std::string_view::npos;
    for (std::size_t begin = at; begin < line.size();) {
        // The last template that begins in this run of characters; those before it belong to the
        // run.
        std::size_t open = skip(line, begin, [](char c) { return !ends_word(c); });
        std::size_t behind = std::string_view::npos;
        while (open > begin && behind == std::string_view::npos) {
            behind = behind_template(line, --open);
        }
        if (behind == std::string_view::npos) {
            break;
        }
        begin = end =
            skip(line, behind, [](char c) { return !ends_word(c) && c != '{' && c != '}'; });
    }
    return end;
}

/// The next word at `at` as written, or nothing at the end of the line.
std::optional<std::string_view> next_word(std::string_view line, std::size_t& at) {
    while (at < line.size()) {
        const std::size_t begin = at;
        if (is_blank(line[at])) {
            ++at;
            continue;
        }
        if (line[at] == '"') {
            const std::size_t end = line.find('"', at + 1);
            ++at; // an open quote means nothing
            if (end == std::string_view::npos) {
                continue;
            }
            at = end + 1;
        } else if (line[at] == '\'') {
            at = std::min(line.find('\'', at + 1), line.size());
        } else {
            const std::size_t templated = templated_word_end(line, at);
            at = templated != std::string_view::npos
                     ? templated
                     : skip(line, at, [](char c) { return !ends_word(c); });
        }
        return line.substr(begin, at - begin);
    }
    return std::nullopt;
}

/// A word's value: without blanks, then without double quotes, at both ends.
std::string word_value(std::string_view word) {
    word = trim(word);
    while (word.starts_with('"')) {
        word.remove_prefix(1);
    }
    while (word.ends_with('"')) {
        word.remove_suffix(1);
    }
    return std::string(word);
}

/// The words between Unicode's blanks.
std::vector<std::string_view> fields(std::string_view text) {
    std::vector<std::string_view> words;
    for (text = trim(text); !text.empty(); text = trim(text)) {
        std::size_t end = 0;
        while (end < text.size() && blank_length(text.substr(end)) == 0) {
            ++end;
        }
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

} // namespace

std::optional<std::pair<std::string, std::string>> split_file_line(std::string_view line) {
    std::size_t at = 0;
    const auto source = next_word(line, at);
    if (!source) {
        return std::nullopt;
    }
    const auto destination = next_word(line, at);
    return std::pair(word_value(*source), word_value(destination.value_or("")));
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
    if (bare.empty()) {
        return {};
    }
    const auto words = fields(bare);
    if (words.size() == 2) {
        return {FilesOrigin::Kind::kStage, std::string(words[1])};
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
        const auto same =
            std::ranges::find_if(labels, [&](const auto& label) { return label.first == key; });
        if (same != labels.end()) {
            same->second = std::move(value);
        } else {
            labels.emplace_back(std::move(key), std::move(value));
        }
    });
    return labels;
}

BuildArguments argument_lines(std::string_view text, const Dialect& dialect) {
    const bool takes_equals = has(dialect, Feature::kEqualsInArguments);
    BuildArguments arguments;
    for_each_line(text, [&](std::string_view line, std::size_t) {
        const std::string_view trimmed = trim(line);
        const std::size_t equals = trimmed.find('=');
        if (!is_data(trimmed) || equals == std::string_view::npos ||
            (!takes_equals && trimmed.find('=', equals + 1) != std::string_view::npos)) {
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
