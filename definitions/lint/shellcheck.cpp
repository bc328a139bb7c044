// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/context.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::definitions {
namespace {

/// Without meaning here: no shebang, sourced files, `cd` without `||` under -e, names that other
/// sections set or use.
constexpr std::string_view kExcluded = "SC1090,SC1091,SC2034,SC2148,SC2154,SC2164";
constexpr std::chrono::milliseconds kLimit{20000};

/// The scripts of one name in a stage as the reference joins them, with each line's place.
struct Joined {
    std::string text;
    std::vector<std::size_t> lines;
    std::string shell = "sh";
};

Joined join(const Stage& stage, std::string_view name) {
    Joined joined;
    for (const Section& section : stage.sections) {
        if (section.name != name) {
            continue;
        }
        if (section.arguments.find("bash") != std::string::npos) {
            joined.shell = "bash";
        }
        joined.text += section.text;
        std::size_t index = 0;
        for (const char c : section.text) {
            if (c == '\n') {
                joined.lines.push_back(section.line + 1 + index++);
            }
        }
    }
    return joined;
}

void check(Lint& lint, const Joined& script, const std::string& program) {
    Command command;
    command.argv = {program,
                    "--shell=" + script.shell,
                    "--format=json1",
                    "--exclude=" + std::string(kExcluded),
                    "-"};
    command.input = script.text;
    command.limit = kLimit;
    const auto outcome = run_process(command);
    if (!outcome) {
        return; // advice only: a definition is judged without it as well
    }
    const auto answer = nlohmann::json::parse(outcome->output, nullptr, false);
    if (answer.is_discarded() || !answer.contains("comments")) {
        return;
    }
    for (const auto& comment : answer["comments"]) {
        const auto index = comment.value("line", std::size_t{1}) - 1;
        const int code = comment.value("code", 0);
        if (index < script.lines.size()) {
            lint.tell("CD107",
                      {script.lines[index], comment.value("column", std::size_t{1})},
                      fmt::format("SC{}: {}", code, printable(comment.value("message", ""))),
                      "shellcheck says so",
                      fmt::format("see shellcheck's page of SC{}", code));
        }
    }
}

} // namespace

void lint_shellcheck(Lint& lint) {
    const auto& program = lint.options().shellcheck;
    if (!program) {
        return;
    }
    constexpr std::array<std::string_view, 7> kScripts = {
        "pre", "setup", "post", "environment", "runscript", "startscript", "test"};
    for (const Stage& stage : lint.stages()) {
        for (const std::string_view name : kScripts) {
            const Joined script = join(stage, name);
            const bool is_foreign =
                script.text.starts_with("#!") &&
                script.text.substr(0, script.text.find('\n')).find("sh") == std::string::npos;
            if (!script.text.empty() && !is_foreign) {
                check(lint, script, program->string());
            }
        }
    }
}

} // namespace cybele::definitions
