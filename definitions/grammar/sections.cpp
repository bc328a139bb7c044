// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/sections.hpp"

#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/lines.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

std::string_view line_at_start(std::string_view text) {
    return text.substr(0, text.find('\n'));
}

std::string_view first_word(std::string_view text) {
    text = trim(text);
    return text.substr(0, text.find_first_of(" \t"));
}

/// The section line taken apart, all parts as written.
struct SectionLine {
    std::string_view line;
    std::string_view name;                    ///< up to the first space
    std::optional<std::string_view> argument; ///< behind the first space
};

SectionLine take_apart(std::string_view line) {
    const std::string_view bare = line.substr(std::min(line.find_first_not_of('%'), line.size()));
    const std::size_t space = bare.find(' ');
    SectionLine parts{line, bare.substr(0, space), std::nullopt};
    if (space != std::string_view::npos) {
        parts.argument = bare.substr(space + 1);
    }
    return parts;
}

/// %appNAME: the application's name is the second word, one space behind the first.
bool check_app(const SectionLine& parts,
               const std::string& name,
               const Fault& place,
               Findings& findings) {
    if (parts.name != name) {
        findings.add("CD006",
                     place,
                     fmt::format("'%{}' is not a section", printable(parts.name)),
                     "the names of application sections are lower case",
                     fmt::format("write '%{}'", name));
        return false;
    }
    if (!parts.argument || parts.argument->empty() || parts.argument->front() == ' ') {
        findings.add("CD006",
                     place,
                     fmt::format("'%{}' names no application", name),
                     "its name follows the section's after one space",
                     fmt::format("write '%{} NAME'", name));
        return false;
    }
    return true;
}

/// Names that people write for a section, and the section.
struct OtherName {
    std::string_view written;
    std::string_view section;
};
constexpr std::array kOtherNames = {OtherName{"env", "environment"},
                                    OtherName{"variables", "environment"},
                                    OtherName{"run", "runscript"},
                                    OtherName{"entrypoint", "runscript"},
                                    OtherName{"cmd", "runscript"},
                                    OtherName{"start", "startscript"},
                                    OtherName{"install", "post"},
                                    OtherName{"build", "post"},
                                    OtherName{"copy", "files"},
                                    OtherName{"args", "arguments"},
                                    OtherName{"description", "help"},
                                    OtherName{"metadata", "labels"},
                                    OtherName{"check", "test"},
                                    OtherName{"tests", "test"},
                                    OtherName{"appenvironment", "appenv"}};

/// The section that a wrong name was meant to be, or "".
std::string meant(std::string_view name) {
    for (const OtherName& other : kOtherNames) {
        if (other.written == name) {
            return std::string(other.section);
        }
    }
    std::vector<std::string_view> names;
    for (const SectionName& row : section_names()) {
        names.push_back(row.name);
    }
    return nearest(name, names);
}

/// The first character of a section's name that ends it only for a reader: a tab, a `#`, an
/// invisible character; npos where there is none.
std::size_t false_end(std::string_view name) {
    for (const SectionName& row : section_names()) {
        if (name.size() > row.name.size() && lower(name.substr(0, row.name.size())) == row.name) {
            const char next = name[row.name.size()];
            if (!is_letter(next)) {
                return row.name.size();
            }
        }
    }
    return std::string_view::npos;
}

void refuse_indented(std::string_view line, const Fault& place, Findings& findings) {
    std::string_view word = trim(line);
    word.remove_prefix(std::min(word.find_first_not_of('%'), word.size()));
    const bool is_known = is_section(lower(word.substr(0, word.find_first_of(" \t"))));
    findings.add(is_known ? "CD006" : "CD001",
                 place,
                 "a line that begins with '%' after blanks is a section line without a name",
                 "this holds in heredocs, quotes and continued lines too",
                 is_known ? "move the '%' to the first column"
                          : "write the line by printf '%s\\n', so that it does not begin with '%'");
}

void refuse_name(const SectionLine& parts, Fault place, const Origin& origin, Findings& findings) {
    const std::string name = lower(parts.name);
    if (const Since* since = section_since(name); since != nullptr) {
        place.subject = name;
        findings.add("CD004",
                     std::move(place),
                     fmt::format("{} has no section '%{}'", origin.dialect.name(), name),
                     "",
                     fmt::format("build it with {} or later", since->describe()));
        return;
    }
    if (const std::size_t at = false_end(parts.name); at != std::string_view::npos) {
        if (place.where) {
            place.where->column += parts.line.size() -
                                   parts.line.substr(parts.line.find_first_not_of('%')).size() + at;
        }
        const unsigned byte = static_cast<unsigned char>(parts.name[at]);
        findings.add(
            "CD006",
            std::move(place),
            fmt::format("'%{}' is not a section", printable(parts.name)),
            fmt::format("only a space ends a section's name; here the byte 0x{:02x} follows it",
                        byte),
            fmt::format("write '%{}', and what follows after one space",
                        lower(parts.name.substr(0, at))));
        return;
    }
    // `% environment`: the name is empty, and the section stands behind the blank.
    if (const std::string_view word = first_word(parts.argument.value_or(""));
        name.empty() && (is_section(lower(word)) || !meant(lower(word)).empty())) {
        const std::string section = is_section(lower(word)) ? lower(word) : meant(lower(word));
        findings.add("CD006",
                     std::move(place),
                     fmt::format("'{}' has a blank after its '%'", printable(parts.line)),
                     "a section's name follows '%' without a blank",
                     fmt::format("write '%{}'", section));
        return;
    }
    const std::string near = meant(name);
    place.subject = parts.name;
    findings.add(near.empty() ? "CD001" : "CD004",
                 std::move(place),
                 fmt::format("'%{}' is not a section", printable(parts.name)),
                 "any line that begins with '%' is a section line, in heredocs and quotes too",
                 near.empty() ? "if it belongs to a script, write it by printf '%s\\n'"
                              : fmt::format("did you mean '%{}'?", near));
}

void check_files(const Section& section,
                 const Token& token,
                 const Origin& origin,
                 Findings& findings) {
    if (!has(origin.dialect, Feature::kQuotedFiles)) {
        return;
    }
    std::size_t index = token.index + 1;
    for (std::size_t begin = 0; begin < section.text.size(); ++index) {
        const std::size_t end = std::min(section.text.find('\n', begin), section.text.size());
        const std::string_view text = std::string_view(section.text).substr(begin, end - begin);
        begin = end + 1;
        const std::string_view trimmed = trim(text);
        if (!trimmed.empty() && trimmed.front() != '#' && !split_file_line(trimmed)) {
            findings.add("CD008",
                         origin.fault(index, text),
                         "this line of %files names no file",
                         "Apptainer stops with an internal error there",
                         "write 'SOURCE DESTINATION'");
        }
    }
}

} // namespace

std::optional<ParsedSection>
parse_section(const Token& token, bool is_first, const Origin& origin, Findings& findings) {
    std::string_view body = token.text;
    if (is_first) {
        body = trim(body);
    }
    const std::string_view written = line_at_start(token.text);
    const std::string_view line = line_at_start(body);
    const Fault place = origin.fault(token.index, written);
    if (line.size() == body.size()) {
        findings.add(
            "CD026",
            place,
            fmt::format("the stage begins with '{}' and holds nothing else", printable(line)),
            "a section that nothing precedes needs a body; a stage needs a header",
            "begin the stage with 'Bootstrap: AGENT', or remove the line");
        return std::nullopt;
    }
    const SectionLine parts = take_apart(line);
    ParsedSection parsed;
    parsed.section.name = lower(parts.name);
    parsed.section.text = body.substr(line.size() + 1);
    parsed.section.line = origin.stage->line(token.index);
    if (parts.argument) {
        parsed.argument = std::string(*parts.argument);
        parsed.section.arguments =
            parsed.section.name == "files" ? *parts.argument : trim(*parts.argument);
    }
    if (is_app_section(parsed.section.name, origin.dialect)) {
        return check_app(parts, parsed.section.name, place, findings) ? std::optional(parsed)
                                                                      : std::nullopt;
    }
    if (!is_section(parsed.section.name, origin.dialect)) {
        if (blank_length(line) > 0) {
            refuse_indented(line, place, findings);
        } else {
            refuse_name(parts, place, origin, findings);
        }
        return std::nullopt;
    }
    if (parsed.section.name == "files") {
        check_files(parsed.section, token, origin, findings);
    }
    return parsed;
}

} // namespace cybele::definitions
