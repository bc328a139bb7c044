// SPDX-License-Identifier: Apache-2.0
#include "pipeline/setup_files.hpp"

#include "support/characters.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::pipeline {
namespace {

constexpr std::string_view kField = "install_requires";

/// Reads one list of Python that holds texts alone.
class ListReader {
public:
    explicit ListReader(std::string_view text) : text_(text) {}

    /// `= ["a", 'b']`, with comments and line ends; nothing else may follow in the expression.
    std::optional<std::vector<std::string>> read() {
        skip();
        if (!accept('=') || peek() == '=') {
            return std::nullopt;
        }
        skip();
        const char close = peek() == '[' ? ']' : ')';
        if (!accept('[') && !accept('(')) {
            return std::nullopt;
        }
        std::vector<std::string> list;
        for (skip(); peek() != close; skip()) {
            const auto item = string();
            if (!item) {
                return std::nullopt;
            }
            list.push_back(*item);
            skip();
            if (peek() != close && !accept(',')) {
                return std::nullopt;
            }
        }
        accept(close);
        at_ = std::min(text_.find_first_not_of(" \t\r", at_), text_.size());
        const bool is_end = at_ == text_.size() ||
                            std::string_view(",)\n#;").find(peek()) != std::string_view::npos;
        return is_end ? std::optional(list) : std::nullopt;
    }

private:
    [[nodiscard]] char peek() const {
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool accept(char wanted) {
        const bool is_wanted = peek() == wanted;
        at_ += is_wanted ? 1U : 0U;
        return is_wanted;
    }
    /// Blanks, line ends and comments.
    void skip() {
        while (at_ < text_.size() && (peek() == '#' || std::string_view(" \t\r\n\\").find(peek()) !=
                                                           std::string_view::npos)) {
            at_ = peek() == '#' ? std::min(text_.find('\n', at_), text_.size()) : at_ + 1;
        }
    }
    /// A text in quotes, without escapes and not one of three quotes.
    std::optional<std::string> string() {
        at_ += peek() == 'u' || peek() == 'r' ? 1U : 0U;
        const char quote = peek();
        const auto end =
            quote == '"' || quote == '\'' ? text_.find(quote, at_ + 1) : std::string_view::npos;
        if (end == std::string_view::npos || end == at_ + 1) {
            return std::nullopt;
        }
        std::string own(text_.substr(at_ + 1, end - at_ - 1));
        at_ = end + 1;
        const bool is_plain = own.find_first_of("\\\n") == std::string::npos;
        return is_plain ? std::optional(own) : std::nullopt;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace

std::optional<std::vector<std::string>> setup_py_requirements(std::string_view text) {
    for (auto at = text.find(kField); at != std::string_view::npos;
         at = text.find(kField, at + 1)) {
        const std::size_t line = text.rfind('\n', at) + 1; // npos + 1 is 0
        const std::size_t end = at + kField.size();
        const bool is_word = (at == 0 || !is_word_character(text[at - 1])) &&
                             (end == text.size() || !is_word_character(text[end]));
        if (!is_word || text.substr(line, at - line).find('#') != std::string_view::npos) {
            continue;
        }
        if (auto list = ListReader(text.substr(end)).read()) {
            return list;
        }
    }
    return std::nullopt;
}

std::optional<std::vector<std::string>> setup_cfg_requirements(std::string_view text) {
    std::vector<std::string> list;
    bool is_options = false;
    bool is_field = false;
    for (const std::string_view row : text::split_terminated(text, '\n')) {
        const std::string_view line = text::trimmed(row);
        const bool is_indented = row.starts_with(' ') || row.starts_with('\t');
        if (line.empty() || line.starts_with('#') || line.starts_with(';')) {
            continue;
        }
        std::string_view value = line;
        if (!is_indented) {
            is_options = line.starts_with('[') ? line.starts_with("[options]") : is_options;
            const std::size_t equals = std::min(line.find_first_of("=:"), line.size());
            is_field = is_options && text::trimmed(line.substr(0, equals)) == kField;
            value = text::trimmed(line.substr(std::min(equals + 1, line.size())));
        }
        if (!is_field || value.empty()) {
            continue;
        }
        if (value.starts_with("file:") || value.starts_with("attr:") ||
            value.find("%(") != std::string_view::npos) {
            return std::nullopt;
        }
        list.emplace_back(value.substr(0, value.find(" #")));
    }
    return list;
}

} // namespace cybele::pipeline
