// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/grammar.hpp"
#include "definitions/lint/context.hpp"
#include "definitions/lint/knowledge.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

/// Programs that do not fail, or whose failure is an answer.
constexpr std::array<std::string_view, 11> kNeverFail = {
    "echo", "printf", "yes", "true", ":", "ls", "uname", "lsb_release", "nproc", "export", "set"};
/// Filters of their input: they fail only where a file cannot be read.
constexpr std::array<std::string_view, 8> kFilters = {
    "tr", "sort", "uniq", "cut", "sed", "rev", "tac", "wc"};
/// What a pipeline ends with whose failure is meant to be ignored.
constexpr std::array<std::string_view, 2> kIgnores = {"true", ":"};
constexpr std::array<std::string_view, 13> kTests = {"[",
                                                     "[[",
                                                     "test",
                                                     "command",
                                                     "cd",
                                                     "which",
                                                     "type",
                                                     "hash",
                                                     "grep",
                                                     "egrep",
                                                     "id",
                                                     "true",
                                                     ":"};
/// Programs that end with an error themselves when their input is empty or cut off.
constexpr std::array<std::string_view, 25> kNoticesLoss = {
    "tar",    "cpio",      "bzcat",     "xzcat",  "zstd",  "unzstd",  "zstdcat",
    "unlzma", "pigz",      "unpigz",    "gunzip", "gzip",  "bunzip2", "bzip2",
    "unxz",   "xz",        "zcat",      "funzip", "unzip", "apt-key", "gpg",
    "gpg2",   "sha256sum", "sha512sum", "md5sum"};

/// In the middle of a pipeline, so that its input is what came before.
bool is_filter(const ScriptCommand& command) {
    return command.joined == Join::kPipe && contains(kFilters, command.program());
}

/// grep without a line to print ends with 1, too; the end of the pipeline is what -e looks at.
bool is_loss_seen(const ScriptCommand& reader) {
    const std::string program = reader.program();
    return contains(kNoticesLoss, program) ||
           (program.ends_with("grep") && reader.join != Join::kPipe);
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

/// Whether `set -e` comes before the first command that may fail.
bool begins_with_errexit(const Section& section) {
    for (const ScriptCommand& command : script_commands(section.text)) {
        const std::string program = command.program();
        const bool is_option = program == "set" || program == "shopt";
        for (std::size_t i = 1; program == "set" && i < command.words.size(); ++i) {
            const std::string& word = command.words[i].text;
            if (word == "errexit" ||
                (word.starts_with('-') && word.find('e') != std::string::npos)) {
                return true;
            }
        }
        if (!is_option && !program.empty() && !contains(kNeverFail, program)) {
            return false;
        }
    }
    return false;
}

/// Whether the script is one list, whose result is the script's own.
bool is_one_list(const Section& section) {
    const std::vector<ScriptCommand> commands = script_commands(section.text);
    return std::ranges::none_of(commands, [&](const ScriptCommand& command) {
        return command.is_nested || (command.join == Join::kEnd && &command != &commands.back());
    });
}

void interpreter(Lint& lint, const Section& section) {
    const auto words = argument_words(section);
    const auto option = std::ranges::find(words, "-c");
    if (option != words.end() && option + 1 == words.end()) {
        lint.tell("CD109", {section.line, 0}, fmt::format("'%{} -c' names no shell", section.name));
    } else if (option != words.end()) {
        const bool stops = std::any_of(option + 2, words.end(), [](const std::string& word) {
            return word.starts_with('-') && word.find('e') != std::string::npos;
        });
        if (!stops && !begins_with_errexit(section) && !is_one_list(section)) {
            lint.tell(
                "CD101",
                {section.line, 0},
                fmt::format("'{}' continues after a failing command", printable(*(option + 1))),
                "",
                fmt::format("write '%{} -c {} -e'", section.name, *(option + 1)));
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
    const std::string_view first = trim(rest.substr(0, rest.find('\n')));
    // /bin/sh runs the script without one, too.
    const bool is_sh = first.ends_with("/sh") || first.ends_with("/env sh");
    if (index > 0 && first.starts_with("#!") && !is_sh) {
        lint.tell("CD103", {section.line + 1 + index, 0}, "this shebang is not on the first line");
    }
}

/// The commands joined by `|`, `&&` and `||` that begin with `first`: one behind the last.
std::size_t chain_end(const std::vector<ScriptCommand>& commands, std::size_t first) {
    std::size_t last = first;
    while (last + 1 < commands.size() && commands[last].join != Join::kEnd) {
        ++last;
    }
    return last + 1;
}

bool has_alternative(const std::vector<ScriptCommand>& commands,
                     std::size_t first,
                     std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
        if (commands[i].join == Join::kOr) {
            return true;
        }
    }
    return false;
}

/// Tells of the first command of an && list that may fail; the last one's failure is seen.
void list_failure(Lint& lint, const Script& script, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i + 1 < end; ++i) {
        const ScriptCommand& command = script.commands[i];
        const std::string program = command.program();
        // A file that `.` does not find ends the shell.
        if (!contains(kNeverFail, program) && !program.empty() && program != ".") {
            lint.tell("CD104",
                      *script.section,
                      command.words.front(),
                      fmt::format("a failure of '{}' before && does not stop the build",
                                  printable(program)));
            return;
        }
    }
}

/// `is_last`: the script's result is the one of the last command, which -e looks at.
void failures(Lint& lint, const Script& script, bool is_last) {
    const auto& commands = script.commands;
    const bool has_pipefail = script.section->text.find("pipefail") != std::string::npos;
    bool stops = true;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        const ScriptCommand& command = commands[i];
        const std::string program = command.words.empty() ? std::string() : command.program();
        if (program == "set" && (command.has_word("+e") || command.has_word("-e"))) {
            stops = command.has_word("-e");
        }
        if (!stops || program.empty() || command.is_condition || command.joined == Join::kAnd ||
            command.joined == Join::kOr) {
            continue;
        }
        const std::size_t end = chain_end(commands, i);
        const bool has_next = command.join != Join::kEnd && i + 1 < commands.size();
        if (command.join == Join::kPipe && has_next && !has_pipefail &&
            !contains(kNeverFail, program) && !is_filter(command) &&
            !is_loss_seen(commands[i + 1]) && !has_alternative(commands, i, end) &&
            !contains(kIgnores, commands[i + 1].program()) &&
            !is_interpreter(commands[i + 1].program())) {
            lint.tell(
                "CD104",
                *script.section,
                command.words.front(),
                fmt::format("a failure of '{}' in this pipeline is not seen", printable(program)));
        } else if (command.join == Join::kAnd && command.joined == Join::kEnd && has_next &&
                   !contains(kTests, program) && !has_alternative(commands, i, end) &&
                   !commands[end - 1].ends_group && !(is_last && end == commands.size())) {
            list_failure(lint, script, i, end);
        }
    }
}

/// `|| exit` hands on the failure; what nothing follows is skipped by nothing.
void exits(Lint& lint, const Script& script, bool is_last) {
    for (std::size_t i = 0; i < script.commands.size(); ++i) {
        const ScriptCommand& command = script.commands[i];
        const bool is_bare = command.words.size() == 1;
        const bool ends_well =
            command.program() == "exit" &&
            ((is_bare && command.joined != Join::kOr) || command.words.back().text == "0");
        if (ends_well && !(is_last && i + 1 == script.commands.size())) {
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
    const bool sets = std::ranges::any_of(posts, [](const Script& script) {
        return std::ranges::any_of(
            script.commands, [](const auto& command) { return command.program() == "umask"; });
    });
    if (!posts.empty() && !sets) {
        lint.tell("CD108", {posts.front().section->line, 0}, "%post sets no umask");
    }
}

/// Programs that only print or end: they need neither arguments nor signals.
constexpr std::array<std::string_view, 9> kPrinters = {
    "echo", "printf", "cat", "true", "false", "exit", "sleep", ":", "help"};

/// `$@`, `$*`, `$#`, `$1` …, with braces or without.
bool uses_arguments(std::string_view text) {
    for (std::size_t at = text.find('$'); at != std::string_view::npos;
         at = text.find('$', at + 1)) {
        const std::size_t name = text.find_first_not_of('{', at + 1);
        if (name != std::string_view::npos && name <= at + 2 &&
            std::string_view("@*#123456789").find(text[name]) != std::string_view::npos) {
            return true;
        }
    }
    return false;
}

/// Whether a command starts a program, which an exec could replace the shell by.
bool starts_program(const ScriptCommand& command) {
    constexpr std::array<std::string_view, 14> kOfTheShell = {"cd",
                                                              "export",
                                                              "source",
                                                              ".",
                                                              "unset",
                                                              "alias",
                                                              "set",
                                                              "module",
                                                              "[",
                                                              "[[",
                                                              "test",
                                                              "for",
                                                              "case",
                                                              ""};
    const std::string program = command.program();
    const bool is_activation = program.ends_with("conda") && command.has_word("activate");
    return !contains(kPrinters, program) && !contains(kOfTheShell, program) && !is_activation;
}

/// Whether a command only follows the program that the script is about: words, and what cleans up.
bool comes_after_program(const ScriptCommand& command) {
    constexpr std::array<std::string_view, 6> kClosers = {
        "sync", "wait", "sleep", "rm", "kill", "exit"};
    return contains(kPrinters, command.program()) || contains(kClosers, command.program());
}

void runscript(Lint& lint, const Script& script) {
    const std::string& text = script.section->text;
    const std::string_view first = trim(std::string_view(text).substr(0, text.find('\n')));
    const bool starts = std::ranges::any_of(script.commands, starts_program);
    if (!starts || first.starts_with("#!")) {
        return; // a shebang of its own may be another language
    }
    const bool passes = uses_arguments(text);
    // exec replaces a shell by a program, not by a group, by what a keyword measures, by words, or
    // by what a loop repeats.
    const ScriptCommand& last = script.commands.back();
    const bool prints_last = comes_after_program(last);
    const bool repeats = last.is_nested && trim(text).ends_with("done");
    const bool cannot_exec =
        last.ends_group || last.words.front().text == "time" || prints_last || repeats;
    const bool executes =
        cannot_exec || std::ranges::any_of(script.commands, [](const auto& command) {
            return std::ranges::any_of(command.words,
                                       [](const auto& word) { return word.text == "exec"; });
        });
    const bool is_pipeline = last.joined == Join::kPipe; // exec replaces no pipe
    if ((passes && executes) || is_pipeline) {
        return; // a script that ends with its own words has no program to replace it
    }
    lint.tell("CD106",
              *script.section,
              last.words.front(),
              fmt::format("%{} {}",
                          script.section->name,
                          !executes && !passes ? "ends without exec and without \"$@\""
                          : !executes          ? "ends without exec"
                                               : "drops the arguments it is given"));
}

/// Whether a shell runs the section.
bool is_shell_script(const Section& section) {
    const std::string_view first =
        trim(std::string_view(section.text).substr(0, section.text.find('\n')));
    const std::string& other = section.arguments;
    return (!first.starts_with("#!") || first.find("sh") != std::string_view::npos) &&
           (other.find("-c") == std::string::npos || other.find("sh") != std::string::npos);
}

/// The sections of one name are one script.
void open_documents(Lint& lint, const Stage& stage) {
    for (const std::string_view name :
         {"pre", "setup", "post", "environment", "runscript", "startscript", "test"}) {
        const bool is_script = std::ranges::none_of(stage.sections, [&](const Section& own) {
            return own.name == name && !is_shell_script(own);
        });
        const auto open = is_script ? open_document(stage.joined(name)) : std::nullopt;
        std::size_t line = open ? open->line : 0;
        for (const Section& section : stage.sections) {
            const auto lines = static_cast<std::size_t>(
                std::count(section.text.begin(), section.text.end(), '\n'));
            if (section.name != name || !open) {
                continue;
            }
            if (line < lines || &section == &stage.sections.back()) {
                lint.tell(
                    "CD111",
                    {section.line + 1 + line, 0},
                    fmt::format("no line ends the here-document '{}'", printable(open->delimiter)),
                    "",
                    fmt::format("end it with a line that is '{}', without blanks",
                                printable(open->delimiter)));
                break;
            }
            line -= lines;
        }
    }
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
        const std::vector<Script> builds = scripts_of(stage, {"post", "appinstall"});
        for (const Script& script : builds) {
            const bool is_last = &script == &builds.back();
            failures(lint, script, is_last);
            exits(lint, script, is_last);
        }
        for (const Script& script : scripts_of(stage, {"runscript", "apprun"})) {
            runscript(lint, script);
        }
        open_documents(lint, stage);
        umask(lint, stage);
    }
}

} // namespace cybele::definitions
