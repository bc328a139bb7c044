// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/shell_state.hpp"

#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash", "ash", "ksh"};
/// Set by shells themselves; some cannot be set.
constexpr std::array<std::string_view, 16> kOwnVariables = {"BASH",
                                                            "DIRSTACK=",
                                                            "EUID=",
                                                            "FUNCNAME",
                                                            "GROUPS=",
                                                            "HISTCMD=",
                                                            "LINENO=",
                                                            "OPTIND=",
                                                            "PIPESTATUS=",
                                                            "PPID=",
                                                            "RANDOM=",
                                                            "SECONDS=",
                                                            "SHELLOPTS=",
                                                            "SHLVL=",
                                                            "UID=",
                                                            "_="};
constexpr std::string_view kBashMark = "BASH_VERSION=";
/// Standard input may belong to another user, who alone could open it again as /dev/stdin.
constexpr std::string_view kReadCommands =
    R"(cybelectl_commands=
while IFS= read -r cybelectl_line || [ -n "$cybelectl_line" ]; do
    cybelectl_commands="$cybelectl_commands$cybelectl_line
"
done
eval "$cybelectl_commands"
)";
/// How a Recipe's step begins that another shell reads from a file (recipes/stage/render_text.cpp).
constexpr std::string_view kInnerScript = "cat > \"$cybelectl_step\" <<'CYBELECTL_END'\n";

/// Nothing of it is in the trace of `sh -x`, and it changes no exit code. The innermost shell
/// writes first.
std::string recording_words() {
    return fmt::format("{{ trap '{{ [ $? = 0 ] || [ -s {0} ] || {{ case ${{BASH_VERSION-}} in ?*) "
                       "set -o posix ;; esac; set; export -p; }} >{0}; }} 2>/dev/null || :' EXIT; "
                       "}} 2>/dev/null; ",
                       kStatePath);
}

/// The word after `-c`, or sh.
std::string interpreter_of_section(const std::string& arguments) {
    std::istringstream words(arguments.substr(0, arguments.find('#')));
    for (std::string word; words >> word;) {
        if (word == "-c") {
            std::string name;
            words >> name;
            return std::filesystem::path(name).filename().native();
        }
    }
    return "sh";
}

bool is_of_bash(const ShellInside& shell) {
    return shell.state.find(kBashMark) != std::string::npos;
}

} // namespace

std::string recording_script(const std::string& arguments, std::string text) {
    const std::string interpreter = interpreter_of_section(arguments);
    if (!contains(kShells, interpreter)) {
        return text;
    }
    const std::string words = recording_words();
    if (const std::size_t inner = text.find(kInnerScript); inner != std::string::npos) {
        text.insert(inner + kInnerScript.size(), words);
    }
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    const bool is_isolated = begin != std::string::npos && text.compare(begin, 2, "(\n") == 0;
    // A shell in brackets forgets the traps of the one around it.
    text.insert(is_isolated ? begin + 1 : 0, (is_isolated ? " " : "") + words);
    return text;
}

std::string readable_state(std::string_view recorded) {
    std::string state;
    if (recorded.find(kBashMark) != std::string_view::npos) {
        state = ": " + std::string(kBashMark) + "\n";
    }
    for (const std::string_view line : text::split_terminated(recorded, '\n')) {
        std::string_view name = line;
        if (name.starts_with("export ")) {
            name.remove_prefix(std::string_view("export ").size());
        }
        const bool is_own = std::ranges::any_of(kOwnVariables, [&](std::string_view own) {
            return name.starts_with(own) || line.starts_with("readonly ");
        });
        if (!is_own) {
            state += std::string(line) + "\n";
        }
    }
    return state;
}

std::vector<std::string> shell_command(const ShellInside& shell, const std::string& file) {
    const std::string name = is_of_bash(shell) ? "bash" : "sh";
    if (shell.terminal.empty()) {
        return {name, file};
    }
    if (is_of_bash(shell)) {
        return {name, "--noprofile", "--rcfile", file, "-i"};
    }
    return {name, "-i"}; // reads the file that ENV names
}

std::string shell_file(const ShellInside& shell) {
    std::string text = shell.state + "cd \"${PWD:-/}\"\n";
    if (shell.terminal.empty()) {
        return text + std::string(kReadCommands);
    }
    return text + "unset ENV\nexport TERM=" + shell_quote(shell.terminal) + "\n";
}

} // namespace cybele::builder
