// SPDX-License-Identifier: Apache-2.0
// Words of `command` that only a shell would act on.
#include "launchers/plan/plan_parts.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::launchers {
namespace {

constexpr std::string_view kNameLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

/// Programs for which operators and patterns are ordinary words.
bool has_own_operators(std::string_view program) {
    constexpr std::array<std::string_view, 12> kOwnReaders{"find",
                                                           "expr",
                                                           "test",
                                                           "[",
                                                           "sh",
                                                           "bash",
                                                           "dash",
                                                           "ksh",
                                                           "zsh",
                                                           "ash",
                                                           "busybox",
                                                           "printf"};
    program = program.substr(program.rfind('/') + 1);
    return contains(kOwnReaders, program);
}

bool is_operator(std::string_view word) {
    constexpr std::array<std::string_view, 11> kShellOperators{
        "|", ">", ">>", "<", "<<", "&&", "||", "&", ";", "2>&1", "2>"};
    return contains(kShellOperators, word);
}

/// `$HOME/data`, `${SCRATCH}/run`, `$SLURM_JOB_ID`: a path, or a variable that jobs have.
bool begins_with_variable(std::string_view word) {
    if (!word.starts_with('$')) {
        return false;
    }
    std::string_view name = word.substr(word.starts_with("${") ? 2 : 1);
    const std::string_view rest =
        name.substr(std::min(name.find_first_not_of(kNameLetters), name.size()));
    name.remove_suffix(rest.size());
    constexpr std::array<std::string_view, 5> kPathVariables{
        "HOME", "USER", "PWD", "TMPDIR", "SCRATCH"};
    const bool is_known = contains(kPathVariables, name) ||
                          ((name.starts_with("SLURM_") || name.starts_with("PBS_")) &&
                           name.find("ARRAY") == name.npos); // an error of its own
    return !name.empty() && (is_known || rest.starts_with('/') || rest.starts_with("}/"));
}

/// `*.txt`, `data/*`: names of files, but no regular expression and no value of an option.
bool is_file_pattern(std::string_view word, std::string_view before) {
    const std::size_t star = word.find('*');
    const std::string others = std::string(kNameLetters) + "./-*";
    return star != word.npos && !before.starts_with('-') &&
           word.find_first_not_of(others) == word.npos && word.find(".*") == word.npos &&
           word.find_first_of("./") != word.npos && word.find('*', star + 1) == word.npos;
}

/// The words as a line of a shell, as far as they are no operators, variables or patterns.
std::string shell_line_of(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) {
        const bool is_for_shell =
            is_operator(word) || begins_with_variable(word) || is_file_pattern(word, "");
        line += (line.empty() ? "" : " ") + (is_for_shell ? word : shell_quote(word));
    }
    return line;
}

std::string yaml_single_quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
        quoted += c == '\'' ? "''" : std::string(1, c);
    }
    return quoted + "'";
}

} // namespace

void check_words(const Job& job, Faults& faults) {
    if (job.command.empty() || has_own_operators(job.command.front())) {
        return;
    }
    for (std::size_t at = 1; at < job.command.size(); ++at) {
        const std::string& word = job.command[at];
        if (!is_operator(word) && !begins_with_variable(word) &&
            !is_file_pattern(word, job.command[at - 1])) {
            continue;
        }
        Fault note = job.fault_at(
            fmt::format("command[{}]", at),
            problem("word-for-shell",
                    fmt::format("no shell reads `command`: the program gets `{}` as it is",
                                printable(word))),
            "each item is one word of the program",
            fmt::format("write `[sh, -c, {}]`, or a `script`",
                        printable(yaml_single_quoted(shell_line_of(job.command)))));
        note.is_warning = true;
        faults.add(std::move(note));
        return;
    }
}

} // namespace cybele::launchers
