// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/grammar.hpp"
#include "definitions/lint/context.hpp"
#include "definitions/lint/knowledge.hpp"
#include "support/find.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::definitions {
namespace {

/// Without meaning here: no shebang, sourced files, `cd` without `||` under -e, names that other
/// sections set or use, `-nt`, which every sh knows.
constexpr std::string_view kExcluded = "SC1090,SC1091,SC2034,SC2148,SC2154,SC2164,SC3013";
constexpr std::chrono::milliseconds kLimit{20000};

/// The scripts of one name in a stage as Apptainer joins them, with each line's place.
struct Joined {
    std::string_view name;
    std::string text;
    std::vector<std::size_t> lines;
    std::string shell = "sh";
    BaseShell base = BaseShell::kUnknown; ///< what runs it where `shell` is sh
};

Joined join(const Stage& stage, std::string_view name) {
    Joined joined;
    joined.name = name;
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
    constexpr std::array<int, 9> kCodes = {1083, 1054, 2050, 2086, 2140, 2157, 2158, 2193, 2194};
    return lint.line(line).find("{{") != std::string_view::npos && contains(kCodes, code);
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

/// What shellcheck says of one place.
struct Comment {
    int code = 0;
    bool is_low = false;     ///< its own level is info or style
    std::string_view before; ///< of its line
    std::string_view marked; ///< what it is about
    std::string_view behind;
};

/// The name of the variable that a text begins with; "" without one.
std::string_view variable_of(std::string_view text) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    if (!text.starts_with('$')) {
        return {};
    }
    text.remove_prefix(text.starts_with("${") ? 2 : 1);
    return text.substr(0, text.find_first_not_of(kLetters));
}

/// Variables whose value in %post is the runtime's, without a blank.
bool is_fixed_in_post(std::string_view name) {
    constexpr std::array<std::string_view, 5> kFixed = {
        "PATH", "HOME", "LD_LIBRARY_PATH", "APPTAINER_ENVIRONMENT", "SINGULARITY_ENVIRONMENT"};
    return contains(kFixed, name);
}

/// Whether a script gives the variable several words or none: `NAME="a b"`, `NAME=""`.
bool holds_words(std::string_view script, std::string_view name) {
    for (const char quote : {'"', '\''}) {
        const std::string begin = fmt::format("{}={}", name, quote);
        for (std::size_t at = script.find(begin); at != std::string_view::npos;
             at = script.find(begin, at + 1)) {
            const std::size_t value = at + begin.size();
            const std::string_view words = script.substr(value, script.find(quote, value) - value);
            const bool is_name = at == 0 || std::string_view(" \t\n;").find(script[at - 1]) !=
                                                std::string_view::npos;
            const bool is_list =
                words.empty() || words.find_first_of(" \n") != std::string_view::npos;
            if (is_name && is_list && words.find("$(") == std::string_view::npos &&
                words.find('`') == std::string_view::npos) {
                return true;
            }
        }
    }
    return false;
}

/// Whether a line hands packages to a package manager.
bool installs_packages(std::string_view before) {
    constexpr std::array<std::string_view, 11> kPackageVerbs = {" install ",
                                                                " add ",
                                                                " create ",
                                                                " update ",
                                                                " remove ",
                                                                " purge ",
                                                                " localinstall ",
                                                                " autoremove ",
                                                                " del ",
                                                                " erase ",
                                                                " groupinstall "};
    return std::ranges::any_of(kPackageVerbs, [&](std::string_view word) {
        return before.find(word) != std::string_view::npos;
    });
}

/// Whether `$(PROGRAM …)` prints one word.
bool prints_one_word(std::string_view substitution) {
    constexpr std::array<std::string_view, 10> kPrograms = {"nproc",
                                                            "arch",
                                                            "uname",
                                                            "hostname",
                                                            "whoami",
                                                            "id -",
                                                            "getconf ",
                                                            "lsb_release -",
                                                            "dpkg --print-architecture",
                                                            "rpm -E "};
    substitution.remove_prefix(substitution.starts_with("$(") ? 2 : 1);
    const std::string_view command = trim(substitution);
    return std::ranges::any_of(
        kPrograms, [&](std::string_view program) { return command.starts_with(program); });
}

bool is_gap(char c) {
    return c == ' ' || c == '\t';
}

/// `apt-get install $(cat list)`: a substitution that is a word of its own may stand for several.
bool is_word(const Comment& comment) {
    constexpr std::string_view kEnds = " \t;|&)\\";
    return (comment.before.empty() || is_gap(comment.before.back())) &&
           (comment.behind.empty() || kEnds.find(comment.behind.front()) != std::string_view::npos);
}

/// The words before it of its own command, as `echo A` of `true && echo A`.
std::string_view own_command(std::string_view before) {
    return trim(before.substr(before.find_last_of(";&|") + 1));
}

/// What is known of the runtime, the base and the section, and makes the comment wrong.
bool is_refuted(const Comment& comment, const Joined& script) {
    constexpr int kGlobInAssignment = 2125;
    constexpr int kIndentedShebang = 1114;
    constexpr int kLateShebang = 1128;
    constexpr int kMaskedResult = 2155;
    constexpr int kSource = 3046;
    constexpr int kEchoOptions = 3037;
    constexpr int kKeywordAsWord = 1010;
    constexpr int kSudoRedirects = 2024;
    constexpr int kUnquotedCommand = 2046;
    constexpr int kUnquotedVariable = 2086;
    constexpr int kQuotesInValue = 2089; // of the use that SC2090 is about
    constexpr int kUseOfQuotes = 2090;
    const std::string_view name = variable_of(comment.marked);
    switch (comment.code) {
    case kIndentedShebang: // read by the runtime, which skips the blanks
    case kLateShebang:     // CD103, where it matters
    case kQuotesInValue:
        return true;
    case kUseOfQuotes: { // a text for another program
        const std::string_view before = own_command(comment.before);
        return before.ends_with("echo") || before.starts_with("echo ") ||
               before.starts_with("printf ") || before == "export";
    }
    case kMaskedResult: // nothing looks at results there
        return script.name == "environment" || script.name == "runscript" ||
               script.name == "startscript";
    case kSource:
        return script.base == BaseShell::kBusybox;
    case kGlobInAssignment: // `?` of an address
        return comment.marked.find("://") != std::string_view::npos;
    case kSudoRedirects: // root already: CD314
        return script.name == "post";
    case kKeywordAsWord: // `echo done`, `for i in start done`
        return own_command(comment.before).ends_with("echo") ||
               own_command(comment.before).starts_with("for ");
    case kEchoOptions: // of a program, not of the shell
        return trim(comment.before).ends_with("bin/echo");
    case kUnquotedCommand:
        return prints_one_word(comment.marked);
    case kUnquotedVariable:
        return comment.marked == "$*" || // SC2048
               (script.name == "post" && is_fixed_in_post(name)) ||
               (installs_packages(comment.before) && holds_words(script.text, name));
    default:
        return false;
    }
}

/// `$1`, `${2}`: what a user passes may hold blanks.
bool is_argument(std::string_view text) {
    const std::size_t name = text.find_first_not_of('{', text.find('$') + 1);
    return text.starts_with('$') && name <= 2 && name < text.size() &&
           std::string_view("123456789").find(text[name]) != std::string_view::npos;
}

/// `export NAME=`: newer shells split no word there.
bool is_assigned(const Comment& comment) {
    const std::size_t word = comment.before.find_last_of(" \t") + 1;
    const std::string_view builtin = trim(comment.before.substr(0, word));
    return comment.before.find('=', word) != std::string_view::npos &&
           (builtin.ends_with("export") || builtin.ends_with("readonly") ||
            builtin.ends_with("local"));
}

bool is_advice(const Comment& comment, const Joined& script) {
    constexpr int kUnquotedCommand = 2046;
    constexpr int kUnquotedVariable = 2086;
    constexpr int kMixedArguments = 2145; // `"a $@"` has a meaning, and may be meant
    constexpr int kLinkHere = 2226;       // `ln -s /a/b`, to ./b
    constexpr int kEmptyValue = 1007;     // `A= b`
    constexpr int kFirstOfPosix = 3000;
    constexpr int kLastOfPosix = 3999;
    if (comment.code >= kFirstOfPosix && comment.code <= kLastOfPosix) {
        return script.base == BaseShell::kUnknown; // many images have bash as /bin/sh
    }
    const bool is_printed = trim(comment.before).starts_with("echo ");
    const bool is_split_argument =
        comment.code == kUnquotedVariable && is_argument(comment.marked) && !is_assigned(comment);
    return (comment.is_low && !is_split_argument) || comment.code == kMixedArguments ||
           comment.code == kLinkHere || comment.code == kEmptyValue ||
           (comment.code == kUnquotedCommand &&
            (is_word(comment) || is_printed || is_assigned(comment)));
}

Comment comment_of(const nlohmann::json& row, std::string_view line) {
    Comment comment;
    const std::string level = row.value("level", "");
    const auto begin = std::min(row.value("column", std::size_t{1}) - 1, line.size());
    const auto end = row.value("endLine", std::size_t{1}) != row.value("line", std::size_t{1})
                         ? line.size()
                         : std::clamp(row.value("endColumn", begin + 1) - 1, begin, line.size());
    comment.code = row.value("code", 0);
    comment.is_low = level == "info" || level == "style";
    comment.before = line.substr(0, begin);
    comment.marked = line.substr(begin, end - begin);
    comment.behind = line.substr(end);
    return comment;
}

/// "Couldn't parse this …" and "Expected this to be an argument …", which come with the reason.
bool is_end_of_parse(int code) {
    return code == 1072 || code == 1073 || code == 1019;
}

/// Lines of which another comment says what the parser does not accept.
std::set<std::size_t> explained_lines(const nlohmann::json& comments) {
    std::set<std::size_t> lines;
    for (const auto& row : comments) {
        const int code = row.value("code", 0);
        if (code / 1000 == 1 && !is_end_of_parse(code)) {
            lines.insert(row.value("line", std::size_t{1}));
        }
    }
    return lines;
}

/// The signals that are passed on to a child: who sends one wants the check to end.
bool is_stop(int signal) {
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

/// What bash says of a script that neither it nor sh can read; unset where one of them can. By -n
/// they read it, and run nothing.
std::optional<std::string> syntax_error(const Joined& script) {
    std::string said;
    for (const char* const shell : {"/bin/sh", "/bin/bash"}) {
        Command command;
        command.argv = {shell, "-n"};
        command.input = script.text;
        command.limit = kLimit;
        const auto outcome = run_process(command);
        if (!outcome || outcome->timed_out || outcome->signal != 0 || outcome->code == 0) {
            return std::nullopt;
        }
        said = outcome->errors;
    }
    said = said.substr(0, said.find('\n'));
    const std::size_t line = said.find(": line ");
    const std::size_t reason = line == std::string::npos ? line : said.find(": ", line + 1);
    return reason == std::string::npos ? said : said.substr(reason + 2);
}

/// Whether the script is one that no shell reads; then its other findings follow from that.
bool tells_syntax(Lint& lint, const Joined& script, const nlohmann::json& comments) {
    const auto end = std::ranges::find_if(comments, [](const auto& row) {
        return row.value("level", "") == "error" && row.value("code", 0) / 1000 == 1;
    });
    const auto error = end == comments.end() ? std::nullopt : syntax_error(script);
    if (!error) {
        return false;
    }
    const std::size_t index = end->value("line", std::size_t{1}) - 1;
    const std::size_t line = script.lines[std::min(index, script.lines.size() - 1)];
    lint.tell("CD112",
              {line, end->value("column", std::size_t{1})},
              fmt::format("the shell cannot read this: {}", printable(*error)));
    return true;
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
    const int ended_by = outcome->timed_out ? 0 : outcome->signal;
    if (outcome->passed_on != 0 || is_stop(ended_by)) {
        lint.stop(outcome->passed_on != 0 ? outcome->passed_on : ended_by);
        return;
    }
    const auto answer = nlohmann::json::parse(outcome->output, nullptr, false);
    if (answer.is_discarded() || !answer.contains("comments")) {
        return;
    }
    if (!script.lines.empty() && tells_syntax(lint, script, answer["comments"])) {
        return;
    }
    const std::set<std::size_t> explained = explained_lines(answer["comments"]);
    for (const auto& row : answer["comments"]) {
        const auto index = row.value("line", std::size_t{1}) - 1;
        const int code = row.value("code", 0);
        const bool is_repeated = is_end_of_parse(code) && explained.contains(index + 1);
        if (index >= script.lines.size() || is_repeated ||
            is_of_template(lint, script.lines[index], code)) {
            continue;
        }
        const Comment comment = comment_of(row, lint.line(script.lines[index]));
        const bool is_of_document = // CD111
            row.value("message", "").find("here document") != std::string::npos;
        if (is_refuted(comment, script) || is_of_document) {
            continue;
        }
        const Lint::Spot spot{script.lines[index], comment.before.size() + 1};
        std::string message = fmt::format("SC{}: {}", code, printable(row.value("message", "")));
        if (is_advice(comment, script)) {
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
            const bool is_of_image = name != "pre" && name != "setup";
            script.base = is_of_image ? base_shell(stage) : BaseShell::kUnknown;
            if (script.shell == "sh" && script.base == BaseShell::kBash) {
                script.shell = "bash"; // by the name of sh
            }
            if (name == "environment") {
                script.shell = "bash"; // read by the runtime's own shell, which knows its words
            }
            if (!script.text.empty() && !script.shell.empty() && lint.stopped_by() == 0) {
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
