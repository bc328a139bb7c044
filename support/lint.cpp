// SPDX-License-Identifier: Apache-2.0
#include "support/lint.hpp"

#include "support/json.hpp"
#include "support/message.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include <fmt/format.h>

namespace cybele::lint {
namespace {

using nlohmann::json;

std::string dump(const json& value) {
    return json_text(value) + "\n";
}

json finding_json(const Finding& finding, FindRule find_rule) {
    const Rule* rule = find_rule(finding.rule);
    json value = {{"rule", finding.rule},
                  {"severity", to_string(rule->severity)},
                  {"refusal", finding.is_refusal},
                  {"message", finding.fault.message},
                  {"because", finding.fault.because},
                  {"help", finding.fault.help}};
    if (finding.fault.where) {
        value["line"] = finding.fault.where->line;
        value["column"] = finding.fault.where->column;
        value["text"] = finding.fault.where->text;
    }
    return value;
}

json sarif_rule(const Rule& rule) {
    return {{"id", rule.id},
            {"shortDescription", {{"text", rule.title}}},
            {"fullDescription", {{"text", rule.why}}},
            {"help", {{"text", rule.fix}}},
            {"defaultConfiguration", {{"level", to_string(rule.severity)}}}};
}

/// A name of a file as a reference of RFC 3986.
std::string uri_of(const std::string& file) {
    constexpr std::string_view kPlain = "-._~/!$&'()*+,;=@";
    std::string uri = file.starts_with('/') ? "file://" : "";
    for (const char c : file) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_plain =
            (byte < 0x80 && std::isalnum(byte) != 0) || kPlain.find(c) != std::string_view::npos;
        uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
    }
    return uri;
}

json sarif_result(const std::string& file,
                  const Fault& fault,
                  std::string_view rule,
                  Severity severity) {
    std::string text = fault.message + (fault.because.empty() ? "" : ": " + fault.because);
    text += fault.help.empty() ? "" : ". " + fault.help;
    json region = {{"startLine", 1}};
    if (fault.where && fault.where->line > 0) {
        region = {{"startLine", fault.where->line},
                  {"startColumn", std::max<std::size_t>(fault.where->column, 1)},
                  {"snippet", {{"text", fault.where->text}}}};
    }
    return {{"ruleId", rule},
            {"level", to_string(severity)},
            {"message", {{"text", std::move(text)}}},
            {"locations",
             json::array({{{"physicalLocation",
                            {{"artifactLocation", {{"uri", uri_of(file)}}},
                             {"region", std::move(region)}}}}})}};
}

std::string sarif_log(json rules, json results) {
    const json driver = {
        {"name", "cybelectl"}, {"version", CYBELE_VERSION}, {"rules", std::move(rules)}};
    return dump(
        {{"version", "2.1.0"},
         {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
         {"runs",
          json::array({{{"tool", {{"driver", driver}}}, {"results", std::move(results)}}})}});
}

/// The name of a problem, in words.
json sarif_rule(std::string_view id) {
    std::string words(id);
    std::replace(words.begin(), words.end(), '-', ' ');
    return {{"id", id}, {"shortDescription", {{"text", std::move(words)}}}};
}

/// For Markdown's tables and text.
std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '|' || c == '*' || c == '<' || c == '_') {
            result += '\\';
        }
        result += c;
    }
    return result;
}

} // namespace

std::string_view to_string(Severity severity) {
    constexpr std::array<std::string_view, 3> kWords = {"error", "warning", "note"};
    return kWords.at(static_cast<std::size_t>(severity));
}

std::string text_of(const std::vector<Finding>& findings, FindRule find_rule, bool is_coloured) {
    std::string text;
    for (const Finding& finding : findings) {
        std::string shown = format_text(finding.fault, is_coloured);
        const std::string_view severity = to_string(find_rule(finding.rule)->severity);
        const std::string_view written = finding.fault.is_warning ? "warning:" : "error:";
        const std::size_t at = shown.find(written);
        shown.replace(at, written.size(), fmt::format("{}[{}]:", severity, finding.rule));
        text += shown;
    }
    return text;
}

std::string json_of(const std::vector<FileFindings>& files, FindRule find_rule) {
    json list = json::array();
    for (const FileFindings& file : files) {
        json findings = json::array();
        for (const Finding& finding : *file.findings) {
            findings.push_back(finding_json(finding, find_rule));
        }
        list.push_back({{"file", file.file},
                        {"accepted", file.is_accepted},
                        {"findings", std::move(findings)}});
    }
    return dump({{"format", 1}, {"files", std::move(list)}});
}

std::string sarif_of(const std::vector<FileFindings>& files,
                     std::span<const Rule* const> rules,
                     FindRule find_rule) {
    json described = json::array();
    for (const Rule* rule : rules) {
        described.push_back(sarif_rule(*rule));
    }
    json results = json::array();
    for (const FileFindings& file : files) {
        for (const Finding& finding : *file.findings) {
            results.push_back(sarif_result(
                file.file, finding.fault, finding.rule, find_rule(finding.rule)->severity));
        }
    }
    return sarif_log(std::move(described), std::move(results));
}

std::string sarif_of(const std::vector<Fault>& faults, const std::string& file) {
    json rules = json::array();
    json results = json::array();
    std::set<std::string_view> known;
    for (const Fault& fault : faults) {
        const std::string_view id = fault.id.empty() ? "fault" : std::string_view(fault.id);
        if (known.insert(id).second) {
            rules.push_back(sarif_rule(id));
        }
        const bool has_file = fault.where && !fault.where->file.empty();
        results.push_back(sarif_result(has_file ? fault.where->file : file,
                                       fault,
                                       id,
                                       fault.is_warning ? Severity::kWarning : Severity::kError));
    }
    return sarif_log(std::move(rules), std::move(results));
}

std::string table_of(std::span<const Rule* const> rules) {
    std::string table = "| rule | severity | what | why | fix |\n|---|---|---|---|---|\n";
    for (const Rule* rule : rules) {
        table += fmt::format("| {} | {} | {} | {} | {} |\n",
                             rule->id,
                             to_string(rule->severity),
                             escaped(rule->title),
                             escaped(rule->why),
                             escaped(rule->fix));
    }
    return table;
}

} // namespace cybele::lint
