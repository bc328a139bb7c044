// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/tree.hpp"

#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/scan.hpp"

#include <algorithm>

namespace cybele::definitions {
namespace {

TreeLine take_line(std::string_view& text) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    TreeLine result{std::string(line), newline == std::string_view::npos ? "" : "\n"};
    if (result.text.ends_with('\r')) {
        // Apptainer drops one carriage return at the end of a line, of the last one too.
        result.text.pop_back();
        result.end.insert(0, "\r");
    }
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    return result;
}

std::string_view bare(const TreeBlock& block) {
    std::string_view line = block.lines.front().text;
    while (const std::size_t length = blank_length(line)) {
        line.remove_prefix(length);
    }
    return line.substr(std::min(line.find_first_not_of('%'), line.size()));
}

} // namespace

std::string TreeBlock::name() const {
    return is_section ? lower(bare(*this).substr(0, bare(*this).find(' '))) : std::string();
}

std::string TreeBlock::argument() const {
    const std::size_t space = is_section ? bare(*this).find(' ') : std::string_view::npos;
    return space == std::string_view::npos ? std::string()
                                           : std::string(bare(*this).substr(space + 1));
}

Tree read_tree(std::string_view text) {
    Tree tree;
    std::size_t number = 1;
    for (const StageText& raw : split_stages(text)) {
        TreeStage stage;
        stage.line = number;
        for (std::string_view rest = raw.text; !rest.empty(); ++number) {
            TreeLine line = take_line(rest);
            const bool begins = trim(line.text).starts_with('%');
            if (begins || stage.blocks.empty()) {
                stage.blocks.push_back({begins, number, {}});
            }
            stage.blocks.back().lines.push_back(std::move(line));
        }
        tree.stages.push_back(std::move(stage));
    }
    return tree;
}

std::string print_tree(const Tree& tree) {
    std::string text;
    for (const TreeStage& stage : tree.stages) {
        for (const TreeBlock& block : stage.blocks) {
            for (const TreeLine& line : block.lines) {
                text += line.text;
                text += line.end;
            }
        }
    }
    return text;
}

} // namespace cybele::definitions
