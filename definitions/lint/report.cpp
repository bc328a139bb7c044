// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/report.hpp"

#include "definitions/grammar/rules.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"

namespace cybele::definitions {
namespace {

using nlohmann::json;

std::vector<lint::FileFindings> findings_of(const std::vector<FileReport>& files) {
    std::vector<lint::FileFindings> list;
    list.reserve(files.size());
    for (const FileReport& file : files) {
        list.push_back({file.file, file.report.is_accepted, &file.report.findings});
    }
    return list;
}

} // namespace

std::string report_text(const LintReport& report, bool is_coloured) {
    return lint::text_of(report.findings, find_rule, is_coloured);
}

std::string report_json(const std::vector<FileReport>& files) {
    return lint::json_of(findings_of(files), find_rule);
}

std::string report_sarif(const std::vector<FileReport>& files) {
    return lint::sarif_of(findings_of(files), all_rules(), find_rule);
}

std::string tree_json(const Tree& tree) {
    json stages = json::array();
    for (const TreeStage& stage : tree.stages) {
        json blocks = json::array();
        for (const TreeBlock& block : stage.blocks) {
            std::string text;
            for (const TreeLine& line : block.lines) {
                text += line.text + line.end;
            }
            json value = {{"line", block.line}, {"kind", block.is_section ? "section" : "header"}};
            if (block.is_section) {
                value["name"] = printable(block.name());
                value["argument"] = printable(block.argument());
            }
            if (is_utf8(text)) {
                value["text"] = std::move(text);
            } else {
                value["base64"] = base64(text);
            }
            blocks.push_back(std::move(value));
        }
        stages.push_back({{"line", stage.line}, {"blocks", std::move(blocks)}});
    }
    const json value{{"format", 1}, {"stages", std::move(stages)}};
    return json_text(value) + "\n";
}

} // namespace cybele::definitions
