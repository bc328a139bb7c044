// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/definition.hpp"

#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/scan.hpp"
#include "support/find.hpp"

#include <algorithm>

namespace cybele::definitions {

std::string Stage::header_value(std::string_view key) const {
    for (auto entry = header.rbegin(); entry != header.rend(); ++entry) {
        if (entry->first == key) {
            return entry->second;
        }
    }
    return {};
}

Fault Stage::fault_at_header(std::string_view file, std::string_view key) const {
    if (line == 0) {
        Fault fault;
        fault.code = ErrorCode::kInput;
        return fault;
    }
    const auto found = header_lines.find(std::string(key));
    if (found != header_lines.end()) {
        return fault_at(file, found->second.number, found->second.text);
    }
    const auto bootstrap = header_lines.find("bootstrap");
    return bootstrap != header_lines.end() && bootstrap->second.number == line
               ? fault_at(file, line, bootstrap->second.text)
               : fault_at(file, line, "Bootstrap: " + header_value("bootstrap"));
}

std::string Stage::joined(std::string_view section) const {
    std::string text;
    for (const Section& candidate : sections) {
        if (candidate.name == section) {
            text += candidate.text;
        }
    }
    return text;
}

bool Stage::has(std::string_view section) const {
    return contains(sections, section, &Section::name);
}

namespace {

/// A value with line breaks is written as continuations: `a\n\`, then the rest on a line of its
/// own.
std::string continued(const std::string& value) {
    std::string text;
    for (const char c : value) {
        if (c == '\n') {
            text += "\\n\\\n";
        } else {
            text += c;
        }
    }
    return text;
}

std::size_t rank(const Section& section) {
    const auto names = section_names();
    const auto found = std::ranges::find_if(
        names, [&](const SectionName& row) { return !row.is_app && row.name == section.name; });
    return static_cast<std::size_t>(found - names.begin());
}

void print_stage(const Stage& stage, std::string& text) {
    // The header's first key must be Bootstrap: that is what begins a stage.
    auto header = stage.header;
    std::stable_partition(
        header.begin(), header.end(), [](const auto& entry) { return entry.first == "bootstrap"; });
    for (const auto& [key, value] : header) {
        text += header_spelling(key) + ":";
        text += value.empty() ? "\n" : " " + continued(value) + "\n";
    }
    std::vector<const Section*> sections;
    sections.reserve(stage.sections.size());
    for (const Section& section : stage.sections) {
        sections.push_back(&section);
    }
    std::stable_sort(sections.begin(), sections.end(), [](const Section* a, const Section* b) {
        return rank(*a) < rank(*b);
    });
    if (!sections.empty()) {
        text += '\n';
    }
    for (const Section* section : sections) {
        text += "%" + section->name;
        text += section->arguments.empty() ? "\n" : " " + section->arguments + "\n";
        text += section->text;
        if (!section->text.empty() && !section->text.ends_with('\n')) {
            text += '\n';
        }
    }
}

} // namespace

std::string print_definition(const Definition& definition) {
    std::string text;
    for (const Stage& stage : definition.stages) {
        print_stage(stage, text);
    }
    return text;
}

} // namespace cybele::definitions
