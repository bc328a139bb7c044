// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/dockerfile_lines.hpp"

#include "recipes/forms/words.hpp"
#include "recipes/import/dockerfile_words.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele::recipes::dockerfile {
namespace {

constexpr std::string_view kLineBlanks = " \t";

/// Whether the lines may stand below each other for a shell: inside single quotes and comments it
/// would keep what joins them.
bool may_keep_lines(std::string_view text) {
    return text.find_first_of("'#`") == std::string_view::npos;
}

class LineReader {
public:
    explicit LineReader(Ledger& ledger)
        : ledger_(ledger), lines_(lines_of(ledger.source().text())) {}

    Lexed run() {
        directives();
        while (at_ < lines_.size()) {
            const std::string_view line = trimmed(lines_[at_]);
            if (line.empty()) {
                ++at_;
            } else if (line.front() == '#') {
                comments_.emplace_back(comment_text(line));
                ledger_.carry({at_ + 1, at_ + 1});
                ++at_;
            } else {
                instruction();
            }
        }
        for (auto& comment : comments_) {
            ledger_.keep(std::move(comment));
        }
        return std::move(lexed_);
    }

private:
    static std::string_view comment_text(std::string_view line) {
        return trimmed(line.substr(std::min(line.find_first_not_of('#'), line.size())));
    }

    /// `# escape=…` and its like, before anything else.
    void directives() {
        for (; at_ < lines_.size(); ++at_) {
            const std::string_view line = trimmed(lines_[at_]);
            const auto equals = line.find('=');
            if (line.empty() || line.front() != '#' || equals == std::string_view::npos) {
                return;
            }
            const std::string name = text::lowered(trimmed(line.substr(1, equals - 1)));
            const std::string_view value = trimmed(line.substr(equals + 1));
            if (name != "escape" && name != "syntax" && name != "check") {
                return;
            }
            ledger_.carry({at_ + 1, at_ + 1});
            if (name != "escape") {
                continue;
            }
            if (value != "\\" && value != "`") {
                ledger_.refuse({at_ + 1, lines_[at_].find('=') + 2},
                               {"no escape character '" + printable(value) + "'",
                                "it is `\\` or a backquote",
                                "write `# escape=\\`"});
                continue;
            }
            lexed_.escape = value.front();
        }
    }

    /// Whether the line goes on in the next one; cuts the escape character off.
    [[nodiscard]] bool continues(std::string_view& line) const {
        const auto end = line.find_last_not_of(kLineBlanks);
        if (end == std::string_view::npos || line[end] != lexed_.escape) {
            return false;
        }
        line = line.substr(0, end);
        return true;
    }

    void instruction() {
        Instruction own;
        own.comments = std::move(comments_);
        comments_.clear();
        own.lines.first = at_ + 1;
        std::vector<std::string> parts;
        const std::size_t first_column = lines_[at_].find_first_not_of(kLineBlanks);
        std::string_view line = std::string_view(lines_[at_]).substr(first_column);
        std::size_t column = first_column;
        bool goes_on = continues(line);
        const auto end = std::min(line.find_first_of(kLineBlanks), line.size());
        own.keyword = std::string(line.substr(0, end));
        const auto rest = std::min(line.find_first_not_of(kLineBlanks, end), line.size());
        column += rest;
        add_part(own, parts, line.substr(rest), column);
        ++at_;
        while (goes_on && at_ < lines_.size()) {
            line = lines_[at_];
            const std::string_view own_text = trimmed(line);
            if (own_text.empty() || own_text.front() == '#') {
                if (!own_text.empty()) {
                    own.comments.emplace_back(comment_text(own_text));
                }
                ++at_;
                continue;
            }
            goes_on = continues(line);
            add_part(own, parts, line, 0);
            ++at_;
        }
        finish(std::move(own), parts);
    }

    void add_part(Instruction& own,
                  std::vector<std::string>& parts,
                  std::string_view text,
                  std::size_t column) const {
        own.places.emplace_back(own.rest.size(), yaml::Mark{at_ + 1, column + 1});
        own.rest += text;
        parts.emplace_back(text);
    }

    void finish(Instruction own, const std::vector<std::string>& parts) {
        own.keyword = upper(own.keyword);
        const auto last = own.rest.find_last_not_of(kLineBlanks);
        own.rest.resize(last == std::string::npos ? 0 : last + 1);
        if (own.keyword == "RUN" || own.keyword == "COPY" || own.keyword == "ADD") {
            heredocs(own);
        }
        own.lines.last = std::max(at_, own.lines.first);
        own.shell_text = own.rest;
        if (parts.size() > 1 && own.heredocs.empty() && may_keep_lines(own.rest)) {
            own.shell_text.clear();
            for (const auto& part : parts) {
                const auto end = part.find_last_not_of(kLineBlanks);
                const std::string text = part.substr(0, end == std::string::npos ? 0 : end + 1);
                own.shell_text += (own.shell_text.empty() ? "" : " \\\n") + text;
            }
        }
        lexed_.instructions.push_back(std::move(own));
    }

    static std::string upper(std::string_view text) {
        std::string result(text);
        result = text::uppered(result);
        return result;
    }

    /// `<<EOF`, `<<-EOF`, `<<"EOF"` outside of quotes, at the start of a word or behind digits.
    void heredocs(Instruction& own) {
        const std::string& text = own.rest;
        char quote = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const char c = text[i];
            if (quote != 0) {
                quote = c == quote ? static_cast<char>(0) : quote;
            } else if (c == '\\' && lexed_.escape == '\\') {
                ++i;
            } else if (c == '"' || c == '\'') {
                quote = c;
            } else if (text.compare(i, 3, "<<<") == 0) {
                i += 2;
            } else if (text.compare(i, 2, "<<") == 0 && begins_word(text, i)) {
                i = heredoc(own, i) - 1;
            }
        }
    }

    static bool begins_word(std::string_view text, std::size_t at) {
        while (at > 0 && is_digit(text[at - 1])) {
            --at;
        }
        return at == 0 || kLineBlanks.find(text[at - 1]) != std::string_view::npos;
    }

    /// Takes the body that belongs to the word at `at`; where to go on.
    std::size_t heredoc(Instruction& own, std::size_t at) {
        const std::string& text = own.rest;
        std::size_t i = at + 2;
        const bool strips = i < text.size() && text[i] == '-';
        i += strips ? 1 : 0;
        const char quote = i < text.size() && (text[i] == '"' || text[i] == '\'') ? text[i] : '\0';
        i += quote != '\0' ? 1 : 0;
        const std::size_t name = i;
        while (i < text.size() && is_word_character(text[i])) {
            ++i;
        }
        Heredoc document;
        document.name = text.substr(name, i - name);
        if (document.name.empty() || (quote != '\0' && (i >= text.size() || text[i] != quote))) {
            return at + 2; // `1<<3`: no here-document
        }
        i += quote != '\0' ? 1 : 0;
        document.is_expanded = quote == '\0';
        document.at = at;
        document.end = i;
        while (at_ < lines_.size()) {
            std::string_view line = lines_[at_++];
            document.as_written += std::string(line) + "\n";
            if (strips) {
                line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
            }
            if (line == document.name) {
                own.heredocs.push_back(std::move(document));
                return i;
            }
            document.body += std::string(line) + "\n";
        }
        ledger_.refuse(own.mark_at(at),
                       {"the here-document has no end",
                        "no line says `" + document.name + "` alone",
                        "add the line `" + document.name + "`"});
        return i;
    }

    Ledger& ledger_;
    std::vector<std::string> lines_;
    std::size_t at_ = 0;
    std::vector<std::string> comments_;
    Lexed lexed_;
};

} // namespace

yaml::Mark Instruction::mark_at(std::size_t offset) const {
    yaml::Mark mark = this->mark();
    for (const auto& [start, place] : places) {
        if (start <= offset) {
            mark = {place.line, place.column + offset - start, lines.file};
        }
    }
    return mark;
}

Lexed read_instructions(Ledger& ledger) {
    return LineReader(ledger).run();
}

} // namespace cybele::recipes::dockerfile
