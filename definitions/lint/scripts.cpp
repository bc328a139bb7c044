// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/grammar.hpp"
#include "definitions/lint/context.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

bool is_quiet_source(const std::string& program) {
    constexpr std::array<std::string_view, 4> kNeverFail = {"echo", "printf", "yes", "true"};
    return std::find(kNeverFail.begin(), kNeverFail.end(), program) != kNeverFail.end();
}

/// The words of a section's argument, without a comment.
std::vector<std::string> argument_words(const Section& section) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : section.arguments.substr(0, section.arguments.find('#')) + " ") {
        if (c != ' ' && c != '\t') {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::move(word));
            word.clear();
        }
    }
    return words;
}

void interpreter(Lint& lint, const Section& section) {
    const auto words = argument_words(section);
    const auto option = std::find(words.begin(), words.end(), "-c");
    if (option != words.end() && option + 1 == words.end()) {
        lint.tell("CD109", {section.line, 0}, fmt::format("'%{} -c' names no shell", section.name));
    } else if (option != words.end()) {
        const bool stops = std::any_of(option + 2, words.end(), [](const std::string& word) {
            return word.starts_with('-') && word.find('e') != std::string::npos;
        });
        if (!stops) {
            lint.tell("CD101",
                      {section.line, 0},
                      fmt::format("'{}' goes on after a failing command", printable(*(option + 1))),
                      "",
                      fmt::format("write '%{} -c {} -eu'", section.name, *(option + 1)));
        }
    }
    if (section.text.starts_with("#!") && option == words.end() &&
        section.text.substr(0, section.text.find('\n')).find("/sh") == std::string::npos) {
        lint.tell("CD102", {section.line + 1, 0}, "this shebang is a comment");
    }
}

void shebang(Lint& lint, const Section& section) {
    std::string_view rest = section.text;
    std::size_t index = 0;
    while (!rest.empty() && trim(rest.substr(0, rest.find('\n'))).empty() &&
           rest.find('\n') != std::string_view::npos) {
        rest.remove_prefix(rest.find('\n') + 1);
        ++index;
    }
    if (index > 0 && trim(rest).starts_with("#!")) {
        lint.tell("CD103", {section.line + 1 + index, 0}, "this shebang is not on the first line");
    }
}

void failures(Lint& lint, const Script& script) {
    const auto& commands = script.commands;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        const ScriptCommand& command = commands[i];
        if (command.words.empty() || command.joined == Join::kAnd || command.joined == Join::kOr) {
            continue;
        }
        const bool is_test = command.program() == "[" || command.program() == "test" ||
                             command.program() == "command" || command.program() == "cd";
        if (command.join == Join::kPipe && !is_quiet_source(command.program())) {
            lint.tell("CD104",
                      *script.section,
                      command.words.front(),
                      fmt::format("a failure of '{}' in this pipeline is not seen",
                                  printable(command.program())));
        } else if (command.join == Join::kAnd && !is_test && command.joined == Join::kEnd) {
            lint.tell("CD104",
                      *script.section,
                      command.words.front(),
                      fmt::format("a failure of '{}' before && does not stop the build",
                                  printable(command.program())));
        }
    }
}

void exits(Lint& lint, const Script& script) {
    for (const ScriptCommand& command : script.commands) {
        if (command.program() == "exit" &&
            (command.words.size() == 1 || command.words.back().text == "0")) {
            lint.tell(
                "CD105",
                *script.section,
                command.words.front(),
                fmt::format("what follows in '%{}' is skipped from here on", script.section->name));
        }
    }
}

void umask(Lint& lint, const Stage& stage) {
    const auto posts = scripts_of(stage, {"post"});
    const bool sets = std::any_of(posts.begin(), posts.end(), [](const Script& script) {
        return std::any_of(script.commands.begin(), script.commands.end(), [](const auto& command) {
            return command.program() == "umask";
        });
    });
    if (!posts.empty() && !sets) {
        lint.tell("CD108", {posts.front().section->line, 0}, "%post sets no umask");
    }
}

void runscript(Lint& lint, const Script& script) {
    const std::string& text = script.section->text;
    if (script.commands.empty() || text.starts_with("#!")) {
        return; // a shebang of its own may be another language
    }
    const bool passes =
        text.find("$@") != std::string::npos || text.find("$1") != std::string::npos;
    const bool executes = text.find("exec ") != std::string::npos;
    if (passes && executes) {
        return;
    }
    lint.tell("CD106",
              *script.section,
              script.commands.back().words.front(),
              !executes && !passes ? "%runscript ends without exec and without \"$@\""
              : !executes          ? "%runscript ends without exec"
                                   : "%runscript drops the arguments it is given");
}

} // namespace

void lint_scripts(Lint& lint) {
    for (const Stage& stage : lint.stages()) {
        for (const Section& section : stage.sections) {
            if (section.name == "post" || section.name == "pre" || section.name == "setup") {
                interpreter(lint, section);
            }
            if (section.name == "runscript" || section.name == "startscript" ||
                section.name == "test") {
                shebang(lint, section);
            }
        }
        for (const Script& script : scripts_of(stage, {"post", "appinstall"})) {
            failures(lint, script);
            exits(lint, script);
        }
        for (const Script& script : scripts_of(stage, {"runscript", "apprun"})) {
            runscript(lint, script);
        }
        umask(lint, stage);
    }
}

} // namespace cybele::definitions
