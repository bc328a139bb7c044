// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/format.hpp"

#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/lines.hpp"
#include "definitions/grammar/substitute.hpp"
#include "definitions/grammar/tree.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace cybele::definitions {
namespace {

constexpr std::string_view kIndent = "    ";
constexpr int kMostRuns = 8; ///< until nothing changes; two are the most that was seen

bool is_data_section(std::string_view name) {
    return name == "files" || name == "labels" || name == "arguments";
}

/// One entry of a header with the comments above it and the lines that continue it.
struct Entry {
    std::string key; ///< "" for comments at the end
    std::vector<std::string> comments;
    std::vector<std::string> lines;
    bool is_dropped = false; ///< its continuation is open at the header's end, so it sets no key
};

bool continues(std::string_view line) {
    return trim(line.substr(0, line.find('#'))).ends_with('\\');
}

/// "Key: value", with the comment that follows the value.
std::string header_text(const std::string& key, std::string_view rest) {
    const std::string_view value = trim(rest);
    return header_spelling(key) + ":" + (value.empty() ? "" : " " + std::string(value));
}

std::vector<Entry> header_entries(const TreeBlock& block) {
    std::vector<Entry> entries;
    Entry entry;
    bool is_open = false;
    for (const TreeLine& line : block.lines) {
        const std::string_view trimmed = trim(line.text);
        if (trimmed.empty()) {
            continue;
        }
        if (!is_open && trimmed.starts_with('#')) {
            entry.comments.emplace_back(trimmed);
            continue;
        }
        const std::size_t colon = trimmed.find(':');
        if (is_open) {
            entry.lines.push_back(std::string(kIndent) + std::string(trimmed));
        } else {
            entry.key = lower(trim(trimmed.substr(0, colon)));
            entry.lines.push_back(header_text(entry.key, trimmed.substr(colon + 1)));
        }
        is_open = continues(trimmed);
        if (!is_open) {
            entries.push_back(std::move(entry));
            entry = {};
        }
    }
    entry.is_dropped = is_open;
    if (!entry.comments.empty() || !entry.lines.empty()) {
        entries.push_back(std::move(entry));
    }
    return entries;
}

/// Bootstrap comes first; of several only the last counts, and a second one in the first column
/// would begin a stage, so the others go, and their comments stay.
void put_bootstrap_first(std::vector<Entry>& entries) {
    const auto is_bootstrap = [](const Entry& entry) {
        return entry.key == "bootstrap" && !entry.is_dropped;
    };
    const auto last = std::find_if(entries.rbegin(), entries.rend(), is_bootstrap);
    if (last == entries.rend()) {
        return;
    }
    Entry kept = std::move(*last);
    std::vector<Entry> others;
    for (Entry& entry : entries) {
        if (entry.key != "bootstrap") {
            others.push_back(std::move(entry));
        } else if (!entry.comments.empty()) {
            others.push_back({"", std::move(entry.comments), {}});
        }
    }
    others.insert(others.begin(), std::move(kept));
    entries = std::move(others);
}

std::string formatted_header(const TreeBlock& block) {
    std::vector<Entry> entries = header_entries(block);
    put_bootstrap_first(entries);
    std::string text;
    for (const Entry& entry : entries) {
        for (const auto* lines : {&entry.comments, &entry.lines}) {
            for (const std::string& line : *lines) {
                text += line + "\n";
            }
            // What stands above a Bootstrap in the first column is a block of its own.
            text +=
                lines == &entry.comments && !lines->empty() && entry.key == "bootstrap" ? "\n" : "";
        }
    }
    return text;
}

std::string data_line(std::string_view section, std::string_view trimmed) {
    if (trimmed.starts_with('#')) {
        return std::string(trimmed);
    }
    if (section == "labels") {
        const std::size_t space = trimmed.find(' ');
        return space == std::string_view::npos ? std::string(trimmed)
                                               : std::string(trim(trimmed.substr(0, space))) + " " +
                                                     std::string(trim(trimmed.substr(space)));
    }
    if (section == "arguments") {
        const std::size_t equals = trimmed.find('=');
        return equals == std::string_view::npos
                   ? std::string(trimmed)
                   : std::string(trim(trimmed.substr(0, equals))) + "=" +
                         std::string(trim(trimmed.substr(equals + 1)));
    }
    return std::string(trimmed);
}

std::string section_line(const TreeBlock& block) {
    const std::string argument = block.argument();
    const bool is_exact = block.name() == "files" || is_app_section(block.name());
    const std::string shown = is_exact ? argument : std::string(trim(argument));
    return "%" + block.name() + (shown.empty() ? "" : " " + shown) + "\n";
}

std::string formatted_section(const TreeBlock& block) {
    std::string text = section_line(block);
    const std::string name = block.name();
    for (std::size_t i = 1; i < block.lines.size(); ++i) {
        const std::string& line = block.lines[i].text;
        if (!is_data_section(name)) {
            // A carriage return that belongs to the line needs another one, which the parser drops.
            text += line + (line.ends_with('\r') ? "\r\n" : "\n");
            continue;
        }
        const std::string_view trimmed = trim(line);
        text += trimmed.empty() ? "\n" : std::string(kIndent) + data_line(name, trimmed) + "\n";
    }
    return text;
}

void end_with_one_blank_line(std::string& text) {
    while (text.ends_with("\n\n")) {
        text.pop_back();
    }
    if (!text.empty()) {
        text += '\n';
    }
}

std::string formatted(const Tree& tree) {
    std::string text;
    bool is_script = true;
    for (const TreeStage& stage : tree.stages) {
        for (const TreeBlock& block : stage.blocks) {
            // A block of its own form ends with one blank line; scripts keep what they have.
            std::string shown =
                block.is_section ? formatted_section(block) : formatted_header(block);
            is_script = block.is_section && !is_data_section(block.name());
            if (!is_script) {
                end_with_one_blank_line(shown);
            }
            text += shown;
        }
    }
    if (!is_script) {
        while (text.ends_with("\n\n")) {
            text.pop_back();
        }
    }
    return text;
}

Error refused(std::vector<Finding> refusals) {
    Faults faults;
    for (Finding& refusal : refusals) {
        faults.add(std::move(refusal.fault));
    }
    return faults.take();
}

/// Gives a value to each build argument without one, if nothing else is wrong: the form does not
/// depend on values.
bool add_values(const ParseOutcome& outcome, BuildArguments& arguments) {
    for (const Finding& refusal : outcome.refusals) {
        const auto& where = refusal.fault.where;
        if (refusal.rule != "CD021" || !where || where->column == 0) {
            return false;
        }
        const auto uses = template_uses(
            std::string_view(where->text).substr(std::min(where->column - 1, where->text.size())));
        if (uses.empty()) {
            return false;
        }
        arguments.emplace(uses.front().name, "value");
    }
    return !outcome.refusals.empty();
}

} // namespace

std::vector<Meaning> meaning_of(const Definition& definition) {
    std::vector<Meaning> meanings;
    for (const Stage& stage : definition.stages) {
        Meaning meaning;
        for (const auto& [key, value] : stage.header) {
            meaning.header[key] = value;
        }
        for (const Section& section : stage.sections) {
            if (section.name == "files") {
                for (const FileLine& line : file_lines(section)) {
                    meaning.files.push_back({section.arguments, {line.source, line.destination}});
                }
                meaning.scripts["files " + section.arguments] += "";
            } else if (!is_data_section(section.name)) {
                const std::string key = is_app_section(section.name)
                                            ? section.name + " " + section.arguments
                                            : section.name;
                std::string& script = meaning.scripts[key];
                script += section.text;
                if (!section.arguments.empty() && key == section.name) {
                    meaning.scripts[key + " argument"] = section.arguments;
                }
            }
        }
        for (auto& [key, value] : label_lines(stage.joined("labels"))) {
            meaning.labels[key] = value;
        }
        for (auto& [key, value] : argument_lines(stage.joined("arguments"))) {
            meaning.arguments[key] = value;
        }
        meanings.push_back(std::move(meaning));
    }
    return meanings;
}

Result<std::string>
format_definition(std::string_view text, std::string_view file, const ParseOptions& given) {
    ParseOptions options = given;
    ParseOutcome before = read_definition(text, file, options);
    if (add_values(before, options.arguments)) {
        ParseOutcome filled = read_definition(text, file, options);
        before = filled.refusals.empty() ? std::move(filled) : std::move(before);
    }
    if (!before.refusals.empty()) {
        return fail(refused(std::move(before.refusals)));
    }
    // Comments that move to the first column join those above them: a form that a further run
    // would change is not the normal one.
    std::string result = formatted(read_tree(text));
    for (int run = 0; run < kMostRuns; ++run) {
        std::string next = formatted(read_tree(result));
        if (next == result) {
            break;
        }
        result = std::move(next);
    }
    const ParseOutcome after = read_definition(result, file, options);
    if (!after.refusals.empty() || meaning_of(after.definition) != meaning_of(before.definition)) {
        return fail(ErrorCode::kInput,
                    problem("definition-not-formattable",
                            "this definition cannot be formatted without changing what it means"),
                    "its normal form is read differently, or a section of it becomes too long",
                    "split its longest section, or leave the file as it is");
    }
    return result;
}

} // namespace cybele::definitions
