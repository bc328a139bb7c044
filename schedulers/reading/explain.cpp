// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/explain.hpp"

#include "support/duration.hpp"
#include "support/json.hpp"
#include "support/quote.hpp"
#include "support/size.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cybele::schedulers {
namespace {

using Json = nlohmann::ordered_json;

struct ReaderRow {
    Reader reader;
    std::string_view text;
};
constexpr std::array<ReaderRow, 4> kReaderRows{{{Reader::kSlurm, "Slurm (sbatch)"},
                                                {Reader::kTorque, "TORQUE (qsub)"},
                                                {Reader::kPbspro, "OpenPBS or PBS Pro (qsub)"},
                                                {Reader::kNone, "none: it has no directives"}}};

std::string_view reader_name(Reader reader) {
    return kReaderRows.at(static_cast<std::size_t>(reader)).text;
}

std::string place_text(std::size_t line) {
    return line == 0 ? std::string("    ") : fmt::format("{:4}", line);
}

/// Where the field stands in the script, and how, if a Job writes the pattern in another way.
std::string
line_text(const Explanation& explanation, const std::string& field, const std::string& value) {
    const auto line = explanation.asked.lines.find(field);
    if (line == explanation.asked.lines.end()) {
        return {};
    }
    const bool is_output = field == "output.stdout" || field == "output.stderr";
    const Directive* const directive =
        is_output ? explanation.script.find(field.substr(field.find('.') + 1)) : nullptr;
    const bool is_other = directive != nullptr && directive->value != value;
    return fmt::format(" line {}{}",
                       line->second,
                       is_other ? fmt::format(", written as `{}`", printable(directive->value))
                                : "");
}

} // namespace

Result<Explanation> explain_script(std::string text, const std::string& file, Reader reader) {
    Explanation explanation;
    CYBELE_TRY(explanation.script, read_batch_script(std::move(text), file, reader));
    explanation.asked = what_is_asked(explanation.script);
    explanation.breaks = find_breaks(explanation.script, explanation.asked);
    return explanation;
}

std::vector<std::pair<std::string, std::string>> asked_fields(const Asked& asked) {
    std::vector<std::pair<std::string, std::string>> fields;
    const auto put = [&](const char* field, const std::string& value) {
        if (!value.empty()) {
            fields.emplace_back(field, value);
        }
    };
    const auto count = [](std::uint64_t value) { return value == 0 ? "" : std::to_string(value); };
    const auto size = [](const std::optional<std::uint64_t>& bytes) {
        return bytes ? format_size(*bytes) : "";
    };
    put("name", asked.name);
    put("resources.nodes", count(asked.nodes));
    put("resources.tasks-per-node", count(asked.tasks_per_node));
    put("resources.tasks", count(asked.tasks));
    put("resources.cpus-per-task", count(asked.cpus_per_task));
    put("resources.memory-per-node", size(asked.memory_per_node));
    put("resources.memory-per-cpu", size(asked.memory_per_cpu));
    put("resources.gpus-per-node",
        count(asked.gpus_per_node) + (asked.gpu_type.empty() ? "" : " of " + asked.gpu_type));
    put("resources.time", asked.time ? format_duration(*asked.time) : "");
    put("resources.exclusive", asked.exclusive ? "true" : "");
    put("resources.constraint", fmt::format("{}", fmt::join(asked.constraint, ", ")));
    put("queue", asked.queue);
    put("account", asked.account);
    put("qos", asked.qos);
    put("array", asked.array);
    for (const auto& [id, when] : asked.after) {
        put("after", fmt::format("{}, when {}", id, when));
    }
    put("mail",
        asked.mail_to +
            (asked.mail_on.empty() ? "" : fmt::format(" on {}", fmt::join(asked.mail_on, ", "))));
    put("signal",
        asked.signal_before ? fmt::format("{}, {} before the end",
                                          asked.signal,
                                          format_duration(*asked.signal_before))
                            : "");
    put("workdir", asked.workdir);
    put("output.stdout", asked.standard_output);
    put("output.stderr", asked.standard_error);
    for (const auto& [field, value] : asked.options) {
        put(field.c_str(), value);
    }
    for (const auto& [name, value] : asked.variables) {
        put("environment", fmt::format("{}={}", name, value));
    }
    return fields;
}

std::string explanation_text(const Explanation& explanation) {
    const auto& [script, asked, breaks] = explanation;
    std::string text = fmt::format("{}: read by {}\n\nasks for\n",
                                   printable(script.source.file()),
                                   reader_name(script.reader));
    for (const auto& [field, value] : asked_fields(asked)) {
        text += fmt::format(
            "  {:26} {:24}{}\n", field, printable(value), line_text(explanation, field, value));
        while (text.size() > 1 && text[text.size() - 2] == ' ') {
            text.erase(text.size() - 2, 1);
        }
    }
    if (!asked.remainders.empty()) {
        text += "\na Job has no field for\n";
    }
    for (const Remainder& left : asked.remainders) {
        text += place_text(left.line) + "  " + printable(left.text);
        text += left.because == kNoField ? "\n" : ": " + left.because + "\n";
        text += left.help.empty() ? "" : fmt::format("      help: {}\n", left.help);
    }
    text += breaks.empty() ? "\nbreaks no rule that can be checked by reading\n" : "\nbreaks\n";
    for (const lint::Finding& broken : breaks) {
        text += fmt::format(
            "{}  {} {}\n", place_text(line_of(broken)), broken.rule, broken.fault.message);
        text += fmt::format("      help: {}\n", broken.fault.help);
    }
    if (!breaks.empty()) {
        text += fmt::format("\nmore: cybelectl explain {}\n", breaks.front().rule);
    }
    return text;
}

std::string explanation_json(const Explanation& explanation) {
    const auto& [script, asked, breaks] = explanation;
    Json json;
    json["format"] = 1;
    json["file"] = printable(script.source.file());
    json["reads"] = reader_text(script.reader);
    json["asks"] = Json::array();
    for (const auto& [field, value] : asked_fields(asked)) {
        Json row{{"field", field}, {"value", printable(value)}};
        const auto line = asked.lines.find(field);
        row["line"] = line == asked.lines.end() ? Json(nullptr) : Json(line->second);
        json["asks"].push_back(std::move(row));
    }
    json["left"] = Json::array();
    for (const Remainder& left : asked.remainders) {
        json["left"].push_back({{"line", left.line},
                                {"text", printable(left.text)},
                                {"because", left.because},
                                {"help", left.help}});
    }
    json["breaks"] = Json::array();
    for (const lint::Finding& broken : breaks) {
        json["breaks"].push_back({{"invariant", broken.rule},
                                  {"rule", find_invariant(broken.rule)->title},
                                  {"line", line_of(broken)},
                                  {"what", broken.fault.message},
                                  {"help", broken.fault.help}});
    }
    return json_text(json) + "\n";
}

} // namespace cybele::schedulers
