// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_words.hpp"

#include "launchers/documents/job.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"

#include <algorithm>

namespace cybele::schedulers {
namespace {

constexpr std::string_view kShellSpecial = "*?[]{}~<>!`;&|()#\n";

/// A value that stays one word where no quotes stand around it.
bool is_one_word(std::string_view value) {
    return value == launchers::kIndexMark ||
           (!value.empty() && value.find_first_of(" \t\n*?[]\\") == std::string_view::npos);
}

/// Reads a word letter by letter.
class WordReader {
public:
    WordReader(std::string_view raw, const Constants& constants)
        : raw_(raw), constants_(constants) {}

    std::optional<std::string> read() {
        while (at_ < raw_.size()) {
            if (!step()) {
                return std::nullopt;
            }
        }
        const bool is_closed = !in_double_;
        return is_closed ? std::optional<std::string>(std::move(value_)) : std::nullopt;
    }

private:
    bool step() {
        const char letter = raw_[at_];
        if (letter == '$') {
            return take_variable();
        }
        if (letter == '"') {
            in_double_ = !in_double_;
            ++at_;
            return true;
        }
        if (letter == '\\') {
            return take_escaped();
        }
        if (letter == '\'' && !in_double_) {
            const auto end = raw_.find('\'', at_ + 1);
            if (end == std::string_view::npos) {
                return false;
            }
            value_ += raw_.substr(at_ + 1, end - at_ - 1);
            at_ = end + 1;
            return true;
        }
        const bool is_special =
            in_double_ ? letter == '`' : kShellSpecial.find(letter) != std::string_view::npos;
        value_ += letter;
        ++at_;
        return !is_special;
    }

    bool take_escaped() {
        if (at_ + 1 >= raw_.size() || raw_[at_ + 1] == '\n') {
            return false;
        }
        const char next = raw_[at_ + 1];
        const bool stays =
            in_double_ && std::string_view("$`\"\\").find(next) == std::string_view::npos;
        value_ += stays ? std::string{'\\', next} : std::string(1, next);
        at_ += 2;
        return true;
    }

    bool take_variable() {
        ++at_;
        const bool has_brace = at_ < raw_.size() && raw_[at_] == '{';
        at_ += has_brace ? 1 : 0;
        const std::size_t begin = at_;
        while (at_ < raw_.size() && is_word_character(raw_[at_])) {
            ++at_;
        }
        const auto found = constants_.find(std::string(raw_.substr(begin, at_ - begin)));
        if (has_brace && (at_ >= raw_.size() || raw_[at_++] != '}')) {
            return false;
        }
        if (found == constants_.end() || (!in_double_ && !is_one_word(found->second))) {
            return false;
        }
        value_ += found->second;
        return true;
    }

    std::string_view raw_;
    const Constants& constants_;
    std::size_t at_ = 0;
    bool in_double_ = false;
    std::string value_;
};

} // namespace

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
    return contains(words, word);
}

bool starts_with_one_of(std::string_view word, std::span<const std::string_view> starts) {
    return std::ranges::any_of(starts,
                               [word](std::string_view start) { return word.starts_with(start); });
}

std::optional<std::string> word_value(std::string_view raw, const Constants& constants) {
    // Our mark in a script is the script's own text.
    return raw.find(launchers::kIndexMark) != std::string_view::npos
               ? std::nullopt
               : WordReader(raw, constants).read();
}

std::string_view name_of_path(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

bool mentions(std::string_view text, std::string_view name) {
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const bool begins = at == 0 || !is_word_character(text[at - 1]);
        const std::size_t end = at + name.size();
        if (begins && (end == text.size() || !is_word_character(text[end]))) {
            return true;
        }
    }
    return false;
}

} // namespace cybele::schedulers
