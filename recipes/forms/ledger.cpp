// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/ledger.hpp"

#include "support/document.hpp"
#include "support/quote.hpp"
#include "support/yaml_syntax.hpp"

#include <algorithm>
#include <filesystem>
#include <tuple>

namespace cybele::recipes {
namespace {

constexpr std::string_view kCarriedDifferently = "import-differs";
constexpr std::string_view kLostMark = "not converted: ";
constexpr std::string_view kDiffers = "converted, but: ";

bool is_blank_line(std::string_view line) {
    return line.find_first_not_of(" \t") == std::string_view::npos;
}

/// One line of a comment: no control characters, of a sensible length.
std::string comment_line(const std::string& text) {
    constexpr std::size_t kLongest = 160;
    std::string line = printable(text);
    if (line.size() <= kLongest) {
        return line;
    }
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0U) == 0x80U) {
        --end; // not inside a character
    }
    return line.substr(0, end) + "…";
}

void extend(Lines& lines, const yaml::Node& node) {
    lines.last = std::max(lines.last, node.mark.line);
    for (const auto& item : node.items) {
        extend(lines, item);
    }
    for (const auto& [key, value] : node.entries) {
        extend(lines, key);
        extend(lines, value);
    }
}

} // namespace

bool is_text_line(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool is_c1 =
            byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (byte < 0x20 || byte == 0x7f || is_c1) {
            return false;
        }
    }
    return !text.empty();
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        lines.emplace_back(line);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return lines;
}

Ledger::Ledger(const yaml::Source& source) : source_(source) {
    files_.push_back({source.file(), lines_of(source.text()), {}});
    files_.back().states.resize(files_.back().text.size(), LineState::kOpen);
}

std::size_t Ledger::add(const yaml::Source& source) {
    files_.push_back({source.file(), lines_of(source.text()), {}});
    files_.back().states.resize(files_.back().text.size(), LineState::kOpen);
    return source_.add(source);
}

void Ledger::mark_lines(Lines lines, LineState state) {
    File& file = files_[lines.file];
    for (std::size_t i = std::max<std::size_t>(lines.first, 1);
         i <= std::min(lines.last, file.states.size());
         ++i) {
        file.states[i - 1] = std::max(file.states[i - 1], state);
    }
}

void Ledger::carry(Lines lines) {
    mark_lines(lines, LineState::kCarried);
}

void Ledger::note(yaml::Mark mark, std::string_view id, const std::string& prefix, Words words) {
    Fault fault = document::fault_at(source_,
                                     mark,
                                     problem(id, prefix + std::move(words.what)),
                                     std::move(words.because),
                                     std::move(words.help));
    fault.is_warning = true;
    notes_.push_back(std::move(fault));
}

std::string help_for_items(const yaml::Node& value) {
    return value.kind == yaml::Node::Kind::kScalar && !value.scalar.empty()
               ? "write `[" + printable(yaml::flow_value(value.scalar)) + "]`"
               : "begin each with `- `";
}

void Ledger::lose(Lines lines, yaml::Mark mark, Words words) {
    mark_lines(lines, LineState::kNamed);
    ++lost_;
    note(mark, kNotCarried, std::string(kLostMark), std::move(words));
}

void Ledger::remark(yaml::Mark mark, Words words) {
    note(mark, kCarriedDifferently, std::string(kDiffers), std::move(words));
}

void Ledger::comment(std::size_t line, std::string text, std::size_t file) {
    mark_lines({line, line, file}, LineState::kCarried);
    comments_.push_back(std::move(text));
}

void Ledger::refuse(yaml::Mark mark, Words words) {
    faults_.add(document::fault_at(source_,
                                   mark,
                                   problem("import-refused", std::move(words.what)),
                                   std::move(words.because),
                                   std::move(words.help)));
}

void Ledger::settle() {
    for (std::size_t index = 0; index < files_.size(); ++index) {
        File& file = files_[index];
        LineState before = LineState::kOpen;
        for (std::size_t i = 0; i < file.states.size(); ++i) {
            LineState& state = file.states[i];
            if (is_blank_line(file.text[i])) {
                state = LineState::kBlank;
                continue;
            }
            if (state == LineState::kOpen) {
                state = before;
            }
            if (state == LineState::kOpen) {
                lose({i + 1, i + 1, index},
                     {i + 1, 1, index},
                     {"'" + printable(file.text[i]) + "'",
                      "this importer does not know it",
                      "say it in the Recipe yourself"});
            }
            before = state;
        }
    }
    std::stable_sort(notes_.begin(), notes_.end(), [](const Fault& a, const Fault& b) {
        return a.where->file == b.where->file && a.where->line < b.where->line;
    });
}

std::vector<ImportedLine> Ledger::lines() const {
    std::vector<ImportedLine> list;
    for (const auto& file : files_) {
        for (std::size_t i = 0; i < file.states.size(); ++i) {
            list.push_back({file.name,
                            i + 1,
                            file.states[i] == LineState::kBlank,
                            file.states[i] == LineState::kCarried,
                            file.text[i]});
        }
    }
    return list;
}

std::vector<std::string> Ledger::head() const {
    std::vector<std::string> head;
    for (const auto& text : comments_) {
        head.push_back(comment_line(text));
    }
    for (const auto& [id, prefix, title] :
         {std::tuple{kNotCarried, kLostMark, "Not converted:"},
          {kCarriedDifferently, kDiffers, "Converted, but not quite the same:"}}) {
        bool is_first = true;
        for (const auto& note : notes_) {
            if (note.id != id) {
                continue;
            }
            if (is_first) {
                head.emplace_back(title);
                is_first = false;
            }
            const std::string place =
                (note.where->file == files_.front().name
                     ? "line "
                     : std::filesystem::path(note.where->file).filename().native() + " line ") +
                std::to_string(note.where->line);
            head.push_back(comment_line("  " + place + ": " + note.message.substr(prefix.size()) +
                                        (note.because.empty() ? "" : ": " + note.because)));
        }
    }
    return head;
}

Lines lines_of_node(const yaml::Node& node) {
    Lines lines{node.mark.line, node.mark.line, node.mark.file};
    extend(lines, node);
    return lines;
}

Lines lines_of_entry(const yaml::Entry& entry) {
    Lines lines{entry.first.mark.line, entry.first.mark.line, entry.first.mark.file};
    extend(lines, entry.second);
    return lines;
}

void carry_node(Ledger& ledger, const yaml::Node& node) {
    ledger.carry(lines_of_node(node));
}

} // namespace cybele::recipes
