// SPDX-License-Identifier: Apache-2.0
#include "definitions/definition.hpp"
#include "definitions/grammar.hpp"
#include "definitions/header.hpp"
#include "definitions/lines.hpp"
#include "definitions/scan.hpp"
#include "definitions/substitute.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

void refuse(
    Faults& faults, Fault fault, std::string message, std::string because, std::string help) {
    fault.message = std::move(message);
    fault.because = std::move(because);
    fault.help = std::move(help);
    faults.add(std::move(fault));
}

std::string_view first_line(std::string_view text) {
    return text.substr(0, text.find('\n'));
}

/// %appNAME: the application's name is the second word, one space behind the first.
bool check_app(const Section& section, std::string_view written, Fault place, Faults& faults) {
    if (written != section.name) {
        refuse(faults,
               std::move(place),
               fmt::format("'%{}' is no section", printable(written)),
               "the names of application sections are lower case",
               fmt::format("write '%{}'", section.name));
        return false;
    }
    if (section.arguments.empty() || section.arguments.front() == ' ') {
        refuse(faults,
               std::move(place),
               fmt::format("'%{}' names no application", section.name),
               "its name follows the section's after one space",
               fmt::format("write '%{} NAME'", section.name));
        return false;
    }
    return true;
}

void refuse_section(std::string_view name, std::string_view line, Fault place, Faults& faults) {
    const bool indented = blank_length(line) > 0;
    std::string_view word = trim(line);
    word.remove_prefix(std::min(word.find_first_not_of('%'), word.size()));
    const bool known = is_section(lower(word.substr(0, word.find_first_of(" \t"))));
    if (indented) {
        refuse(faults,
               std::move(place),
               "a line that begins with '%' behind blanks is a section line without a name",
               "this holds in heredocs, quotes and continued lines too",
               known ? "move the '%' to the first column"
                     : "write the line by printf '%s\\n', so that it does not begin with '%'");
        return;
    }
    std::vector<std::string_view> names(section_names().begin(), section_names().end());
    const std::string near = nearest(name, names);
    refuse(faults,
           std::move(place),
           fmt::format("'%{}' is no section", printable(name)),
           "any line that begins with '%' is a section line, in heredocs and quotes too",
           near.empty() ? "if it belongs to a script, write it by printf '%s\\n'"
                        : fmt::format("write '%{}'", near));
}

/// The section of a token, or nothing (with a fault) where its name is unknown.
std::optional<Section> parse_section(const Token& token, const Origin& origin, Faults& faults) {
    const std::string_view line = first_line(token.text);
    const std::string_view bare = line.substr(std::min(line.find_first_not_of('%'), line.size()));
    const std::size_t space = std::min(bare.find(' '), bare.size());
    const std::string_view written = bare.substr(0, space);
    Section section;
    section.name = lower(written);
    section.text = token.text.substr(line.size() + 1);
    section.line = origin.stage->line(token.index);
    const std::string_view rest = space < bare.size() ? bare.substr(space + 1) : "";
    const bool is_app = is_app_section(section.name);
    section.arguments = is_app && rest.starts_with(' ') ? " " : std::string(trim(rest));
    Fault place = origin.fault(token.index, line);
    if (is_app) {
        return check_app(section, written, std::move(place), faults) ? std::optional(section)
                                                                     : std::nullopt;
    }
    if (!is_section(section.name)) {
        refuse_section(section.name, line, std::move(place), faults);
        return std::nullopt;
    }
    if (section.name == "files") {
        std::size_t index = token.index + 1;
        for (std::size_t begin = 0; begin < section.text.size(); ++index) {
            const std::size_t end = std::min(section.text.find('\n', begin), section.text.size());
            const std::string_view text = std::string_view(section.text).substr(begin, end - begin);
            begin = end + 1;
            const std::string_view trimmed = trim(text);
            if (!trimmed.empty() && trimmed.front() != '#' && !split_file_line(trimmed)) {
                refuse(faults,
                       origin.fault(index, text),
                       "this line of %files names no file",
                       {},
                       "write 'SOURCE DESTINATION'");
            }
        }
    }
    return section;
}

/// A stage, or nothing where it holds only blanks and comments.
std::optional<Stage> parse_stage(const StageText& text, std::string_view file, Faults& faults) {
    const Origin origin{file, &text};
    auto tokens = scan_sections(text.text);
    if (!tokens) {
        for (Fault fault : tokens.error().faults()) {
            const std::string_view line = fault.where ? fault.where->text : std::string_view();
            Fault placed = origin.fault(fault.where ? fault.where->line : 0, line);
            refuse(faults, std::move(placed), fault.message, fault.because, fault.help);
        }
        return std::nullopt;
    }
    Stage stage;
    stage.line = text.line(0);
    bool holds_something = false;
    for (const Token& token : *tokens) {
        if (!token.is_section) {
            const std::size_t known = faults.all().size();
            stage.header = parse_header(token, origin, faults);
            holds_something =
                holds_something || !stage.header.empty() || faults.all().size() > known;
            continue;
        }
        holds_something = true;
        if (auto section = parse_section(token, origin, faults)) {
            stage.sections.push_back(std::move(*section));
        }
    }
    return holds_something ? std::optional(std::move(stage)) : std::nullopt;
}

/// What the builder of the reference refuses before it builds anything.
void check_stage(const std::vector<Stage>& stages,
                 std::size_t which,
                 const StageText& text,
                 std::string_view file,
                 Faults& faults) {
    const Stage& stage = stages[which];
    const Fault place = fault_at(file, stage.line, text.text);
    const bool has_bootstrap =
        std::any_of(stage.header.begin(), stage.header.end(), [](const auto& entry) {
            return entry.first == "bootstrap";
        });
    const std::string agent = stage.header_value("bootstrap");
    if (!has_bootstrap) {
        refuse(faults,
               place,
               "this stage has no header",
               "a stage begins with 'Bootstrap: AGENT'",
               "begin it with 'Bootstrap: AGENT' in the first column");
    } else if (!agent.empty() && !is_agent(agent)) {
        const std::string low = lower(agent);
        refuse(faults,
               place,
               fmt::format("'{}' is no bootstrap agent", printable(agent)),
               is_agent(low) ? "the names of agents are lower case" : "",
               is_agent(low) ? fmt::format("write '{}'", low)
                             : fmt::format("use one of {}", fmt::join(agents(), ", ")));
    }
    for (const Section& section : stage.sections) {
        const FilesOrigin origin = files_origin(section);
        if (section.name != "files" || origin.kind != FilesOrigin::Kind::kStage) {
            continue;
        }
        const bool is_earlier =
            std::any_of(stages.begin(),
                        stages.begin() + static_cast<std::ptrdiff_t>(which),
                        [&](const Stage& earlier) { return earlier.name() == origin.stage; });
        if (!is_earlier) {
            refuse(faults,
                   fault_at(file, section.line, fmt::format("%files {}", section.arguments)),
                   fmt::format("no earlier stage is named '{}'", printable(origin.stage)),
                   "",
                   "give the stage that has the files the header 'Stage: " +
                       printable(origin.stage) + "', above this one");
        }
    }
}

} // namespace

Result<Definition>
parse_definition(std::string_view text, std::string_view file, const BuildArguments& arguments) {
    Faults faults;
    Definition definition;
    std::vector<StageText> kept;
    for (const StageText& raw : split_stages(text)) {
        // The text must be valid before its templates are replaced, and after.
        const std::size_t known = faults.all().size();
        const std::optional<Stage> before = parse_stage(raw, file, faults);
        if (!before || faults.all().size() > known) {
            definition.text += raw.text;
            continue;
        }
        StageText replaced =
            substitute(raw, file, arguments, argument_lines(before->joined("arguments")), faults);
        if (auto after = parse_stage(replaced, file, faults)) {
            definition.stages.push_back(std::move(*after));
            definition.text += replaced.text;
            kept.push_back(std::move(replaced));
        }
    }
    for (std::size_t i = 0; i < definition.stages.size(); ++i) {
        check_stage(definition.stages, i, kept[i], file, faults);
    }
    if (definition.stages.empty() && !faults.has_errors()) {
        refuse(faults,
               fault_at(file, 1, first_line(text)),
               "the definition file is empty",
               "it has neither a header nor a section",
               "begin it with 'Bootstrap: AGENT'");
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return definition;
}

} // namespace cybele::definitions
