// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/typed_body.hpp"

#include "schedulers/reading/script_shell.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cybele::schedulers {
namespace {

/// What prepares a launch, cleans up after it or prints something.
constexpr std::string_view kSetupPrograms =
    " module ml export cd echo source . conda mamba micromamba date mkdir ulimit set unset "
    "hostname "
    "pwd exit printf nvidia-smi rocm-smi sleep whoami which type command uname env printenv lscpu "
    "free df ls cat rm cp mv ln touch chmod umask shopt true : test [ [[ spack nproc tar rsync "
    "declare typeset readonly alias basename dirname head tail wc hash pip pip3 ";
/// Words of the shell, not programs, which a set-up before a launch cannot have.
constexpr std::string_view kShellWords = " shift break continue let local return ";
/// What only passes lines on, between pipes.
constexpr std::string_view kFilters = " grep egrep fgrep sed awk sort uniq cut tr tee head tail ";
/// What is not one launch, whatever it starts.
constexpr std::string_view kOtherPrograms =
    " for while until case select function do done esac { } wait trap eval coproc "
    "sbatch qsub parallel xargs docker podman shifter ";

constexpr std::string_view kFunction = "it defines a function";
constexpr std::string_view kPart = "it is a part of a function, a subshell or an array";

bool is_in_list(std::string_view list, std::string_view word) {
    return !word.empty() && word.find(' ') == std::string_view::npos &&
           list.find(" " + std::string(word) + " ") != std::string_view::npos;
}

/// What a command runs, after the words of a condition.
std::string_view program_of_command(const ShellCommand& command, bool& is_conditional) {
    constexpr std::array<std::string_view, 6> kConditions{"if", "then", "elif", "else", "fi", "!"};
    const auto& words = command.words;
    std::size_t at = 0;
    while (at < words.size() && contains(kConditions, words[at].raw)) {
        is_conditional = true;
        ++at;
    }
    ShellCommand rest;
    rest.words.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    const std::string_view program = rest.program();
    const auto found = std::ranges::find(words, program, &ShellWord::text);
    return found == words.end() ? std::string_view{} : std::string_view(found->text);
}

/// `eval "$(conda shell.bash hook)"` and its like.
bool is_hook(const ShellCommand& command) {
    return command.program() == "eval" && command.words.size() == 2 &&
           command.words[1].text.find("$(") == 0 &&
           command.words[1].text.find(" shell.bash hook") != std::string::npos;
}

/// Whether a line reads the script's arguments, or with `0` its path.
bool reads_parameter(std::string_view line, std::string_view names) {
    const auto start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos || line[start] == '#') {
        return false;
    }
    for (auto at = line.find('$'); at != std::string_view::npos; at = line.find('$', at + 1)) {
        std::string_view rest = line.substr(at + 1);
        rest.remove_prefix(rest.starts_with('{') ? 1 : 0);
        if (!rest.empty() && names.find(rest.front()) != std::string_view::npos) {
            return true;
        }
    }
    return false;
}

bool reads_arguments(std::string_view line) {
    return reads_parameter(line, "123456789@*#");
}

bool reads_path(std::string_view line) {
    const auto start = line.find_first_not_of(" \t");
    const bool is_comment = start == std::string_view::npos || line[start] == '#';
    return !is_comment &&
           (reads_parameter(line, "0") || line.find("BASH_SOURCE") != std::string_view::npos);
}

/// Lines from `begin` to `end` without blank lines and comments at their end.
std::string text_of_lines(const BatchScript& script, std::size_t begin, std::size_t end) {
    const auto is_text = [&](std::size_t line) {
        const std::string& text = script.lines[line - 1];
        const auto start = text.find_first_not_of(" \t");
        return start != std::string::npos && text[start] != '#';
    };
    while (end > begin + 1 && !is_text(end - 1)) {
        --end;
    }
    std::string text;
    for (std::size_t line = begin; line < end; ++line) {
        text += script.lines[line - 1] + "\n";
    }
    return text;
}

/// Commands on one line, or with an operator between them, are one statement.
std::vector<Statement> statements_of(const BatchScript& script) {
    std::vector<Statement> statements;
    std::vector<std::size_t> begins;
    const ShellCommand* last = nullptr;
    for (const ShellCommand& command : script.commands) {
        const bool goes_on = last != nullptr && (last->after != "\n" || last->line == command.line);
        if (!goes_on) {
            statements.emplace_back();
            begins.push_back(command.line);
        }
        statements.back().commands.push_back(&command);
        last = &command;
    }
    begins.push_back(script.lines.size() + 1);
    for (std::size_t index = 0; index < statements.size(); ++index) {
        statements[index].text = text_of_lines(script, begins[index], begins[index + 1]);
    }
    return statements;
}

bool is_read_by_bash(const BatchScript& script) {
    const std::string shell = shell_name_of(script);
    return shell == "bash" || shell == "zsh";
}

bool has_redirection_of_bash(const ShellCommand& command) {
    return std::ranges::any_of(command.words,
                               [](const ShellWord& word) { return word.raw.starts_with("&>"); });
}

/// `NAME=(`, alone in its line, and the words up to `)`.
bool is_array_word(const Statement& statement, const ShellCommand& command) {
    const ShellCommand& first = *statement.commands.front();
    const ShellCommand& last = *statement.commands.back();
    const bool is_array = first.words.size() == 1 && first.words[0].raw.ends_with("=") &&
                          first.before.empty() && first.after == "(" && last.after == "\n";
    const bool is_closed = statement.commands.size() == 2 && last.before == "(";
    return is_array && (is_closed || statement.commands.size() == 1) &&
           (&command == &first || &command == &last);
}

bool is_plain_operator(std::string_view text) {
    return text.empty() || text == "\n" || text == ";" || text == "&&" || text == "||" ||
           text == "|";
}

/// What starts the command in a way that no typed launch has; empty: nothing does.
std::string
odd_start(const BatchScript& script, const Statement& statement, const ShellCommand& command) {
    if (!is_array_word(statement, command) &&
        (!is_plain_operator(command.before) || !is_plain_operator(command.after))) {
        const auto& odd = is_plain_operator(command.after) ? command.before : command.after;
        if (odd == "(" || odd == ")") {
            const std::string& last = command.words.back().raw;
            const bool is_array = !last.empty() && last.back() == '=';
            const bool is_function = command.after == "(" && command.words.size() == 1;
            return std::string(is_array      ? "it sets an array among other words"
                               : is_function ? kFunction
                                             : kPart);
        }
        return "`" + odd + "` starts it in a way that no typed launch has";
    }
    return !is_read_by_bash(script) && has_redirection_of_bash(command)
               ? "`&>` starts it in the background where sh reads the script"
               : "";
}

/// Notes the command where no earlier one has the same reason. The words that end a loop or a
/// function say nothing new.
void add_reason(const ShellCommand& command, std::string because, std::vector<Remainder>& why) {
    constexpr std::string_view kInner = " do done esac } ";
    const bool is_told = std::ranges::any_of(why, [&](const Remainder& each) {
        return each.because == because || (because == kPart && each.because == kFunction);
    });
    if (!is_told && (why.empty() || !is_in_list(kInner, command.words.front().text))) {
        why.push_back({command.line, text_of_command(command), std::move(because), ""});
    }
}

bool is_preparation(const ShellCommand& command, std::string_view program) {
    const bool is_piped = command.before == "|" || command.after == "|";
    return program.empty() || is_hook(command) || is_in_list(kSetupPrograms, program) ||
           (is_piped && is_in_list(kFilters, program));
}

/// Why no typed launch has the command, whatever else the script starts; empty: one may have it.
std::string unfit_for_launch(const BatchScript& script,
                             const Statement& statement,
                             const ShellCommand& command,
                             std::string_view program) {
    if (is_in_list(kShellWords, program)) {
        return "no typed launch has these words of the shell";
    }
    if (std::string odd = odd_start(script, statement, command); !odd.empty()) {
        return odd;
    }
    if (is_in_list(kOtherPrograms, program) && !is_array_word(statement, command) &&
        !is_preparation(command, program)) {
        return "`" + std::string(program) +
               "` may start several programs, or others than are written";
    }
    return "";
}

} // namespace

std::string text_of_command(const ShellCommand& command) {
    std::string text;
    for (const ShellWord& word : command.words) {
        text += (text.empty() ? "" : " ") + word.raw;
    }
    return text;
}

bool ends_with_code_of_launch(const Body& body) {
    const Statement& next = body.statements[body.place + 1];
    const auto& words = next.commands.front()->words;
    return body.place + 2 == body.statements.size() && next.commands.size() == 1 &&
           !next.is_conditional && words.front().raw == "exit" &&
           (words.size() == 1 || (words.size() == 2 && words[1].raw == "$?"));
}

std::optional<Body> body_with_one_launch(const BatchScript& script, std::vector<Remainder>& why) {
    constexpr std::string_view kShells = " bash sh dash ksh zsh ";
    const std::string shell = shell_name_of(script);
    if (!shell.empty() && !is_in_list(kShells, shell)) {
        why.push_back({1, script.lines.front(), "the script is for " + shell, ""});
        return std::nullopt;
    }
    const auto path = std::ranges::find_if(script.lines, reads_path);
    if (path != script.lines.end()) {
        why.push_back({static_cast<std::size_t>(path - script.lines.begin()) + 1,
                       path->substr(path->find_first_not_of(" \t")),
                       "the script reads its own path",
                       ""});
    }
    Body body;
    body.reads_arguments = std::ranges::any_of(script.lines, reads_arguments);
    body.statements = statements_of(script);
    int depth = 0;
    for (std::size_t index = 0; index < body.statements.size(); ++index) {
        Statement& statement = body.statements[index];
        for (const ShellCommand* command : statement.commands) {
            bool is_conditional = depth > 0;
            const std::string_view program = program_of_command(*command, is_conditional);
            depth += command->words.front().raw == "if" ? 1 : 0;
            depth -= command->words.front().raw == "fi" ? 1 : 0;
            statement.is_conditional = statement.is_conditional || is_conditional;
            if (std::string unfit = unfit_for_launch(script, statement, *command, program);
                !unfit.empty()) {
                add_reason(*command, std::move(unfit), why);
                continue;
            }
            if (is_array_word(statement, *command)) {
                statement.is_conditional = true; // stays as it is
                continue;
            }
            if (is_preparation(*command, program)) {
                continue;
            }
            if (body.launch != nullptr) {
                add_reason(*command,
                           "it is a second program; the first one is at line " +
                               std::to_string(body.launch->line),
                           why);
                continue;
            }
            body.place = index;
            body.launch = command;
        }
    }
    if (why.empty() && (body.launch == nullptr || depth != 0)) {
        why.push_back(
            {script.first_command, "", "no line starts a program that is known as one", ""});
    }
    return why.empty() ? std::optional(std::move(body)) : std::nullopt;
}

} // namespace cybele::schedulers
