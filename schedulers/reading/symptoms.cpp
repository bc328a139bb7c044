// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/symptoms.hpp"

#include "schedulers/reading/sign_table.hpp"
#include "schedulers/reading/symptom_table.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::schedulers {
namespace {

constexpr const Symptom* find_symptom(std::string_view id) {
    for (const Symptom& symptom : kSymptoms) {
        if (symptom.id == id) {
            return &symptom;
        }
    }
    return nullptr;
}

static_assert(std::ranges::all_of(kSigns, [](const Sign& sign) {
    return find_symptom(sign.symptom) != nullptr;
}));

/// Whether the line has the text; one that ends with a digit, as a complete number: "of 1" is not
/// in "of 16".
bool has_text(std::string_view low, std::string_view text) {
    for (std::size_t at = low.find(text); at != std::string_view::npos;
         at = low.find(text, at + 1)) {
        const std::size_t end = at + text.size();
        if (text.empty() || !is_digit(text.back()) || end == low.size() || !is_digit(low[end])) {
            return true;
        }
    }
    return false;
}

bool shows(const Sign& sign, const std::string& low) {
    return std::ranges::all_of(sign.texts,
                               [&](std::string_view text) { return has_text(low, text); });
}

/// The line, and each exit code in it once more in the one form that the signs have: batch systems
/// and launchers write "Exit_status=137", "exited with code 137", "Exit code:    137".
std::string with_exit_codes(std::string low) {
    constexpr std::string_view kWords[] = {"exit code",
                                           "exitcode",
                                           "exit status",
                                           "exit_status",
                                           "exited with code",
                                           "ended with code",
                                           "exited with status"};
    const std::string line = low;
    if (line == "killed" || line == "killed\r") { // all that a shell says of it in a container
        return low + std::string(kExit137);
    }
    for (const std::string_view word : kWords) {
        for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at)) {
            at += word.size();
            const std::size_t begin = std::min(line.find_first_not_of(" :=", at), line.size());
            const auto end = std::find_if_not(
                line.begin() + static_cast<std::ptrdiff_t>(begin), line.end(), is_digit);
            const std::string code(line.begin() + static_cast<std::ptrdiff_t>(begin), end);
            low += code.empty() || begin == at ? "" : "\x01" + code + "\x02";
        }
    }
    return low;
}

std::size_t texts_in(const Sign& sign) {
    return static_cast<std::size_t>(
        std::ranges::count_if(sign.texts, [](auto text) { return !text.empty(); }));
}

/// Whether the other sign asks for all that this one asks for, and for more.
bool is_closer(const Sign& other, const Sign& sign) {
    return texts_in(other) > texts_in(sign) &&
           std::ranges::all_of(sign.texts, [&](std::string_view text) {
               return contains(other.texts, text) || text.empty();
           });
}

/// A finding and how many lines it takes to be one.
struct Candidate {
    Finding finding;
    std::size_t least = 1;
};

void note(const Sign& sign,
          std::size_t line,
          std::string_view text,
          std::vector<Candidate>& findings) {
    const auto known = std::ranges::find_if(
        findings, [&](const Candidate& each) { return each.finding.symptom->id == sign.symptom; });
    if (known != findings.end()) {
        known->finding.times += 1;
        known->least = std::min(known->least, sign.least);
        return;
    }
    findings.push_back({{find_symptom(sign.symptom), line, 1, std::string(text)}, sign.least});
}

std::vector<std::string_view> log_lines(std::string_view log) {
    std::vector<std::string_view> lines;
    while (!log.empty()) {
        lines.push_back(log.substr(0, log.find('\n')));
        log.remove_prefix(std::min(lines.back().size() + 1, log.size()));
    }
    return lines;
}

/// The line with the exception of a traceback that begins at a line, counted from 1; that line
/// itself where there is none. A launcher may write the rank before each line.
std::size_t exception_of(std::span<const std::string_view> lines, std::size_t begin) {
    const std::string_view head = lines[begin - 1];
    const std::size_t prefix = text::lowered(head).find("traceback (");
    for (std::size_t at = begin; at < lines.size(); ++at) {
        const std::string_view line = lines[at];
        if (line.size() <= prefix || line.substr(0, prefix) != head.substr(0, prefix)) {
            return begin;
        }
        if (line[prefix] != ' ' && line[prefix] != '\r') {
            return at + 1;
        }
    }
    return begin;
}

/// A traceback is named by its last line; not where another symptom says what that line means.
void name_exception(std::span<const std::string_view> lines, std::vector<Finding>& findings) {
    const auto traceback = std::ranges::find_if(
        findings, [](const Finding& each) { return each.symptom->id == "python-traceback"; });
    if (traceback == findings.end()) {
        return;
    }
    const std::size_t last = exception_of(lines, traceback->line);
    const bool is_known = std::ranges::any_of(findings, [&](const Finding& each) {
        return each.line == last && each.symptom != traceback->symptom;
    });
    if (is_known) {
        findings.erase(traceback);
        return;
    }
    traceback->line = last;
    traceback->text = lines[last - 1];
}

} // namespace

std::span<const Symptom> symptoms() {
    return kSymptoms;
}

std::vector<Finding> find_symptoms(std::string_view log, LogPart part) {
    std::vector<Candidate> candidates;
    const std::vector<std::string_view> lines = log_lines(log);
    for (std::size_t line = 1; line <= lines.size(); ++line) {
        const std::string_view text = lines[line - 1];
        const std::string low = with_exit_codes(text::lowered(text));
        std::vector<const Sign*> shown;
        for (const Sign& sign : kSigns) {
            if (shows(sign, low)) {
                shown.push_back(&sign);
            }
        }
        for (const Sign* const sign : shown) {
            if (std::ranges::none_of(shown,
                                     [&](const Sign* other) { return is_closer(*other, *sign); })) {
                note(*sign, line, text, candidates);
            }
        }
    }
    std::vector<Finding> findings;
    for (Candidate& candidate : candidates) {
        if (part == LogPart::kOneMessage || candidate.finding.times >= candidate.least) {
            findings.push_back(std::move(candidate.finding));
        }
    }
    name_exception(lines, findings);
    return findings;
}

std::string findings_text(std::span<const Finding> findings, const std::string& file) {
    if (findings.empty()) {
        return printable(file) + ": no known symptom\n"
                                 "  help: see how the job ended and what it used: cybelectl job "
                                 "status --details ID\n";
    }
    std::string text;
    for (const Finding& finding : findings) {
        text += fmt::format(
            "{}:{}: {}\n  | {}\n  because: {} ({})\n  help: {}\n  more: cybelectl explain {}\n",
            printable(file),
            finding.line,
            finding.symptom->id,
            printable(finding.text),
            finding.symptom->because,
            finding.symptom->source,
            finding.symptom->help,
            finding.symptom->id);
        text += finding.times > 1 ? fmt::format("  {} lines show it\n", finding.times) : "";
    }
    return text;
}

std::string findings_json(std::span<const Finding> findings, const std::string& file) {
    nlohmann::ordered_json json;
    json["format"] = 1;
    json["file"] = printable(file);
    json["symptoms"] = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
        json["symptoms"].push_back({{"symptom", finding.symptom->id},
                                    {"line", finding.line},
                                    {"lines", finding.times},
                                    {"text", printable(finding.text)},
                                    {"because", finding.symptom->because},
                                    {"help", finding.symptom->help},
                                    {"source", finding.symptom->source}});
    }
    return json_text(json) + "\n";
}

} // namespace cybele::schedulers
