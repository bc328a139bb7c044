// SPDX-License-Identifier: Apache-2.0
#include "runtime/containers/environment_option.hpp"

#include "runtime/containers/csv.hpp"
#include "runtime/containers/payload_environment.hpp"
#include "support/characters.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::runtime {
namespace {

/// What a shell would begin something else with.
constexpr std::string_view kOperators = ";&|<>()";
/// After one of them, a line may set several variables, or name those that exist. `export -p`
/// writes declare -x.
constexpr std::string_view kDeclarations[] = {"export", "declare"};
/// As by Apptainer, which runs the file.
constexpr std::string_view kDeclarationsOfShells[] = {"readonly", "typeset"};

/// Reads a file word by word.
class AssignmentReader {
public:
    AssignmentReader(const std::filesystem::path& path,
                     std::string_view text,
                     const Environment* host)
        : path_(path), text_(text), host_(host) {}

    Result<EnvironmentMap> read();

private:
    [[nodiscard]] bool is_end() const {
        return at_ >= text_.size();
    }
    [[nodiscard]] char here() const {
        return is_end() ? '\n' : text_[at_];
    }
    void skip_line() {
        at_ = std::min(text_.find('\n', at_), text_.size());
    }
    [[nodiscard]] bool is_like_shell() const {
        return host_ != nullptr;
    }
    [[nodiscard]] bool ends_word() const {
        return std::string_view(" \t\r\n").find(here()) != std::string_view::npos ||
               (is_like_shell() && here() == ';');
    }
    void read_word();
    void read_quoted(char quote);
    void read_escape();
    bool read_variable();
    void take_word(std::size_t begin);
    bool take_shell_word(std::size_t equals);
    void fault(std::size_t at, Problem problem, std::string because, std::string help);

    const std::filesystem::path& path_;
    std::string_view text_;
    const Environment* host_;
    std::size_t at_ = 0;
    std::string word_;
    bool is_faulty_ = false;   ///< the word that is read
    bool is_exported_ = false; ///< this line began with `export`
    bool is_unset_ = false;    ///< this line began with `unset`
    EnvironmentMap variables_;
    Faults faults_;
};

void AssignmentReader::fault(std::size_t at,
                             Problem problem,
                             std::string because,
                             std::string help) {
    const std::string_view before = text_.substr(0, at);
    const std::size_t last = before.rfind('\n');
    const std::size_t begin = last == std::string_view::npos ? 0 : last + 1;
    faults_.add(Fault(
        ErrorCode::kInput,
        std::move(problem),
        std::move(because),
        std::move(help),
        Place{
            path_.string(),
            static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
            at - begin + 1,
            printable(text_.substr(begin, std::min(text_.find('\n', at), text_.size()) - begin))}));
    is_faulty_ = true;
}

void AssignmentReader::read_escape() {
    ++at_;
    if (here() != '\n' || is_end()) { // behind it, the line goes on
        word_ += is_end() ? '\\' : here();
    }
    ++at_;
}

/// `$NAME`, `${NAME}`: false where it is something else, or where nothing is replaced.
bool AssignmentReader::read_variable() {
    if (host_ == nullptr || here() != '$') {
        return false;
    }
    const std::string_view rest = text_.substr(at_ + 1);
    const bool has_braces = rest.starts_with('{');
    const std::string_view from = rest.substr(has_braces ? 1 : 0);
    const auto size = static_cast<std::size_t>(
        std::find_if_not(from.begin(), from.end(), is_word_character) - from.begin());
    const std::string name(from.substr(0, size));
    if (!is_variable_name(name) || (has_braces && !from.substr(size).starts_with('}'))) {
        return false;
    }
    const auto own = variables_.find(name);
    word_ += own != variables_.end() ? own->second : host_->get_or(name, "");
    at_ += 1 + size + (has_braces ? 2 : 0);
    return true;
}

void AssignmentReader::read_quoted(char quote) {
    const std::size_t begin = at_++;
    while (!is_end() && here() != quote) {
        const std::string_view rest = text_.substr(at_);
        const bool is_escape = quote == '"' && rest.size() > 1 && rest.front() == '\\' &&
                               std::string_view("\"\\$`\n").find(rest[1]) != std::string_view::npos;
        if (is_escape) {
            read_escape();
        } else if (quote != '"' || !read_variable()) {
            word_ += text_[at_++];
        }
    }
    if (is_end()) {
        fault(begin,
              problem("environment-quote", "this quote is not closed"),
              "the value would extend to the end of the file",
              std::string("close it with another ") + quote);
    }
    ++at_;
}

void AssignmentReader::read_word() {
    const std::size_t begin = at_;
    word_.clear();
    is_faulty_ = false;
    while (!is_end() && !ends_word()) {
        const char c = here();
        if (c == '\'' || c == '"') {
            read_quoted(c);
        } else if (c == '\\') {
            read_escape();
        } else if (kOperators.find(c) != std::string_view::npos) {
            fault(at_,
                  problem("environment-character", std::string("'") + c + "' outside of quotes"),
                  "a shell would end the value there; nothing of this file is run",
                  "put the value in single quotes");
            skip_line();
        } else if (!read_variable()) {
            word_ += c;
            ++at_;
        }
    }
    if (!is_faulty_) {
        take_word(begin);
    }
}

/// Takes a word that is not a plain assignment, where the file is read as Apptainer runs it.
/// False: the word is something else.
bool AssignmentReader::take_shell_word(std::size_t equals) {
    if (!is_like_shell()) {
        return false;
    }
    if (is_unset_ && is_variable_name(word_)) {
        variables_.erase(word_);
        return true;
    }
    if (equals != std::string::npos && equals > 0 && word_[equals - 1] == '+' &&
        is_variable_name(word_.substr(0, equals - 1))) {
        const std::string name = word_.substr(0, equals - 1);
        const auto own = variables_.find(name);
        variables_[name] = (own != variables_.end() ? own->second : host_->get_or(name, "")) +
                           word_.substr(equals + 1);
        return true;
    }
    if ((is_exported_ || is_unset_) && word_.starts_with('-')) {
        return true;
    }
    if (contains(kDeclarationsOfShells, word_)) {
        is_exported_ = true;
        return true;
    }
    if (word_ == "unset") {
        is_unset_ = true;
        return true;
    }
    if (word_ == "set") { // all variables of the file are exported, whatever is set
        at_ = std::min(text_.find_first_of("\n;", at_), text_.size());
        return true;
    }
    return false;
}

void AssignmentReader::take_word(std::size_t begin) {
    const std::size_t equals = word_.find('=');
    if (take_shell_word(equals)) {
        return;
    }
    if (equals != std::string::npos && is_variable_name(word_.substr(0, equals))) {
        variables_[word_.substr(0, equals)] = word_.substr(equals + 1);
    } else if (contains(kDeclarations, word_)) {
        is_exported_ = true;
    } else if (is_exported_ && word_ == "-x") {
        return;
    } else if (!is_exported_ || !is_variable_name(word_)) {
        fault(begin,
              problem("environment-not-assignment", "this sets no variable"),
              "the file holds NAME=VALUE, and a name has letters, digits and _ only",
              "write NAME=VALUE, with quotes around a value that has blanks");
        skip_line();
    }
}

Result<EnvironmentMap> AssignmentReader::read() {
    if (text_.starts_with("\xEF\xBB\xBF")) {
        fault(0,
              problem("environment-byte-order-mark", "the file begins with a byte order mark"),
              "its three bytes would be part of the first name",
              "save the file as UTF-8 without a byte order mark");
        text_.remove_prefix(3);
    }
    while (!is_end()) {
        const char c = here();
        const bool is_new = c == '\n' || (is_like_shell() && c == ';');
        is_exported_ = is_exported_ && !is_new;
        is_unset_ = is_unset_ && !is_new;
        if (c == '#') {
            skip_line();
        } else if (ends_word()) {
            ++at_;
        } else {
            read_word();
        }
    }
    if (faults_.has_errors()) {
        return fail(faults_.take());
    }
    return std::move(variables_);
}

} // namespace

Result<EnvironmentMap> read_environment_file(const std::filesystem::path& path,
                                             const Environment* host) {
    std::error_code failed;
    if (!std::filesystem::exists(path, failed) && failed != std::errc::permission_denied) {
        return fail(
            ErrorCode::kInput,
            problem("environment-file-missing", "no such file: '" + printable(path.native()) + "'")
                .about(path.native()),
            "--env-file names a file of variables",
            "check the name and the folder that it is relative to");
    }
    CYBELE_TRY(const std::string text, read_file(path));
    return AssignmentReader(path, text, host).read();
}

std::vector<std::string> environment_fields(std::string_view text) {
    if (std::count(text.begin(), text.end(), '=') > 1) {
        return csv_fields(text);
    }
    while (text.size() > 1 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2); // around one variable they say nothing
    }
    return {std::string(text)};
}

Result<std::vector<std::pair<std::string, std::string>>>
read_environment_option(std::string_view text) {
    const bool is_list = std::count(text.begin(), text.end(), '=') > 1;
    std::vector<std::pair<std::string, std::string>> variables;
    for (const std::string& field : environment_fields(text)) {
        const std::size_t equals = field.find('=');
        if (equals == std::string::npos || equals == 0) {
            return fail(ErrorCode::kUsage,
                        problem("environment-option-malformed",
                                "--env: expected NAME=VALUE, not '" + printable(field) + "'"),
                        is_list ? "commas part several variables from each other" : "",
                        is_list ? "put double quotes around a NAME=VALUE that has a comma"
                                : "write --env NAME=VALUE");
        }
        variables.emplace_back(field.substr(0, equals), field.substr(equals + 1));
    }
    return variables;
}

} // namespace cybele::runtime
