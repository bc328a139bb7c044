// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/grammar.hpp"
#include "definitions/grammar/header.hpp"
#include "definitions/grammar/lines.hpp"
#include "definitions/grammar/rules.hpp"
#include "definitions/grammar/scan.hpp"
#include "definitions/grammar/sections.hpp"
#include "definitions/grammar/substitute.hpp"
#include "support/find.hpp"
#include "support/other_file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

std::string_view first_line(std::string_view text) {
    return text.substr(0, text.find('\n'));
}

/// Whether Apptainer takes a stage without a header for no stage at all: what it holds leaves
/// no trace in the parsed definition.
bool leaves_no_trace(const std::vector<ParsedSection>& sections) {
    std::map<std::string_view, std::string_view> arguments; // the last one counts
    for (const ParsedSection& parsed : sections) {
        const Section& section = parsed.section;
        if (section.name == "labels") {
            if (!label_lines(section.text).empty()) {
                return false;
            }
            continue;
        }
        if (section.name == "files" || is_app_section(section.name) || !section.text.empty()) {
            return false;
        }
        if (parsed.argument) {
            arguments[section.name] = *parsed.argument;
        }
    }
    return std::ranges::all_of(arguments, [](const auto& entry) { return entry.second.empty(); });
}

void refuse_length(const Error& error, const Origin& origin, Findings& findings) {
    for (const Fault& fault : error.faults()) {
        const std::string_view line = fault.where ? fault.where->text : std::string_view();
        Fault place = origin.fault(fault.where ? fault.where->line : 0, line);
        findings.add("CD007", std::move(place), fault.message, fault.because, fault.help);
    }
}

/// A stage, or nothing where Apptainer passes it over; then findings tell whether it refuses.
std::optional<Stage> parse_stage(const Origin& origin, Findings& findings) {
    auto tokens = scan_sections(origin.stage->text);
    if (!tokens) {
        refuse_length(tokens.error(), origin, findings);
        return std::nullopt;
    }
    Stage stage;
    stage.line = origin.stage->line(0);
    std::vector<ParsedSection> sections;
    const std::size_t known = findings.size();
    bool is_first = true;
    for (const Token& token : *tokens) {
        if (!token.is_section) {
            parse_header(token, origin, stage, findings);
        } else if (auto parsed = parse_section(token, is_first, origin, findings)) {
            sections.push_back(std::move(*parsed));
        }
        is_first = false;
    }
    if (stage.header.empty() && findings.size() == known && leaves_no_trace(sections)) {
        return std::nullopt;
    }
    for (ParsedSection& parsed : sections) {
        stage.sections.push_back(std::move(parsed.section));
    }
    return stage;
}

bool is_distribution(std::string_view name) {
    constexpr std::array<std::string_view, 10> kDistributions = {"ubuntu",
                                                                 "debian",
                                                                 "centos",
                                                                 "fedora",
                                                                 "alpine",
                                                                 "rockylinux",
                                                                 "almalinux",
                                                                 "archlinux",
                                                                 "amazonlinux",
                                                                 "oraclelinux"};
    return contains(kDistributions, name);
}

/// A header above its `Bootstrap:`, which begins the next stage.
bool refuse_header_above(const Stage& stage,
                         const Stage* next,
                         const Fault& place,
                         Findings& findings) {
    if (stage.header.empty() || !stage.sections.empty() || next == nullptr) {
        return false;
    }
    const std::string key = header_spelling(stage.header.front().first);
    findings.add("CD013",
                 place,
                 fmt::format("'{}' stands above 'Bootstrap'", key),
                 "a line that begins with 'Bootstrap:' begins a stage, so what stands above it "
                 "is a stage without an agent",
                 fmt::format("move line {}, 'Bootstrap: {}', above this one",
                             next->line,
                             printable(next->header_value("bootstrap"))));
    return true;
}

void check_agent(const Stage& stage, const Stage* next, const Origin& origin, Findings& findings) {
    Fault place = origin.fault(0, origin.stage->text);
    const bool has_bootstrap = std::ranges::any_of(
        stage.header, [](const auto& entry) { return entry.first == "bootstrap"; });
    if (!has_bootstrap && refuse_header_above(stage, next, place, findings)) {
        return;
    }
    if (!has_bootstrap) {
        place.detail = origin.stage->text.starts_with('%') ? "section" : "header";
        findings.add("CD013",
                     place,
                     "this stage has no header",
                     "a stage begins with 'Bootstrap: AGENT'",
                     "begin it with 'Bootstrap: AGENT' in the first column");
        return;
    }
    const std::string agent = stage.header_value("bootstrap");
    if (agent.empty() || is_agent(agent, origin.dialect)) {
        return;
    }
    place.subject = agent;
    if (const Since* since = agent_since(agent)) {
        findings.add(
            "CD024",
            place,
            fmt::format("{} has no bootstrap agent '{}'", origin.dialect.name(), agent),
            "",
            agent == "dnf"
                ? "write 'yum', which every release has and which runs dnf where it finds it"
                : fmt::format("build it with {} or later", since->describe()));
        return;
    }
    std::vector<std::string_view> names;
    for (const Agent& row : agents()) {
        if (row.since.holds_for(origin.dialect)) {
            names.push_back(row.name);
        }
    }
    const std::string low = lower(agent);
    const std::string near = is_agent(low) ? low : nearest(low, names);
    if (near.empty() && is_distribution(low)) {
        findings.add("CD024",
                     place,
                     fmt::format("'{}' is a distribution, not a bootstrap agent", printable(agent)),
                     "",
                     fmt::format("write 'Bootstrap: docker' and 'From: {}'", low));
        return;
    }
    findings.add("CD024",
                 place,
                 fmt::format("'{}' is not a bootstrap agent", printable(agent)),
                 is_agent(low) ? "the names of agents are lower case" : "",
                 near.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                              : fmt::format("did you mean '{}'?", near));
}

/// What the builder of Apptainer refuses before it builds anything, or once it copies files.
void check_stage(const std::vector<Stage>& stages,
                 std::size_t which,
                 const Origin& origin,
                 Findings& findings) {
    const Stage& stage = stages[which];
    check_agent(stage, which + 1 < stages.size() ? &stages[which + 1] : nullptr, origin, findings);
    for (const Section& section : stage.sections) {
        const FilesOrigin from = files_origin(section);
        if (section.name != "files" || from.kind != FilesOrigin::Kind::kStage) {
            continue;
        }
        const bool is_known = std::ranges::any_of(
            stages, [&](const Stage& other) { return other.name() == from.stage; });
        if (!is_known) {
            std::vector<std::string> names;
            for (std::size_t i = 0; i < which; ++i) {
                names.push_back(stages[i].name());
            }
            const std::vector<std::string_view> known(names.begin(), names.end());
            const std::string near = nearest(from.stage, known);
            Fault place = fault_at(origin.file, section.line, "%files " + section.arguments);
            place.subject = from.stage;
            findings.add("CD018",
                         std::move(place),
                         fmt::format("no stage is named '{}'", printable(from.stage)),
                         "",
                         near.empty() ? "give the stage that has the files the header 'Stage: " +
                                            printable(from.stage) + "', above this one"
                                      : fmt::format("did you mean '{}'?", near));
        }
    }
}

/// One stage before and after its templates are replaced.
void read_stage(const StageText& raw,
                std::string_view file,
                const ParseOptions& options,
                ParseOutcome& outcome,
                Findings& findings) {
    // The text must be valid before its templates are replaced, and after.
    const std::size_t known = findings.size();
    const std::optional<Stage> before = parse_stage({file, &raw, options.dialect}, findings);
    if (!before || findings.size() > known) {
        outcome.definition.text += raw.text;
        return;
    }
    StageText replaced = raw;
    if (has(options.dialect, Feature::kTemplates)) {
        const BuildArguments defaults =
            argument_lines(before->joined("arguments"), options.dialect);
        replaced = substitute(raw,
                              file,
                              {options.arguments, defaults, options.dialect},
                              outcome.used_arguments,
                              findings);
    }
    auto after = parse_stage({file, &replaced, options.dialect}, findings);
    if (!after && findings.size() == known) {
        findings.add("CD026",
                     fault_at(file, raw.line(0), raw.text),
                     "the stage is empty once its templates are replaced",
                     "",
                     "give the arguments that it uses a value");
    }
    if (after) {
        outcome.definition.stages.push_back(std::move(*after));
        outcome.definition.text += replaced.text;
        outcome.texts.push_back(std::move(replaced));
    }
}

} // namespace

ParseOutcome
read_definition(std::string_view text, std::string_view file, const ParseOptions& options) {
    ParseOutcome outcome;
    Findings findings;
    for (const StageText& raw : split_stages(text)) {
        read_stage(raw, file, options, outcome, findings);
    }
    const std::vector<Stage>& stages = outcome.definition.stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        check_stage(stages, i, {file, &outcome.texts[i], options.dialect}, findings);
    }
    if (stages.empty() && findings.empty()) {
        Fault place = fault_at(file, 1, first_line(text));
        place.detail = "empty";
        findings.add("CD026",
                     std::move(place),
                     "the definition file is empty",
                     "it has neither a header nor a section",
                     "begin it with 'Bootstrap: AGENT'");
    }
    const auto other = recognize_file(text, file);
    if (other && other->command != "def check" && !findings.empty()) {
        Findings one;
        one.add("CD005",
                fault_at(file, 1, first_line(text)),
                "this is " + std::string(other->what) + ", not a definition file",
                "a definition file begins with its header",
                help_for_other_file(*other, file));
        findings = std::move(one);
    }
    outcome.refusals = std::move(findings.all());
    return outcome;
}

std::vector<Finding> unused_arguments(const BuildArguments& given,
                                      const ParseOutcome& outcome,
                                      std::string_view text,
                                      std::string_view file) {
    std::vector<Finding> findings;
    const Rule& rule = *find_rule("CD027");
    for (const auto& [name, value] : given) {
        if (outcome.refusals.empty() && !outcome.used_arguments.contains(name)) {
            findings.push_back(
                {"CD027",
                 Fault(ErrorCode::kInput,
                       problem("build-argument-unused",
                               "the build argument '" + printable(name) + "' is used nowhere")
                           .about(name),
                       std::string(rule.why),
                       std::string(rule.fix),
                       fault_at(file, 1, first_line(text)).where),
                 true});
        }
    }
    return findings;
}

Result<void> as_error(const std::vector<Finding>& findings) {
    if (findings.empty()) {
        return {};
    }
    Faults faults;
    for (const Finding& finding : findings) {
        faults.add(finding.fault);
    }
    return fail(faults.take());
}

Result<Definition>
parse_definition(std::string_view text, std::string_view file, const BuildArguments& arguments) {
    ParseOutcome outcome = read_definition(text, file, {arguments, kApptainer});
    CYBELE_CHECK(as_error(outcome.refusals)
                     .map_error(during("reading the definition '" + printable(file) + "'")));
    return std::move(outcome.definition);
}

} // namespace cybele::definitions
