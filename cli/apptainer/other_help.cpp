// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/other_help.hpp"

#include "cli/apptainer/verb_table.hpp"
#include "cli/run/start_as.hpp"
#include "support/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

constexpr std::string_view kGlobalFlags =
    "-v, --verbose; -q, --quiet; -s, --silent; -d, --debug; --version";

struct StartText {
    std::string_view verb;
    std::string_view usage;
    std::string_view about;
};
constexpr StartText kStarts[] = {
    {"exec", "exec [FLAGS] IMAGE PROGRAM [ARGUMENT...]", "Start a program in a container."},
    {"run", "run [FLAGS] IMAGE [ARGUMENT...]", "Start the runscript of an image."},
    {"shell", "shell [FLAGS] IMAGE", "Start a shell in a container."},
    {"test", "test [FLAGS] IMAGE [ARGUMENT...]", "Run the tests of an image."},
    {"instance start",
     "instance start [FLAGS] IMAGE NAME [ARGUMENT...]",
     "Start a named container in the background, with the startscript of the image."},
    {"instance run",
     "instance run [FLAGS] IMAGE NAME [ARGUMENT...]",
     "Start a named container in the background, with the runscript of the image."},
};

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

/// The verbs that begin with `group`, or all.
std::string verb_rows(std::string_view group) {
    std::string rows;
    for (const StartText& one : kStarts) {
        const bool is_in = group.empty() || one.verb.starts_with(std::string(group) + " ");
        rows += is_in ? row(one.verb, "", one.about) : "";
    }
    for (const OtherVerb& one : other_verbs()) {
        const bool is_in = group.empty() || one.verb.starts_with(std::string(group) + " ");
        if (is_in && one.refused.empty()) {
            rows += row(one.verb, "", one.about);
        }
    }
    return rows;
}

const StartText* start_text(std::string_view verb) {
    const auto* const found = std::find_if(std::begin(kStarts),
                                           std::end(kStarts),
                                           [&](const StartText& one) { return one.verb == verb; });
    return found == std::end(kStarts) ? nullptr : found;
}

} // namespace

std::string usage_of(const std::string& program, const std::string& verb) {
    if (const StartText* const start = start_text(verb)) {
        return fmt::format("Usage:\n  {} [global options...] {}\n", program, start->usage);
    }
    if (const OtherVerb* const other = find_verb(verb)) {
        return fmt::format("Usage:\n  {} [global options...] {}\n", program, other->usage);
    }
    return fmt::format("Usage:\n  {} [global options...] <command>\n\n"
                       "`{} help` lists the commands.\n",
                       program,
                       program);
}

std::string flags_of(const std::string& program, const std::string& verb) {
    const std::string name = verb.empty() ? program : verb.substr(verb.rfind(' ') + 1);
    std::string flags;
    if (const StartVerb* const start = start_verb(verb)) {
        flags = start_flags(start->action, verb.starts_with("instance "));
    } else {
        flags = verb.empty() ? "Global options: " + std::string(kGlobalFlags) : verb_flags(verb);
    }
    return fmt::format(
        "Options for {} command:\n\n{}{}\n", name, row("-h,--help", "", "help for " + name), flags);
}

std::string help_of(const std::string& program, const std::string& verb) {
    if (const StartText* const start = start_text(verb)) {
        return std::string(start->about) + "\n\n" + usage_of(program, verb) + "\n" +
               start_flags(start_verb(verb)->action, verb.starts_with("instance "));
    }
    const OtherVerb* const other = find_verb(verb);
    if (other != nullptr && other->refused.empty()) {
        return std::string(other->about) + "\n\n" + usage_of(program, verb) + "\n" +
               verb_flags(verb);
    }
    if (other != nullptr) {
        return fmt::format("Usage:\n  {} {}\n\nNot supported: {}\n", program, verb, other->refused);
    }
    return "Containers of cybelectl by the name of Apptainer.\n\n" + usage_of(program, "") +
           "\nAvailable Commands:\n" + verb_rows(verb) +
           "\nGlobal options: " + std::string(kGlobalFlags) +
           "\n`cybelectl help` shows what else this program does.\n";
}

} // namespace cybele::cli
