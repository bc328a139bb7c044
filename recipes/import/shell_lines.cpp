// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/shell_lines.hpp"

#include "recipes/forms/words.hpp"

#include <algorithm>
#include <array>

namespace cybele::recipes {
namespace {

constexpr std::string_view kCompoundWords =
    "if then else elif fi for do done while until case esac function { } ! [[ (";

bool ends_word(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(';
}

/// Reads one line after the other.
class LineReader {
public:
    explicit LineReader(std::string_view text) : text_(text) {}

    std::vector<ShellLine> run() {
        std::vector<ShellLine> lines;
        while (at_ < text_.size()) {
            lines.push_back(line());
            if (!lines.back().is_plain) {
                break;
            }
        }
        return lines;
    }

private:
    ShellLine line() {
        ShellLine own;
        own.bytes.begin = at_;
        begin_ = at_;
        char quote = 0;
        for (; at_ < text_.size() && (quote != 0 || text_[at_] != '\n'); ++at_) {
            const char c = text_[at_];
            if (c == '\\' && quote != '\'') {
                at_ += at_ + 1 < text_.size() ? 1U : 0U;
            } else if (quote != 0) {
                quote = c == quote ? static_cast<char>(0) : quote;
            } else if (c == '\'' || c == '"') {
                quote = c;
            } else if (c == '#' && is_word_start(own)) {
                comment(own);
                return own;
            } else {
                separator(c, own);
            }
        }
        close(own, at_);
        own.is_plain = own.is_plain && quote == 0;
        end(own);
        return own;
    }

    [[nodiscard]] bool is_word_start(const ShellLine& own) const {
        return at_ == own.bytes.begin || ends_word(text_[at_ - 1]);
    }

    void comment(ShellLine& own) {
        close(own, at_);
        at_ = std::min(text_.find('\n', at_), text_.size());
        end(own);
    }

    void end(ShellLine& own) {
        at_ = std::min(at_ + 1, text_.size());
        own.bytes.end = at_;
    }

    void separator(char c, ShellLine& own) {
        const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        if ((c == '&' && next == '&') || (c == ';' && next != ';')) {
            close(own, at_);
            at_ += c == '&' ? 1U : 0U;
            begin_ = at_ + 1;
        } else if (c == '>' && writes_known_file()) {
            return; // as definition files do before they install
        } else if (c == '&' || c == '|' || c == ';' || c == '(' || c == ')' || c == '<' ||
                   c == '>' || c == '`') {
            own.is_plain = false;
        }
    }

    [[nodiscard]] bool writes_known_file() const {
        constexpr std::array<std::string_view, 6> kKnownFiles = {"/etc/timezone",
                                                                 "/environment",
                                                                 "$APPTAINER_ENVIRONMENT",
                                                                 "${APPTAINER_ENVIRONMENT}",
                                                                 "$SINGULARITY_ENVIRONMENT",
                                                                 "${SINGULARITY_ENVIRONMENT}"};
        const std::size_t to = text_.find_first_not_of("> ", at_ + 1);
        const std::string_view rest = text_.substr(std::min(to, text_.size()));
        return std::ranges::any_of(kKnownFiles, [&](std::string_view file) {
            return rest.starts_with(file) &&
                   (rest.size() == file.size() || ends_word(rest[file.size()]));
        });
    }

    void close(ShellLine& own, std::size_t end) {
        const std::string_view all = text_.substr(begin_, end - begin_);
        std::string_view command = trimmed(all, " \t\n");
        while (
            command.ends_with('\\') && !command.ends_with("\\\\") &&
            text_.substr(static_cast<std::size_t>(command.data() - text_.data()) + command.size())
                .starts_with('\n')) {
            command.remove_suffix(1); // continued by the line that begins with `&&`
            command = trimmed(command, " \t\n");
        }
        if (command.empty()) {
            return;
        }
        const auto first = static_cast<std::size_t>(command.data() - text_.data());
        own.commands.push_back({first, first + command.size()});
        const auto blank = command.find_first_of(" \t\n");
        own.is_plain = own.is_plain && !has_word(kCompoundWords, command.substr(0, blank));
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t begin_ = 0;
};

/// A here-document that was begun.
struct Document {
    std::string delimiter;
    bool may_be_indented = false;
    std::size_t line = 0;
};

/// Finds here-documents; quotes, comments and arithmetic are known.
class DocumentReader {
public:
    explicit DocumentReader(std::string_view text) : text_(text) {}

    std::optional<std::size_t> run() {
        char quote = 0;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '\n') {
                ++line_;
                if (quote == 0 && !bodies()) {
                    return waiting_.front().line;
                }
            } else if (c == '\\' && quote != '\'') {
                ++at_;
                line_ += at_ < text_.size() && text_[at_] == '\n' ? 1U : 0U;
            } else if (quote != 0) {
                quote = c == quote ? static_cast<char>(0) : quote;
            } else if (c == '\'' || c == '"') {
                quote = c;
            } else if (c == '#' && (at_ == 0 || ends_word(text_[at_ - 1]))) {
                at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
            } else if (text_.substr(at_).starts_with("((")) {
                at_ = std::min(text_.find("))", at_), text_.size());
            } else if (text_.substr(at_).starts_with("<<")) {
                begin();
            }
        }
        return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().line);
    }

private:
    void begin() {
        at_ += 2;
        if (at_ < text_.size() && text_[at_] == '<') {
            return; // a here-string
        }
        Document own;
        own.line = line_;
        own.may_be_indented = at_ < text_.size() && text_[at_] == '-';
        at_ += own.may_be_indented ? 1U : 0U;
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
            ++at_;
        }
        while (at_ < text_.size() && !ends_word(text_[at_]) && text_[at_] != ')' &&
               text_[at_] != '>' && text_[at_] != '<') {
            const char c = text_[at_++];
            own.delimiter += c == '\'' || c == '"' || c == '\\' ? "" : std::string(1, c);
        }
        --at_;
        if (!own.delimiter.empty()) {
            waiting_.push_back(std::move(own));
        }
    }

    /// Skips the bodies that begin here; false where one does not end.
    bool bodies() {
        while (!waiting_.empty()) {
            std::size_t next = at_ + 1;
            bool is_found = false;
            std::size_t lines = 0;
            while (next < text_.size() && !is_found) {
                const auto end = std::min(text_.find('\n', next), text_.size());
                std::string_view own = text_.substr(next, end - next);
                if (waiting_.front().may_be_indented) {
                    own = trimmed(own, "\t");
                }
                is_found = own == waiting_.front().delimiter;
                next = end + 1;
                ++lines;
            }
            if (!is_found) {
                return false;
            }
            at_ = std::min(next - 1, text_.size());
            line_ += lines;
            waiting_.erase(waiting_.begin());
        }
        return true;
    }

    std::string_view text_;
    std::vector<Document> waiting_;
    std::size_t at_ = 0;
    std::size_t line_ = 0;
};

} // namespace

std::vector<ShellLine> plain_lines(std::string_view script) {
    return LineReader(script).run();
}

std::string without_continuations(std::string_view text) {
    std::string joined;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
            ++i;
        } else {
            joined += text[i];
        }
    }
    return joined;
}

std::optional<std::size_t> open_document(std::string_view script) {
    return DocumentReader(script).run();
}

} // namespace cybele::recipes
