// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/grammar.hpp"
#include "definitions/lint/context.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

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

/// What shellcheck says of `{{ name }}`, which is replaced before any shell reads it: constants
/// in tests, braces, words without quotes.
bool is_of_template(const Lint& lint, std::size_t line, int code) {
    constexpr std::array<int, 8> kCodes = {1083, 1054, 2050, 2086, 2157, 2158, 2193, 2194};
    return lint.line(line).find("{{") != std::string_view::npos &&
           std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

/// The shell of a shebang, which may be indented; "" for another language. `sh` without one.
std::string shell_of(std::string_view text) {
    std::string_view first = trim(text.substr(0, text.find('\n')));
    if (!first.starts_with("#!")) {
        return "sh";
    }
    for (const std::string_view name : {"dash", "bash", "ksh"}) {
        if (first.find(name) != std::string_view::npos) {
            return std::string(name);
        }
    }
    return first.ends_with("/sh") || first.find("/sh ") != std::string_view::npos ||
                   first.find("env sh") != std::string_view::npos
               ? "sh"
               : "";
}

/// What shellcheck itself calls an info or a matter of style, by code: its first place.
struct Advice {
    Lint::Spot spot;
    std::string message;
};
using AllAdvice = std::map<int, Advice>;

/// An unquoted variable is a fault wherever a blank gets into it.
bool is_advice(const nlohmann::json& comment, int code) {
    constexpr int kUnquoted = 2086;
    const std::string level = comment.value("level", "");
    return (level == "info" || level == "style") && code != kUnquoted;
}

void check(Lint& lint, const Joined& script, const std::string& program, AllAdvice& advice) {
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
        if (index >= script.lines.size() || is_of_template(lint, script.lines[index], code)) {
            continue;
        }
        const Lint::Spot spot{script.lines[index], comment.value("column", std::size_t{1})};
        std::string message =
            fmt::format("SC{}: {}", code, printable(comment.value("message", "")));
        if (is_advice(comment, code)) {
            advice.try_emplace(code, Advice{spot, std::move(message)});
        } else {
            lint.tell("CD107",
                      spot,
                      std::move(message),
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
    AllAdvice advice;
    for (const Stage& stage : lint.stages()) {
        for (const std::string_view name : kScripts) {
            Joined script = join(stage, name);
            const bool has_own = name == "runscript" || name == "startscript" || name == "test";
            if (const std::string shell = shell_of(script.text); has_own && shell != "sh") {
                script.shell = shell;
            }
            if (name == "environment") {
                script.shell = "bash"; // read by the runtime's own shell, which knows its words
            }
            if (!script.text.empty() && !script.shell.empty()) {
                check(lint, script, program->string(), advice);
            }
        }
    }
    if (advice.empty()) {
        return;
    }
    // One note per file.
    const auto first = advice.begin();
    std::string others;
    for (auto other = std::next(first); other != advice.end(); ++other) {
        others += fmt::format("{}SC{}", others.empty() ? "; also " : ", ", other->first);
    }
    lint.tell("CD110",
              first->second.spot,
              first->second.message + others,
              "shellcheck says so",
              fmt::format("see shellcheck's page of SC{}", first->first));
}

} // namespace cybele::definitions
