// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/shell_words.hpp"

#include "support/find.hpp"
#include "support/name.hpp"

#include <algorithm>

namespace cybele::schedulers {
namespace {

constexpr std::string_view kWordBreaks = " \t";
constexpr std::string_view kOperators = ";&|()\n";

bool is_in_set(char character, std::string_view set) {
    return set.find(character) != std::string_view::npos;
}

bool is_assignment(const ShellWord& word) {
    const auto equals = word.raw.find('=');
    return equals != std::string::npos && is_variable_name(word.raw.substr(0, equals));
}

/// Walks over a text and gathers words and commands.
class Walker {
public:
    explicit Walker(std::span<const std::string> lines) {
        for (const auto& line : lines) {
            text_ += line;
            text_ += '\n';
        }
    }

    std::vector<ShellCommand> walk() {
        while (at_ < text_.size()) {
            step();
        }
        end_command("\n");
        return std::move(commands_);
    }

private:
    [[nodiscard]] char look(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }

    void take() {
        line_ += text_[at_] == '\n' ? 1U : 0U;
        ++at_;
    }

    /// Takes a character into the word.
    void keep(bool is_text = true) {
        word_.raw += text_[at_];
        if (is_text) {
            word_.text += text_[at_];
        }
        has_word_ = true;
        take();
    }

    void step() {
        const char next = look();
        if (next == '\\' && look(1) == '\n') {
            take();
            take();
        } else if (next == '#' && !has_word_) {
            while (at_ < text_.size() && look() != '\n') {
                take();
            }
        } else if (is_in_set(next, kWordBreaks)) {
            end_word();
            take();
        } else if (next == '\n' && !has_word_ && !heredoc_.empty()) {
            end_command("\n");
            skip_heredoc();
        } else if (next == '&' && !word_.raw.empty() && is_in_set(word_.raw.back(), "<>")) { // 2>&1
            keep();
        } else if (next == '&' && look(1) == '>') { // `&>log`, which bash has and sh has not
            end_word();
            word_.is_redirection = true;
            keep();
        } else if (is_in_set(next, kOperators)) {
            take_operator();
        } else if (next == '<' || next == '>') {
            word_.is_redirection =
                word_.raw.find_first_not_of("0123456789&<>") == std::string::npos;
            keep();
        } else {
            take_text();
        }
    }

    void take_text() {
        switch (look()) {
        case '\\':
            keep(false);
            if (at_ < text_.size()) {
                keep();
            }
            break;
        case '\'':
            keep(false);
            while (at_ < text_.size() && look() != '\'') {
                keep();
            }
            if (at_ < text_.size()) {
                keep(false);
            }
            break;
        case '"':
            take_double();
            break;
        case '$':
        case '`':
            word_.is_split = true;
            take_expansion();
            break;
        default:
            keep();
        }
    }

    void take_double() {
        keep(false);
        while (at_ < text_.size() && look() != '"') {
            if (look() == '\\') {
                keep(false);
                if (at_ < text_.size()) {
                    keep();
                }
            } else if (look() == '$' || look() == '`') {
                take_expansion();
            } else {
                keep();
            }
        }
        if (at_ < text_.size()) {
            keep(false);
        }
    }

    /// `$x`, `${x…}`, `$(…)`, backquotes: kept as written.
    void take_expansion() {
        word_.has_expansion = true;
        const char first = look();
        keep();
        if (first == '`') {
            take_until('`');
        } else if (look() == '{') {
            take_nested('{', '}');
        } else if (look() == '(') {
            take_nested('(', ')');
        }
    }

    void take_until(char end) {
        while (at_ < text_.size() && look() != end) {
            keep();
        }
        if (at_ < text_.size()) {
            keep();
        }
    }

    /// A parenthesis or brace within quotes, or after a backslash, does not count.
    void take_nested(char open, char close) {
        constexpr int kDeepest = 100; // deeper ones are read flat
        const bool is_deep = ++nesting_ > kDeepest;
        int depth = 0;
        do {
            if (look() == '\\' && !is_deep) {
                keep();
                keep_one();
            } else if (look() == '\'' && open == '(' && !is_deep) {
                keep();
                take_until('\'');
            } else if (look() == '"' && !is_deep) {
                take_nested_quotes();
            } else {
                depth += look() == open ? 1 : look() == close ? -1 : 0;
                keep();
            }
        } while (depth > 0 && at_ < text_.size());
        --nesting_;
    }

    /// `"…"` within an expansion, which may have expansions again.
    void take_nested_quotes() {
        keep();
        while (at_ < text_.size() && look() != '"') {
            if (look() == '\\') {
                keep();
                keep_one();
            } else if (look() == '$' || look() == '`') {
                take_expansion();
            } else {
                keep();
            }
        }
        keep_one();
    }

    void keep_one() {
        if (at_ < text_.size()) {
            keep();
        }
    }

    void take_operator() {
        std::string text(1, look());
        if (look() != '\n' && look(1) == look() && is_in_set(look(), "&|;")) {
            text += look();
        }
        end_command(text);
        const std::size_t end = at_ + text.size();
        while (at_ < end) {
            take();
        }
        if (text == "\n" && !heredoc_.empty()) {
            skip_heredoc();
        }
    }

    void end_word() {
        if (!has_word_) {
            return;
        }
        if (command_.words.empty()) {
            command_.line = line_;
        }
        if (word_.is_redirection && word_.raw.find("<<") != std::string::npos &&
            word_.raw.find("<<<") == std::string::npos) {
            heredoc_ = word_.text.substr(word_.text.find("<<") + 2);
            if (heredoc_.starts_with('-')) {
                heredoc_.erase(0, 1);
            }
            needs_heredoc_word_ = heredoc_.empty();
        } else if (needs_heredoc_word_) {
            heredoc_ = word_.text;
            needs_heredoc_word_ = false;
        }
        command_.words.push_back(std::move(word_));
        word_ = {};
        has_word_ = false;
    }

    void end_command(const std::string& by) {
        end_word();
        if (command_.words.empty() && by == "\n") {
            return; // `x=(` and its words on the lines below
        }
        if (!command_.words.empty()) {
            command_.after = by;
            commands_.push_back(std::move(command_));
        }
        command_ = {};
        command_.before = by == "\n" ? "" : by;
    }

    void skip_heredoc() {
        if (look() == '\n') {
            take();
        }
        while (at_ < text_.size()) {
            std::string line;
            while (at_ < text_.size() && look() != '\n') {
                line += look();
                take();
            }
            if (at_ < text_.size()) {
                take();
            }
            const auto start = std::min(line.find_first_not_of('\t'), line.size());
            if (line.substr(start) == heredoc_) {
                break;
            }
        }
        heredoc_.clear();
    }

    std::string text_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    ShellWord word_;
    bool has_word_ = false;
    ShellCommand command_;
    std::string heredoc_;
    bool needs_heredoc_word_ = false;
    int nesting_ = 0;
    std::vector<ShellCommand> commands_;
};

} // namespace

std::string_view ShellCommand::program() const {
    for (const auto& word : words) {
        if (!is_assignment(word) && !word.is_redirection) {
            return word.text;
        }
    }
    return {};
}

bool ShellCommand::has(std::string_view word) const {
    return contains(words, word, &ShellWord::text);
}

bool ShellCommand::has_start(std::string_view start) const {
    return std::ranges::any_of(words,
                               [&](const ShellWord& each) { return each.text.starts_with(start); });
}

std::vector<ShellCommand> shell_commands(std::span<const std::string> lines) {
    return Walker(lines).walk();
}

} // namespace cybele::schedulers
