// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/other_help.hpp"

#include "cli/apptainer/verb_table.hpp"
#include "cli/apptainer/verb_texts.hpp"
#include "cli/run/start_as.hpp"
#include "support/find.hpp"
#include "support/text.hpp"

#include <fmt/format.h>

namespace cybele::cli {

namespace {

constexpr std::string_view kGlobalFlags =
    "-v, --verbose; -q, --quiet; -s, --silent; -d, --debug; --version";

std::string row(std::string_view names, std::string_view value, std::string_view about) {
    std::string term(names);
    for (std::size_t at = term.find(','); at != std::string::npos; at = term.find(',', at + 2)) {
        term.insert(at + 1, " ");
    }
    if (!value.empty()) {
        term += " " + std::string(value);
    }
    return fmt::format("  {:<34} {}\n", term, about);
}

/// " [APPTAINER_BIND, APPTAINER_BINDPATH]"
std::string variables_of(const StartOption& option) {
    std::string text;
    for (const std::string_view name : text::split_terminated(option.variables, ' ')) {
        text += (text.empty() ? " [APPTAINER_" : ", APPTAINER_") + std::string(name);
    }
    return text.empty() ? text : text + "]";
}

std::string start_flags(runtime::Action action, bool is_instance) {
    std::string carried;
    std::string refused;
    for (const StartOption& one : start_options()) {
        if (one.is_ours || !one.is_of(action, is_instance)) {
            continue;
        }
        (one.use == Use::kRefused ? refused : carried) +=
            row(one.names, one.value, std::string(one.description) + variables_of(one));
    }
    return "Options:\n" + carried + "\nNot supported:\n" + refused;
}

std::string verb_flags(std::string_view verb) {
    std::string carried;
    std::string refused;
    for (const OtherFlag& one : other_flags()) {
        if (!one.is_of(verb)) {
            continue;
        }
        const bool is_refused = one.kind == OtherFlag::Kind::kRefused;
        const bool is_none = one.kind == OtherFlag::Kind::kNone;
        const bool is_own = one.kind == OtherFlag::Kind::kOwn;
        (is_refused ? refused : carried) +=
            row(one.names,
                one.takes_value ? "VALUE" : "",
                is_refused || is_own
                    ? std::string(one.ours)
                    : (is_none ? "no effect: " + std::string(one.ours) : std::string()));
    }
    return (carried.empty() ? "" : "Options:\n" + carried) +
           (refused.empty() ? "" : "\nNot supported:\n" + refused);
}

bool is_below(std::string_view verb, std::string_view group) {
    return verb.starts_with(group) && verb.size() > group.size() && verb[group.size()] == ' ' &&
           !group.empty();
}

/// The verbs below `group`, or with "" those of the program; `hidden` are left out.
std::string verb_rows(std::string_view group, std::string_view hidden = "buildcfg,confgen") {
    std::string rows;
    for (const VerbText& one : verb_texts()) {
        const bool is_first = one.verb.find(' ') == std::string_view::npos;
        const auto words = text::split_terminated(hidden, ',');
        const bool is_hidden = contains(words, one.verb);
        if (group.empty() ? is_first && !is_hidden : is_below(one.verb, group)) {
            rows += fmt::format("  {:<11} {}\n",
                                group.empty() ? one.verb : one.verb.substr(group.size() + 1),
                                one.about);
        }
    }
    return rows.empty() ? rows : "\nAvailable Commands:\n" + rows;
}

std::string more(const std::string& program) {
    return fmt::format("\nRun '{} --help' for more detailed usage information.\n", program);
}

/// With the options of the group, like there: "key [key options...] list".
std::string usage_below_group(const VerbText& text) {
    const std::size_t blank = text.verb.find(' ');
    const VerbText* const group =
        blank == std::string_view::npos ? nullptr : verb_text(text.verb.substr(0, blank));
    return group == nullptr ? std::string(text.usage)
                            : std::string(group->usage) + std::string(text.usage.substr(blank));
}

std::string flags_text(const std::string& verb) {
    const StartVerb* const start = start_verb(verb);
    return start == nullptr ? verb_flags(verb)
                            : start_flags(start->action, verb.starts_with("instance "));
}

} // namespace

std::string usage_of(const std::string& program, const std::string& verb) {
    const VerbText* const text = verb_text(verb);
    const std::string commands = verb_rows(verb, "buildcfg,confgen,help");
    const std::string words = text == nullptr    ? "<command>"
                              : commands.empty() ? usage_below_group(*text)
                                                 : std::string(text->usage) + " <command>";
    const std::size_t end = words.ends_with(" [flags]") ? words.size() - 8 : words.size();
    return fmt::format("Usage:\n  {} [global options...] {}\n{}{}",
                       program,
                       words.substr(0, end),
                       commands,
                       more(program));
}

std::string flags_of(const std::string& program, const std::string& verb) {
    const std::string name = verb.empty() ? program : verb.substr(verb.rfind(' ') + 1);
    const std::string flags =
        verb.empty() ? "Global options: " + std::string(kGlobalFlags) : flags_text(verb);
    return fmt::format("Options for {} command:\n\n{}{}",
                       name,
                       flags.empty() ? "  -h, --help   help for " + name + "\n"
                                     : row("-h,--help", "", "help for " + name) + flags + "\n",
                       more(program));
}

std::string help_of(const std::string& program, const std::string& verb) {
    const VerbText* const text = verb_text(verb);
    if (text == nullptr) {
        return "\nLinux container platform optimized for High Performance Computing (HPC) and\n"
               "Enterprise Performance Computing (EPC)\n\nUsage:\n  " +
               program + " [global options...]\n" + verb_rows("") +
               "\nGlobal options: " + std::string(kGlobalFlags) +
               "\n`cybelectl help` shows what else this program does.\n";
    }
    std::string help =
        fmt::format("{}\n\nUsage:\n  {} {}\n", text->about, program, text->usage) + verb_rows(verb);
    if (const std::string flags = flags_text(verb); !flags.empty()) {
        help += "\n" + flags;
    }
    const OtherVerb* const other = find_verb(verb);
    if (other != nullptr && !other->refused.empty()) {
        help += "\nNot supported: " + std::string(other->refused) + "\n";
    }
    return help;
}

} // namespace cybele::cli
