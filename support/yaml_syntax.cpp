// SPDX-License-Identifier: Apache-2.0
#include "support/yaml_syntax.hpp"

#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::yaml {
namespace {

constexpr std::string_view kBlanks = " \t";

bool is_one_of(std::string_view set, char c) {
    return set.find(c) != std::string_view::npos;
}

/// A line, counted from 1; empty behind the last.
std::string_view line_of(std::string_view text, std::size_t number) {
    for (; number > 1; --number) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            return {};
        }
        text.remove_prefix(end + 1);
    }
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

/// The line before that is not empty, or 0.
std::size_t line_before(std::string_view text, std::size_t number) {
    std::size_t begin = std::min(offset_of(text, {number, 1, 0}), text.size());
    while (--number > 0 && begin > 0) {
        const std::size_t end = begin - 1;
        const std::size_t before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
        begin = before == std::string_view::npos ? 0 : before + 1;
        if (text.substr(begin, end - begin).find_first_not_of(" \t\r") != std::string_view::npos) {
            return number;
        }
    }
    return 0;
}

/// Where the first character stands that is no blank; of a list's item, what follows the `- `.
std::size_t start_of(std::string_view line) {
    std::size_t at = std::min(line.find_first_not_of(kBlanks), line.size());
    while (line.substr(at).starts_with("- ")) {
        at = std::min(line.find_first_not_of(kBlanks, at + 1), line.size());
    }
    return at;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t end = text.find_last_not_of(kBlanks);
    return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

std::string instead(std::string_view text, std::string_view old) {
    return "write `" + printable(text) + "` in place of `" + printable(old) + "`";
}

std::string single_quoted(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text) {
        quoted += c == '\'' ? "''" : std::string(1, c);
    }
    return quoted + "'";
}

/// A tab before the first character, on the line or on the one before it.
std::optional<Refusal> indented_by_tab(std::string_view text, const Stop& stop) {
    for (const std::size_t number : {line_before(text, stop.mark.line), stop.mark.line}) {
        const std::string_view line = line_of(text, number);
        const std::size_t tab = line.substr(0, line.find_first_not_of(kBlanks)).find('\t');
        if (number != 0 && tab != std::string_view::npos) {
            return Refusal{{number, tab + 1, 0},
                           "a tab indents this line",
                           "yaml is indented with blanks",
                           "indent with blanks"};
        }
    }
    return std::nullopt;
}

/// The last quote before a mark.
std::optional<Mark> last_quote(std::string_view text, Mark mark) {
    const std::size_t at = text.find_last_of("'\"", offset_of(text, mark));
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const std::size_t end = text.rfind('\n', at);
    const auto lines =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return Mark{
        static_cast<std::size_t>(lines) + 1, end == std::string_view::npos ? at + 1 : at - end, 0};
}

/// A quote whose partner is on a later line: most often it is another value's.
std::optional<Refusal> open_quote(std::string_view text, const Stop& stop) {
    const bool ends_early = stop.message.starts_with("illegal EOF in scalar") ||
                            stop.message.starts_with("illegal document indicator");
    const std::optional<Mark> mark = ends_early ? last_quote(text, stop.mark) : stop.quote;
    if (!mark || (!ends_early && mark->line >= stop.mark.line)) {
        return std::nullopt;
    }
    const std::string_view line = line_of(text, mark->line);
    const std::string_view rest = line.substr(std::min(mark->column - 1, line.size()));
    const char quote = rest.empty() ? '\0' : rest.front();
    if ((quote != '"' && quote != '\'') || rest.find(quote, 1) != std::string_view::npos) {
        return std::nullopt;
    }
    const std::size_t last = rest.find_last_not_of("]}, \t");
    if (last == std::string_view::npos || last == 0) {
        return std::nullopt;
    }
    const std::string closed =
        std::string(rest.substr(0, last + 1)) + quote + std::string(rest.substr(last + 1));
    return Refusal{*mark,
                   "a quote is not closed",
                   "all that follows it would be this value's text",
                   instead(closed, rest)};
}

std::optional<Refusal> open_bracket(std::string_view text, const Stop& stop) {
    const bool is_map = stop.message.starts_with("end of map flow");
    if (!stop.open || (!is_map && !stop.message.starts_with("end of sequence flow"))) {
        return std::nullopt;
    }
    const std::string_view line = line_of(text, stop.open->line);
    const char open = is_map ? '{' : '[';
    if (stop.open->column > line.size() || line[stop.open->column - 1] != open) {
        return std::nullopt;
    }
    return Refusal{*stop.open,
                   std::string("`") + open + "` is not closed",
                   "all that follows it would belong to this " +
                       std::string(is_map ? "map" : "list"),
                   std::string("write `") + (is_map ? '}' : ']') + "` at the end of the line"};
}

/// `name:wheat` on the line before: the colon is followed by no blank.
std::optional<Refusal> glued_colon(std::string_view text, const Stop& stop) {
    for (const std::size_t number : {line_before(text, stop.mark.line), stop.mark.line}) {
        const std::string_view line = trimmed(line_of(text, number));
        const std::size_t at = start_of(line);
        const std::size_t colon = line.find(':', at);
        if (number == 0 || colon == std::string_view::npos || colon == at ||
            colon + 1 >= line.size() || line.find(": ") != std::string_view::npos ||
            line.substr(at, colon - at).find_first_of(" '\"/[{") != std::string_view::npos) {
            continue;
        }
        return Refusal{{number, at + 1, 0},
                       "the colon is not followed by a blank",
                       "`" + printable(line.substr(at)) + "` is one word to yaml",
                       instead(std::string(line.substr(at, colon + 1 - at)) + " " +
                                   std::string(line.substr(colon + 1)),
                               line.substr(at))};
    }
    return std::nullopt;
}

/// `queue: batch: long`: a value that holds a colon and a blank, or ends with a colon.
std::optional<Refusal> colon_in_value(std::string_view text, const Stop& stop) {
    const std::string_view line = trimmed(line_of(text, stop.mark.line));
    const std::size_t colon = line.find(": ", start_of(line));
    const std::size_t at = colon == std::string_view::npos ? std::string_view::npos
                                                           : line.find_first_not_of(' ', colon + 1);
    if (at == std::string_view::npos || is_one_of("'\"[{|>#", line[at])) {
        return std::nullopt;
    }
    const std::string_view value = line.substr(at, line.find(" #", at) - at);
    if (value.find(": ") == std::string_view::npos && !value.ends_with(':')) {
        return std::nullopt;
    }
    return Refusal{{stop.mark.line, at + 1, 0},
                   "a value with a colon is not in quotes",
                   "a colon and a blank end a key",
                   instead(single_quoted(value), value)};
}

/// A line that begins in another column than those of its map.
std::optional<Refusal> other_column(std::string_view text, const Stop& stop) {
    const std::size_t before = line_before(text, stop.mark.line);
    const std::string_view line = line_of(text, stop.mark.line);
    const std::size_t at = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t wanted = start_of(line_of(text, before));
    if (before == 0 || at == line.size() || at == wanted) {
        return std::nullopt;
    }
    const std::string column = std::to_string(wanted + 1);
    return Refusal{{stop.mark.line, at + 1, 0},
                   "the line begins in column " + std::to_string(at + 1) + ", and line " +
                       std::to_string(before) + " in column " + column,
                   "the fields of a map begin in one column",
                   "begin it in column " + column};
}

/// The lines of `script: |` in the column of `script`.
std::optional<Refusal> unindented_text(std::string_view text, const Stop& stop) {
    const auto begin_of = [&](std::size_t number) {
        return line_of(text, number).find_first_not_of(' ');
    };
    const std::size_t begin = begin_of(stop.mark.line);
    for (std::size_t number = line_before(text, stop.mark.line), below = stop.mark.line;
         number != 0 && begin_of(number) == begin;
         below = number, number = line_before(text, number)) {
        const std::string field = field_of_block(line_of(text, number));
        if (!field.empty()) {
            return Refusal{{below, begin + 1, 0},
                           "the text of `" + field + "` is not indented",
                           "lines that belong to a field are indented further than it is",
                           "indent the lines of `" + field + "` by two blanks"};
        }
    }
    return std::nullopt;
}

/// What stands behind a value that is closed already.
std::optional<Refusal> behind_value(std::string_view text, const Stop& stop) {
    const std::string_view line = trimmed(line_of(text, stop.mark.line));
    const std::size_t at = stop.mark.column - 1;
    if (at == 0 || at >= line.size() || !is_one_of("'\"]}", trimmed(line.substr(0, at)).back())) {
        return std::nullopt;
    }
    return Refusal{stop.mark,
                   "there is text after the value",
                   "the value ends with its quote or bracket",
                   "remove `" + printable(line.substr(at)) + "`"};
}

std::optional<Refusal> explain_map_value(std::string_view text, const Stop& stop) {
    if (!stop.message.starts_with("illegal map value")) {
        return std::nullopt;
    }
    for (const auto explain : {unindented_text, colon_in_value, glued_colon, other_column}) {
        if (auto refusal = explain(text, stop)) {
            return refusal;
        }
    }
    return std::nullopt;
}

std::optional<Refusal> explain_end(std::string_view text, const Stop& stop) {
    if (!stop.message.starts_with("end of map not") &&
        !stop.message.starts_with("end of sequence not")) {
        return std::nullopt;
    }
    const std::size_t first = line_of(text, stop.mark.line).find_first_not_of(' ');
    if (first + 1 != stop.mark.column) {
        return behind_value(text, stop);
    }
    for (const auto explain : {unindented_text, glued_colon, other_column}) {
        if (auto refusal = explain(text, stop)) {
            return refusal;
        }
    }
    return std::nullopt;
}

/// `@`, `%` and backticks begin no plain value.
std::optional<Refusal> reserved_character(std::string_view text, const Stop& stop) {
    if (!stop.message.starts_with("unknown token")) {
        return std::nullopt;
    }
    const std::string_view line = trimmed(line_of(text, stop.mark.line));
    const std::string_view rest = line.substr(std::min(stop.mark.column - 1, line.size()));
    const std::string_view value = value_in_flow(rest);
    if (value.empty()) {
        return std::nullopt;
    }
    return Refusal{stop.mark,
                   std::string("a value begins with `") + value.front() + "`",
                   "yaml keeps that character for itself",
                   instead(single_quoted(value), value)};
}

/// `"\d"`: the backslash begins what YAML does not know.
std::optional<Refusal> unknown_escape(std::string_view text, const Stop& stop) {
    if (!stop.message.starts_with("unknown escape character")) {
        return std::nullopt;
    }
    const std::string_view line = line_of(text, stop.mark.line);
    const std::size_t at = line.substr(0, stop.mark.column).rfind('\\');
    if (at == std::string_view::npos || at + 1 >= line.size()) {
        return std::nullopt;
    }
    const std::string_view old = line.substr(at, 2);
    return Refusal{{stop.mark.line, at + 1, 0},
                   "`" + std::string(old) + "` is unknown in double quotes",
                   "a backslash has a meaning there",
                   "write `\\" + std::string(old) + "` in place of `" + std::string(old) + "`"};
}

/// Remedies for the rest, by the beginning of yaml-cpp's words.
struct SyntaxHelp {
    std::string_view message;
    std::string_view help;
};
constexpr SyntaxHelp kSyntaxHelp[] = {
    {"illegal map value", "put a value with `: ` in it into quotes, and one key on a line"},
    {"end of map flow", "close the `{` with `}`"},
    {"end of sequence flow", "close the `[` with `]`"},
    {"illegal flow end", "remove the bracket that closes nothing, or put the value into quotes"},
    {"end of map not found",
     "begin all keys of a map in one column, and write nothing after a closing quote"},
    {"end of sequence not found",
     "begin all items of a list in one column, and write nothing after a closing quote"},
    {"illegal block entry", "begin the list on a line of its own, a `- ` before each item"},
    {"illegal EOF in scalar", "close the quotes"},
    {"illegal document indicator", "close the quotes"},
    {"unknown escape character", "put it into single quotes, which keep a backslash"},
    {"illegal tab", "indent with blanks"},
    {"unknown token", "put a value that begins with `@`, `` ` `` or `%` into quotes"},
    {"the referenced anchor",
     "define the anchor before the alias, or put a value with `*` into quotes"},
};

} // namespace

Refusal explain_stop(std::string_view text, const Stop& stop) {
    for (const auto explain : {indented_by_tab,
                               open_quote,
                               open_bracket,
                               explain_map_value,
                               explain_end,
                               reserved_character,
                               unknown_escape}) {
        if (auto refusal = explain(text, stop)) {
            return std::move(*refusal);
        }
    }
    const auto* const row = std::ranges::find_if(kSyntaxHelp, [&](const SyntaxHelp& known) {
        return stop.message.starts_with(known.message);
    });
    return {stop.mark,
            "not yaml: " + std::string(stop.message),
            "",
            row != std::end(kSyntaxHelp)
                ? std::string(row->help)
                : "look for a quote or bracket that is not closed, here and in the line before"};
}

std::string field_of_block(std::string_view line) {
    line = trimmed(line);
    const std::size_t at = start_of(line);
    const std::size_t colon = line.find(": ", at);
    const std::string_view rest =
        colon == std::string_view::npos ? std::string_view() : line.substr(colon + 2);
    const std::size_t sign = rest.find_first_not_of(' ');
    const bool is_block = sign != std::string_view::npos && is_one_of("|>", rest[sign]) &&
                          rest.find_first_not_of("+-0123456789", sign + 1) == rest.npos;
    return is_block ? printable(line.substr(at, colon - at)) : std::string();
}

std::string word_at(std::string_view text, Mark mark) {
    const std::string_view line = line_of(text, mark.line);
    const std::string_view rest = line.substr(std::min(mark.column - 1, line.size()));
    return printable(rest.substr(0, rest.find_first_of(" \t,]}")));
}

std::string_view value_in_flow(std::string_view rest) {
    std::string open; // the ends of what is open, the innermost last
    std::size_t end = 0;
    for (; end < rest.size(); ++end) {
        const char c = rest[end];
        const bool is_quoted = !open.empty() && is_one_of("'\"", open.back());
        const bool is_apostrophe = c == '\'' && end > 0 && !is_one_of(" ([{=,:", rest[end - 1]);
        if (!open.empty() && c == open.back()) {
            open.pop_back();
        } else if (!is_quoted && open.empty() && is_one_of(",]}", c)) {
            break;
        } else if (!is_quoted && is_one_of("([{", c)) {
            open += c == '(' ? ')' : c == '[' ? ']' : '}';
        } else if (!is_quoted && (c == '"' || (c == '\'' && !is_apostrophe))) {
            open += c;
        }
    }
    // Where something stays open, the first one that may end the value.
    return trimmed(rest.substr(0, open.empty() ? end : rest.find_first_of(",]}")));
}

std::size_t offset_of(std::string_view text, Mark mark) {
    std::size_t at = 0;
    for (std::size_t line = 1; line < mark.line && at < text.size(); ++line) {
        at = std::min(text.find('\n', at), text.size() - 1) + 1;
    }
    return at + mark.column - 1;
}

std::string flow_value(std::string_view text) {
    const auto is_plain = [](char c) { return is_alphanumeric(c) || is_one_of("_./+=:~-^", c); };
    const bool is_safe = !text.empty() && std::ranges::all_of(text, is_plain) &&
                         !is_one_of(":=", text.front()) && text.back() != ':' && text != "-" &&
                         text != "~";
    return is_safe ? std::string(text) : single_quoted(text);
}

} // namespace cybele::yaml
