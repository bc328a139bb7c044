// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/lines.hpp"
#include "recipes/forms/recipe_rules.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/definition.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

namespace cybele::recipes::definition_file {

std::map<std::string, std::string> read_labels(Ledger& ledger, const Joined& labels) {
    std::map<std::string, std::string> list;
    for (const auto& part : labels.parts) {
        const std::size_t first = part.section->line;
        ledger.carry({first, first});
        const auto lines = lines_of(part.section->text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (trimmed(lines[i]).starts_with('#')) {
                ledger.comment(first + 1 + i, std::string(trimmed(lines[i], "# \t")));
                continue;
            }
            for (const auto& [name, value] : definitions::label_lines(lines[i])) {
                const auto complaint = check_label(name);
                if (!complaint.because.empty()) {
                    lose_line(
                        ledger,
                        part,
                        i,
                        {"label '" + printable(name) + "'", complaint.because, complaint.help});
                } else if (!is_plain_payload("x " + value) || value.find('\t') != value.npos) {
                    lose_line(ledger,
                              part,
                              i,
                              {"label '" + printable(name) + "'",
                               "the value of a label has no tab and no `{{ }}`",
                               "write a value without them"});
                } else {
                    list[name] = literal(value);
                    ledger.carry({first + 1 + i, first + 1 + i});
                }
            }
        }
    }
    return list;
}

} // namespace cybele::recipes::definition_file
