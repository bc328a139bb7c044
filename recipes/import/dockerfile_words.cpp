// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/dockerfile_words.hpp"

#include "recipes/forms/words.hpp"
#include "recipes/import/draft.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::recipes::dockerfile {
namespace {

constexpr std::string_view kWordBlanks = " \t";
constexpr std::size_t kLongestValue = 32'768;
constexpr int kDeepest = 16;

/// One word, read from left to right.
class Expander {
public:
    Expander(char escape, const Lookup& lookup, int depth, bool keeps_quotes = false)
        : escape_(escape), lookup_(lookup), depth_(depth), keeps_quotes_(keeps_quotes) {}

    Expansion run(std::string_view text) {
        char quote = 0;
        for (std::size_t i = 0; i < text.size();) {
            const char c = text[i];
            if (quote == '\'') {
                quote = c == '\'' ? static_cast<char>(0) : quote;
                if (quote != 0) {
                    add(text.substr(i, 1));
                }
                ++i;
            } else if (c == escape_ && i + 1 < text.size()) {
                const bool keeps = (keeps_quotes_ || quote == '"') && text[i + 1] != '$' &&
                                   text[i + 1] != escape_ && (keeps_quotes_ || text[i + 1] != '"');
                add(text.substr(keeps ? i : i + 1, keeps ? 2 : 1));
                i += 2;
            } else if (!keeps_quotes_ && (c == '"' || (c == '\'' && quote == 0))) {
                quote = quote == c ? static_cast<char>(0) : c;
                ++i;
            } else if (c == '$') {
                i = variable(text, i);
            } else {
                add(text.substr(i, 1));
                ++i;
            }
        }
        result_.value.text = done_ + literal(pending_);
        return std::move(result_);
    }

private:
    void add(std::string_view plain) {
        result_.value.plain += plain;
        pending_ += plain;
    }

    void add(const Value& value) {
        if (result_.value.plain.size() + value.plain.size() > kLongestValue) {
            unknown("a value of more than 32768 bytes");
            return;
        }
        done_ += literal(pending_) + value.text;
        pending_.clear();
        result_.value.plain += value.plain;
    }

    void unknown(std::string_view what) {
        if (result_.unknown.empty()) {
            result_.unknown = std::string(what);
        }
    }

    /// At a `$`; where to go on.
    std::size_t variable(std::string_view text, std::size_t at) {
        if (at + 1 >= text.size()) {
            add("$");
            return at + 1;
        }
        if (text[at + 1] == '{') {
            return braced(text, at);
        }
        std::size_t end = at + 1;
        while (end < text.size() &&
               (end == at + 1 ? is_word_start(text[end]) : is_word_character(text[end]))) {
            ++end;
        }
        if (end == at + 1) {
            add("$");
            return end;
        }
        plain(text.substr(at + 1, end - at - 1));
        return end;
    }

    void plain(std::string_view name) {
        if (const auto value = lookup_(name)) {
            add(*value);
        } else {
            unknown(name);
        }
    }

    static std::size_t closing(std::string_view text, std::size_t at) {
        int depth = 0;
        for (std::size_t i = at; i < text.size(); ++i) {
            depth += text[i] == '{' ? 1 : 0;
            if (text[i] == '}' && --depth == 0) {
                return i;
            }
        }
        return std::string_view::npos;
    }

    std::size_t braced(std::string_view text, std::size_t at) {
        const auto end = closing(text, at + 1);
        if (end == std::string_view::npos) {
            unknown(text.substr(at));
            return text.size();
        }
        const std::string_view inner = text.substr(at + 2, end - at - 2);
        std::size_t name = 0;
        while (name < inner.size() && is_word_character(inner[name])) {
            ++name;
        }
        if (name == 0 || depth_ > kDeepest) {
            unknown(text.substr(at, end + 1 - at));
        } else if (name == inner.size()) {
            plain(inner);
        } else {
            modified(inner.substr(0, name), inner.substr(name));
        }
        return end + 1;
    }

    /// `:-`, `-`, `:+`, `+`; the other forms change a value and are not read.
    void modified(std::string_view name, std::string_view rest) {
        const bool wants_content = rest.front() == ':';
        const char how =
            rest.size() > (wants_content ? 1U : 0U) ? rest[wants_content ? 1 : 0] : '\0';
        const std::string_view word =
            rest.substr(std::min<std::size_t>(rest.size(), wants_content ? 2 : 1));
        const auto value = lookup_(name);
        const bool has = value && !(wants_content && value->plain.empty());
        if (how == '-') {
            has ? add(*value) : other(word);
        } else if (how == '+') {
            if (has) {
                other(word);
            }
        } else {
            unknown("${" + std::string(name) + std::string(rest) + "}");
        }
    }

    void other(std::string_view word) {
        const Expansion inner = Expander(escape_, lookup_, depth_ + 1).run(word);
        if (!inner.unknown.empty()) {
            unknown(inner.unknown);
        }
        add(inner.value);
    }

    char escape_;
    const Lookup& lookup_;
    int depth_;
    bool keeps_quotes_;
    Expansion result_;
    std::string done_;
    std::string pending_; ///< literal text not yet in done_
};

/// A JSON string at `at` (behind the quote), or nullopt.
std::optional<std::string> json_string(std::string_view text, std::size_t& at) {
    std::string result;
    while (at < text.size() && text[at] != '"') {
        if (text[at] != '\\') {
            result += text[at++];
            continue;
        }
        if (++at >= text.size()) {
            return std::nullopt;
        }
        constexpr std::string_view kNames = "\"\\/nt";
        constexpr std::string_view kMeanings = "\"\\/\n\t";
        const auto which = kNames.find(text[at]);
        if (which == std::string_view::npos) {
            return std::nullopt;
        }
        result += kMeanings[which];
        ++at;
    }
    if (at >= text.size()) {
        return std::nullopt;
    }
    ++at;
    return result;
}

void skip_blanks(std::string_view text, std::size_t& at) {
    while (at < text.size() && kWordBlanks.find(text[at]) != std::string_view::npos) {
        ++at;
    }
}

} // namespace

Expansion expand(std::string_view word, char escape, const Lookup& lookup) {
    return Expander(escape, lookup, 0).run(word);
}

Expansion expand_body(std::string_view text, char escape, const Lookup& lookup) {
    return Expander(escape, lookup, 0, true).run(text);
}

std::vector<Word> split_words(std::string_view text, char escape) {
    std::vector<Word> words;
    std::size_t at = 0;
    while (true) {
        skip_blanks(text, at);
        if (at >= text.size()) {
            return words;
        }
        Word word{{}, at};
        char quote = 0;
        while (at < text.size() &&
               (quote != 0 || kWordBlanks.find(text[at]) == std::string_view::npos)) {
            const char c = text[at];
            if (c == escape && quote != '\'' && at + 1 < text.size()) {
                word.text += text.substr(at, 2);
                at += 2;
                continue;
            }
            if (quote == 0 && (c == '"' || c == '\'')) {
                quote = c;
            } else if (c == quote) {
                quote = 0;
            }
            word.text += c;
            ++at;
        }
        words.push_back(std::move(word));
    }
}

std::optional<std::vector<std::string>> read_json_words(std::string_view text) {
    std::size_t at = 0;
    skip_blanks(text, at);
    if (at >= text.size() || text[at++] != '[') {
        return std::nullopt;
    }
    std::vector<std::string> words;
    skip_blanks(text, at);
    bool is_end = at < text.size() && text[at] == ']';
    while (!is_end) {
        skip_blanks(text, at);
        if (at >= text.size() || text[at++] != '"') {
            return std::nullopt;
        }
        auto word = json_string(text, at);
        if (!word) {
            return std::nullopt;
        }
        words.push_back(std::move(*word));
        skip_blanks(text, at);
        if (at >= text.size() || (text[at] != ',' && text[at] != ']')) {
            return std::nullopt;
        }
        is_end = text[at] == ']';
        at += is_end ? 0 : 1;
    }
    ++at;
    skip_blanks(text, at);
    return at == text.size() ? std::optional(std::move(words)) : std::nullopt;
}

std::vector<Flag> take_flags(std::string_view text, std::size_t& rest) {
    std::vector<Flag> flags;
    std::size_t at = 0;
    while (true) {
        skip_blanks(text, at);
        if (!text.substr(at).starts_with("--")) {
            break;
        }
        const auto end = std::min(text.find_first_of(kWordBlanks, at), text.size());
        const std::string_view word = text.substr(at + 2, end - at - 2);
        if (word.empty()) {
            break; // `--` ends them
        }
        const auto equals = word.find('=');
        flags.push_back({std::string(word.substr(0, equals)),
                         equals == std::string_view::npos ? std::string{}
                                                          : std::string(word.substr(equals + 1)),
                         at});
        at = end;
    }
    rest = at;
    return flags;
}

std::string shell_text(const Value& value) {
    std::string result;
    std::string plain;
    const auto flush = [&] {
        result += plain.empty() ? std::string{} : shell_quote(plain);
        plain.clear();
    };
    const std::string& text = value.text;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.compare(i, 3, "@@{") == 0) {
            plain += "@{";
            i += 2;
        } else if (text.compare(i, 2, "@{") == 0) {
            const auto end = text.find('}', i);
            std::string name = text.substr(i + 2, end - i - 2);
            std::transform(name.begin(), name.end(), name.begin(), [](char c) {
                return c == '-' ? '_' : to_upper(c);
            });
            flush();
            result += "\"$" + name + "\"";
            i = end;
        } else {
            plain += text[i];
        }
    }
    flush();
    return result.empty() ? "''" : result;
}

} // namespace cybele::recipes::dockerfile
