// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/context.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Always set when %environment is read or %post runs.
constexpr std::array<std::string_view, 8> kAlwaysSet = {
    "PATH", "HOME", "LANG", "TERM", "PS1", "PWD", "LD_LIBRARY_PATH", "IFS"};
/// What people export for the build alone.
constexpr std::array<std::string_view, 14> kBuildOnly = {"DEBIAN_FRONTEND",
                                                         "LC_ALL",
                                                         "LANG",
                                                         "LANGUAGE",
                                                         "TZ",
                                                         "CC",
                                                         "CXX",
                                                         "FC",
                                                         "CFLAGS",
                                                         "CXXFLAGS",
                                                         "FCFLAGS",
                                                         "LDFLAGS",
                                                         "MAKEFLAGS",
                                                         "HOME"};

template <class List>
bool holds_variable(const List& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_build_variable(std::string_view name) {
    return name.starts_with("APPTAINER_") || name.starts_with("SINGULARITY_") ||
           holds_variable(kAlwaysSet, name);
}

struct Assignment {
    const ScriptCommand* command = nullptr;
    const ScriptWord* word = nullptr;
    std::string name;
    std::string value;
    bool is_exported = false;
};

/// `NAME=value` and `export NAME=value` that are commands of their own.
std::vector<Assignment> assignments(const Script& script) {
    std::vector<Assignment> found;
    for (const ScriptCommand& command : script.commands) {
        const bool exports = command.program() == "export";
        const bool is_alone =
            std::all_of(command.words.begin(), command.words.end(), [](const ScriptWord& word) {
                return !assigned_name(word.text).empty();
            });
        for (const ScriptWord& word : command.words) {
            const std::string_view name = assigned_name(word.text);
            if (!name.empty() && (exports || is_alone)) {
                found.push_back({&command,
                                 &word,
                                 std::string(name),
                                 word.text.substr(name.size() + 1),
                                 exports});
            }
        }
    }
    return found;
}

Names names_of(const std::vector<Script>& scripts) {
    Names names;
    for (const Script& script : scripts) {
        for (const Assignment& assignment : assignments(script)) {
            names.insert(assignment.name);
        }
    }
    return names;
}

std::string unquoted(std::string value) {
    std::erase(value, '"');
    return value;
}

/// `…:$NAME` and `$NAME:…` of a variable that may be unset, or an empty element as written.
void search_path(Lint& lint, const Script& script, const Assignment& assignment) {
    const std::string value = unquoted(assignment.value);
    const bool is_path = assignment.name.ends_with("PATH") && assignment.name != "PATH" &&
                         assignment.name != "MANPATH";
    if (!is_path) {
        return;
    }
    const std::string plain = "$" + assignment.name;
    const std::string braced = "${" + assignment.name + "}";
    const bool joins = value.ends_with(":" + plain) || value.ends_with(":" + braced) ||
                       value.starts_with(plain + ":") || value.starts_with(braced + ":");
    const bool is_empty =
        value.find("::") != std::string::npos || value.starts_with(':') || value.ends_with(':');
    if (joins || is_empty) {
        lint.tell("CD201",
                  *script.section,
                  *assignment.word,
                  fmt::format("'{}' gets an empty element", assignment.name),
                  joins ? fmt::format("write NEW${{{0}:+:${0}}}", assignment.name)
                        : "remove the colon");
    }
}

void blanks(Lint& lint, const Script& script) {
    for (const ScriptCommand& command : script.commands) {
        if (command.program() != "export") {
            continue;
        }
        for (std::size_t i = command.program_index() + 2; i < command.words.size(); ++i) {
            const ScriptWord& word = command.words[i];
            const bool follows = !assigned_name(command.words[i - 1].text).empty();
            if (follows && assigned_name(word.text).empty() && word.text.front() != '<' &&
                word.text.front() != '>') {
                lint.tell(
                    "CD209",
                    *script.section,
                    word,
                    fmt::format("'{}' is not a part of the value before it", printable(word.text)));
            }
        }
    }
}

bool exports_all(const Script& script) {
    return std::any_of(script.commands.begin(), script.commands.end(), [](const auto& command) {
        return command.program() == "set" && command.has_word("-a");
    });
}

/// `export NAME` without a value.
bool is_exported_later(const Script& script, std::string_view name) {
    return std::any_of(script.commands.begin(), script.commands.end(), [&](const auto& command) {
        return command.program() == "export" && command.has_word(name);
    });
}

void environment_value(Lint& lint,
                       const Script& script,
                       const Assignment& assignment,
                       const Names& known) {
    const Section& section = *script.section;
    if (!assignment.is_exported && !is_exported_later(script, assignment.name) &&
        !exports_all(script)) {
        lint.tell("CD202",
                  section,
                  *assignment.word,
                  fmt::format("'{}' is not exported", assignment.name),
                  fmt::format("write 'export {}=…'", assignment.name));
    }
    if (runs_command(assignment.value)) {
        lint.tell("CD203",
                  section,
                  *assignment.word,
                  fmt::format("'{}' is computed at every start", assignment.name));
    }
    for (const std::string& used : used_names(assignment.value)) {
        if (used != assignment.name && !known.contains(used) && !is_build_variable(used)) {
            lint.tell("CD204",
                      section,
                      *assignment.word,
                      fmt::format("'${}' is set by nothing that stands here", used));
        }
    }
    if (assignment.name == "DEBIAN_FRONTEND") {
        lint.tell("CD207", section, *assignment.word, "DEBIAN_FRONTEND reaches the users");
    }
}

void environment(Lint& lint, const Script& script, const Names& known) {
    for (const Assignment& assignment : assignments(script)) {
        environment_value(lint, script, assignment, known);
        search_path(lint, script, assignment);
    }
    blanks(lint, script);
    for (const ScriptCommand& command : script.commands) {
        const std::string program = command.program();
        if (program == "source") {
            lint.tell(
                "CD205", *script.section, command.words.front(), "'source' is no word of POSIX sh");
        } else if (program == "exit" || (program == "set" && !command.has_word("-a"))) {
            lint.tell("CD206",
                      *script.section,
                      command.words.front(),
                      fmt::format("'{}' runs at every start of the container", program));
        }
    }
}

/// What %post uses before it sets it, although only %environment has it.
void used_in_post(Lint& lint, const Script& script, const Names& environment) {
    Names set;
    Names told;
    for (const ScriptCommand& command : script.commands) {
        for (const ScriptWord& word : command.words) {
            for (const std::string& used : used_names(word.text)) {
                if (environment.contains(used) && !set.contains(used) &&
                    !holds_variable(kAlwaysSet, used) && told.insert(used).second) {
                    lint.tell(
                        "CD210", *script.section, word, fmt::format("'${}' is empty here", used));
                }
            }
            if (const auto name = assigned_name(word.text); !name.empty()) {
                set.emplace(name);
            }
        }
    }
}

void exports_of_post(Lint& lint, const Script& script, const Names& environment) {
    for (const Assignment& assignment : assignments(script)) {
        search_path(lint, script, assignment);
        const std::string& text = script.section->text;
        const bool is_used = text.find("$" + assignment.name) != std::string::npos ||
                             text.find("${" + assignment.name) != std::string::npos;
        if (assignment.is_exported && !is_used && !environment.contains(assignment.name) &&
            !holds_variable(kBuildOnly, assignment.name) && assignment.name != "PATH") {
            lint.tell("CD208",
                      *script.section,
                      *assignment.word,
                      fmt::format("'{}' is gone when %post ends", assignment.name));
        }
    }
    blanks(lint, script);
}

void python(Lint& lint, const Stage& stage, const Names& environment) {
    for (const Script& script : scripts_of(stage, {"post"})) {
        for (const ScriptCommand& command : script.commands) {
            const bool installs = (command.program() == "pip" || command.program() == "pip3") &&
                                  command.has_word("install");
            if (installs && !environment.contains("PYTHONNOUSERSITE")) {
                lint.tell("CD211",
                          *script.section,
                          command.words.front(),
                          "Python packages of the user come before these");
                return;
            }
        }
    }
}

} // namespace

void lint_environment(Lint& lint) {
    for (const Stage& stage : lint.stages()) {
        const auto scripts = scripts_of(stage, {"environment", "appenv"});
        const Names names = names_of(scripts);
        for (const Script& script : scripts) {
            environment(lint, script, names);
        }
        for (const Script& script : scripts_of(stage, {"post"})) {
            exports_of_post(lint, script, names);
            used_in_post(lint, script, names_of(scripts_of(stage, {"environment"})));
        }
        python(lint, stage, names);
    }
}

} // namespace cybele::definitions
