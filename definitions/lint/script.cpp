// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/script.hpp"

#include "support/characters.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace cybele::definitions {
namespace {

/// Deeper nesting of quotes and substitutions is not followed.
constexpr int kDeepest = 100;

constexpr std::array<std::string_view, 12> kKeywords = {
    "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}"};
/// Keywords before a command whose failure decides what is done, and ends nothing.
constexpr std::array<std::string_view, 4> kConditions = {"if", "elif", "while", "until"};
constexpr std::array<std::string_view, 3> kOpening = {"if", "do", "{"};
constexpr std::array<std::string_view, 3> kClosing = {"fi", "done", "}"};
constexpr std::array<std::string_view, 6> kPrefixes = {
    "sudo", "env", "exec", "command", "nice", "time"};

class Scanner {
public:
    explicit Scanner(std::string_view script) : text_(script) {}
    std::vector<ScriptCommand> run();
    /// After `run`.
    [[nodiscard]] const std::optional<OpenDocument>& open_document() const {
        return open_;
    }

private:
    void step();
    void newline();
    void skip_documents();
    void operate();
    void word();
    /// The end of a quoted or substituted piece that begins at `at`.
    [[nodiscard]] std::size_t behind(std::size_t from, int depth = 0) const;
    void end_command(Join join);
    void take_keyword(const std::string& keyword, bool is_alone, Join join);
    void take_case_word();
    [[nodiscard]] bool is_pattern() const {
        return !are_patterns_.empty() && are_patterns_.back();
    }
    [[nodiscard]] char at(std::size_t i) const {
        return i < text_.size() ? text_[i] : '\0';
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_ = 0;
    std::size_t line_begin_ = 0;
    std::vector<std::pair<std::string, bool>> documents_; ///< delimiter, strips tabs
    std::optional<OpenDocument> open_;
    bool wants_delimiter_ = false;
    bool strips_ = false;
    bool is_condition_ = false;
    int depth_ = 0;                  ///< of `if`, loops, `case` and braces
    bool is_function_ = false;       ///< the next brace opens its body
    std::vector<int> bodies_;        ///< depths at which bodies of functions began
    std::vector<bool> are_patterns_; ///< for each open `case`: a pattern comes next
    ScriptCommand command_;
    std::vector<ScriptCommand> commands_;
};

void Scanner::take_keyword(const std::string& keyword, bool is_alone, Join join) {
    const bool keeps = keyword == "!" || keyword == "{";
    is_condition_ = contains(kConditions, keyword) || (is_condition_ && keeps);
    if (keyword == "{" && is_function_) {
        bodies_.push_back(depth_);
        is_function_ = false;
    }
    depth_ += contains(kOpening, keyword) ? 1 : contains(kClosing, keyword) ? -1 : 0;
    if (keyword != "}" || commands_.empty()) {
        return;
    }
    // The last command's result is that of the function, or what `} || exit` looks at.
    const bool ends_body = !bodies_.empty() && bodies_.back() == depth_;
    if (ends_body) {
        bodies_.pop_back();
    }
    if (ends_body || (is_alone && join == Join::kOr)) {
        commands_.back().ends_group = true;
    }
}

/// `case WORD in` ends there: patterns follow, up to the `)` of each.
void Scanner::take_case_word() {
    const auto& words = command_.words;
    const std::size_t count = words.size();
    if (is_pattern() && count == 1 && words.back().text == "esac") {
        are_patterns_.back() = false;
    } else if (count >= 3 && words[count - 3].text == "case" && words.back().text == "in" &&
               (count == 3 || contains(kKeywords, words[count - 4].text))) {
        end_command(Join::kEnd);
        are_patterns_.push_back(true);
    }
}

void Scanner::end_command(Join join) {
    auto& words = command_.words;
    bool is_negated = false;
    while (!words.empty() && contains(kKeywords, words.front().text)) {
        const std::string keyword = words.front().text;
        is_negated = is_negated || keyword == "!";
        words.erase(words.begin());
        take_keyword(keyword, words.empty(), join);
    }
    if (words.empty()) {
        return;
    }
    if (words.front().text == "esac") {
        depth_ -= 1;
        if (!are_patterns_.empty()) {
            are_patterns_.pop_back();
        }
    }
    command_.join = join;
    command_.is_condition = is_condition_ || is_negated;
    command_.is_nested = depth_ > 0;
    depth_ += words.front().text == "case" ? 1 : 0;
    commands_.push_back(std::move(command_));
    command_ = {};
    command_.joined = join;
}

void Scanner::skip_documents() {
    const std::size_t begin = line_ == 0 ? 0 : line_ - 1;
    for (const auto& [delimiter, strips] : documents_) {
        bool is_closed = false;
        while (at_ < text_.size() && !is_closed) {
            std::string_view line = text_.substr(at_, text_.find('\n', at_) - at_);
            at_ += std::min(line.size() + 1, text_.size() - at_);
            ++line_;
            line_begin_ = at_;
            while (strips && line.starts_with('\t')) {
                line.remove_prefix(1);
            }
            is_closed = line == delimiter;
        }
        if (!is_closed && !open_) {
            open_ = OpenDocument{delimiter, begin};
        }
    }
    documents_.clear();
}

void Scanner::newline() {
    // `a |` and `a &&` go on in the next line.
    if (!command_.words.empty()) {
        end_command(Join::kEnd);
    }
    ++at_;
    ++line_;
    line_begin_ = at_;
    skip_documents();
}

std::size_t Scanner::behind(std::size_t from, int depth) const {
    const char open = at(from);
    if (depth > kDeepest) {
        return text_.size();
    }
    if (open == '\'' || open == '`') {
        return std::min(text_.find(open, from + 1), text_.size() - 1) + 1;
    }
    if (open == '"') {
        std::size_t i = from + 1;
        while (i < text_.size() && text_[i] != '"') {
            const bool nested = text_[i] == '$' && (at(i + 1) == '(' || at(i + 1) == '{');
            i = text_[i] == '\\' ? i + 2 : nested ? behind(i, depth + 1) : i + 1;
        }
        return std::min(i + 1, text_.size());
    }
    // $( … ) or ${ … }
    const char close = at(from + 1) == '(' ? ')' : '}';
    std::size_t i = from + 2;
    for (int open_ones = 1; i < text_.size() && open_ones > 0;) {
        const char c = text_[i];
        if (c == '\\') {
            i += 2;
        } else if (c == '"' || c == '\'') {
            i = behind(i, depth + 1);
        } else {
            open_ones += c == at(from + 1) ? 1 : c == close ? -1 : 0;
            ++i;
        }
    }
    return std::min(i, text_.size());
}

void Scanner::word() {
    const std::size_t begin = at_;
    const ScriptWord place{"", line_, begin - line_begin_ + 1};
    constexpr std::string_view kEnds = " \t\r\n;&|()<>";
    while (at_ < text_.size() && kEnds.find(text_[at_]) == std::string_view::npos) {
        const char c = text_[at_];
        if (c == '\\') {
            at_ = std::min(at_ + 2, text_.size());
        } else if (c == '\'' || c == '"' || c == '`' ||
                   (c == '$' && (at(at_ + 1) == '(' || at(at_ + 1) == '{'))) {
            at_ = behind(at_);
        } else {
            ++at_;
        }
    }
    if (at_ > begin && text_[at_ - 1] == '=' && at(at_) == '(') {
        at_ = behind(at_ - 1); // the elements of an array
    }
    ScriptWord found = place;
    found.text = text_.substr(begin, at_ - begin);
    for (std::size_t cut = found.text.find("\\\n"); cut != std::string::npos;
         cut = found.text.find("\\\n")) {
        found.text.erase(cut, 2);
    }
    for (std::size_t i = begin; i < at_; ++i) {
        if (text_[i] == '\n') {
            ++line_;
            line_begin_ = i + 1;
        }
    }
    if (wants_delimiter_) {
        std::string delimiter;
        std::copy_if(found.text.begin(),
                     found.text.end(),
                     std::back_inserter(delimiter),
                     [](char c) { return c != '\'' && c != '"' && c != '\\'; });
        documents_.emplace_back(std::move(delimiter), strips_);
        wants_delimiter_ = false;
    }
    command_.words.push_back(std::move(found));
    take_case_word();
}

void Scanner::operate() {
    const char c = text_[at_];
    const char next = at(at_ + 1);
    if (c == '<' || c == '>') {
        const std::size_t begin = at_;
        const bool is_document = c == '<' && next == '<' && at(at_ + 2) != '<';
        while (at(at_) == '<' || at(at_) == '>' || at(at_) == '&') {
            ++at_;
        }
        strips_ = is_document && at(at_) == '-';
        at_ += strips_ ? 1 : 0;
        wants_delimiter_ = is_document;
        command_.words.push_back(
            {std::string(text_.substr(begin, at_ - begin)), line_, begin - line_begin_ + 1});
        return;
    }
    if (is_pattern() && c != ';' && c != '&') {
        command_.words.clear();
        are_patterns_.back() = c != ')';
        ++at_;
        return;
    }
    if (c == '(' && next == ')' && command_.words.size() == 1) {
        command_.words.clear();
        is_function_ = true;
        at_ += 2;
        return;
    }
    if (c == ';' && (next == ';' || next == '&') && !are_patterns_.empty()) {
        are_patterns_.back() = true;
    }
    command_.ends_group = c == ')';
    const bool is_double = next == c && (c == '&' || c == '|' || c == ';');
    end_command(c == '|'                ? (is_double ? Join::kOr : Join::kPipe)
                : c == '&' && is_double ? Join::kAnd
                                        : Join::kEnd);
    at_ += is_double ? 2 : 1;
}

void Scanner::step() {
    const char c = text_[at_];
    if (c == '\n') {
        newline();
    } else if (c == '\\' && at(at_ + 1) == '\n') {
        at_ += 2;
        ++line_;
        line_begin_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
    } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (std::string_view(";&|()<>").find(c) != std::string_view::npos) {
        operate();
    } else {
        word();
    }
}

std::vector<ScriptCommand> Scanner::run() {
    while (at_ < text_.size()) {
        step();
    }
    end_command(Join::kEnd);
    ++line_; // a document that begins in the last line
    skip_documents();
    return std::move(commands_);
}

} // namespace

std::size_t ScriptCommand::program_index() const {
    std::size_t i = 0;
    while (i < words.size()) {
        const std::string& word = words[i].text;
        const bool is_prefix = contains(kPrefixes, word);
        if (!is_prefix && assigned_name(word).empty()) {
            break;
        }
        ++i;
        while (is_prefix && i < words.size() && words[i].text.starts_with('-')) {
            ++i;
        }
    }
    return i;
}

std::string ScriptCommand::program() const {
    const std::size_t i = program_index();
    if (i >= words.size()) {
        return {};
    }
    const std::string& word = words[i].text;
    return word.substr(word.rfind('/') + 1);
}

bool ScriptCommand::has_word(std::string_view word) const {
    return contains(words, word, &ScriptWord::text);
}

std::vector<ScriptCommand> script_commands(std::string_view script) {
    return Scanner(script).run();
}

std::optional<OpenDocument> open_document(std::string_view script) {
    Scanner scanner(script);
    scanner.run();
    return scanner.open_document();
}

std::string_view assigned_name(std::string_view word) {
    std::size_t i = 0;
    while (i < word.size() && is_word_character(word[i])) {
        ++i;
    }
    return i > 0 && is_word_start(word[0]) && i < word.size() && word[i] == '='
               ? word.substr(0, i)
               : std::string_view();
}

namespace {

/// Calls `see` with the place of each character of a word that a shell does not take for itself: it
/// stands in no single quotes and behind no backslash.
void each_live(std::string_view word, const std::function<void(std::size_t at)>& see) {
    bool is_single = false;
    bool is_double = false;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const char c = word[i];
        if (c == '\'' && !is_double) {
            is_single = !is_single;
        } else if (c == '"' && !is_single) {
            is_double = !is_double;
        } else if (c == '\\' && !is_single) {
            ++i;
        } else if (!is_single) {
            see(i);
        }
    }
}

/// Where the brace that was opened before `at` is closed; the word's end where it is not.
std::size_t closing_brace(std::string_view word, std::size_t at) {
    for (std::size_t depth = 1; at < word.size(); ++at) {
        depth += word[at] == '{' ? 1U : 0U;
        depth -= word[at] == '}' ? 1U : 0U;
        if (depth == 0) {
            break;
        }
    }
    return at;
}

} // namespace

std::vector<std::string> used_names(std::string_view word) {
    std::vector<std::string> names;
    std::string guarded; // by `${NAME:+…}`, in which it is set
    std::size_t guarded_until = 0;
    each_live(word, [&](std::size_t i) {
        if (word[i] != '$' || i + 1 >= word.size()) {
            return;
        }
        const bool braced = word[i + 1] == '{';
        const std::size_t begin = i + (braced ? 2 : 1);
        std::size_t end = begin;
        while (end < word.size() && is_word_character(word[end])) {
            ++end;
        }
        if (end == begin || !is_word_start(word[begin])) {
            return;
        }
        const std::string name(word.substr(begin, end - begin));
        const std::string_view rest = word.substr(end);
        if (braced && (rest.starts_with(":+") || rest.starts_with('+'))) {
            guarded = name;
            guarded_until = closing_brace(word, end);
        } else if ((!braced || rest.starts_with('}')) && !(i < guarded_until && name == guarded)) {
            names.push_back(name);
        }
    });
    return names;
}

bool runs_command(std::string_view word) {
    bool runs = false;
    each_live(word, [&](std::size_t i) {
        const std::string_view rest = word.substr(i);
        runs =
            runs || rest.starts_with('`') || (rest.starts_with("$(") && !rest.starts_with("$(("));
    });
    return runs;
}

bool asks_for_the_start(std::string_view word) {
    constexpr std::array<std::string_view, 8> kPrograms = {
        "hostname", "id", "logname", "mktemp", "nproc", "pwd", "tty", "whoami"};
    constexpr std::string_view kEnds = " \t;|&)`\"";
    bool asks = true;
    bool is_inside = false; // of backquotes
    each_live(word, [&](std::size_t i) {
        std::string_view rest = word.substr(i);
        const bool is_quote = rest.starts_with('`');
        is_inside = is_quote != is_inside;
        if (is_quote ? !is_inside : !rest.starts_with("$(") || rest.starts_with("$((")) {
            return;
        }
        rest.remove_prefix(is_quote ? 1 : 2);
        const std::string_view program = rest.substr(0, rest.find_first_of(kEnds));
        asks = asks && contains(kPrograms, program);
    });
    return asks;
}

} // namespace cybele::definitions
