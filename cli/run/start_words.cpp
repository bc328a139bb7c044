// SPDX-License-Identifier: Apache-2.0
#include "cli/run/start_words.hpp"

#include "cli/run/start_as.hpp"
#include "cli/run/start_options.hpp"
#include "support/find.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace cybele::cli {

namespace {

/// What the words before the program say.
struct Start {
    StartOptions options;
    int verbosity = 0;
    bool is_quiet = false;
    bool no_colour = false;
    std::set<const StartOption*> given;
};

std::optional<runtime::Action> action_of(std::string_view verb) {
    struct Row {
        std::string_view verb;
        runtime::Action action;
    };
    constexpr Row kVerbs[] = {{"exec", runtime::Action::kExec},
                              {"run", runtime::Action::kRun},
                              {"shell", runtime::Action::kShell},
                              {"test", runtime::Action::kTest}};
    for (const Row& row : kVerbs) {
        if (row.verb == verb) {
            return row.action;
        }
    }
    return std::nullopt;
}

const StartOption* find_option(std::string_view name, runtime::Action action) {
    const auto options = start_options();
    return find_row(options, [&](const StartOption& one) {
        return one.has_name(name) && one.is_of(action, false);
    });
}

/// The options that every verb takes.
bool take_general(Start& start, std::string_view word) {
    if (word == "-v" || word == "--verbose") {
        ++start.verbosity;
    } else if (word == "-q" || word == "--quiet") {
        start.is_quiet = true;
    } else if (word == "--no-color") {
        start.no_colour = true;
    } else {
        return false;
    }
    return true;
}

/// The option at `at`, which is left behind its last word; false when it is none of these.
bool take_option(Start& start, const std::vector<std::string>& words, std::size_t& at) {
    const std::string_view word = words[at++];
    if (take_general(start, word)) {
        return true;
    }
    const std::string_view name = word.substr(0, word.find('='));
    const StartOption* const option = find_option(name, start.options.request.program.action);
    if (option == nullptr || (!start.given.insert(option).second && !option->may_repeat())) {
        return false;
    }
    std::string_view value;
    if (name.size() < word.size()) {
        if (option->value.empty() || !name.starts_with("--")) {
            return false;
        }
        value = word.substr(name.size() + 1);
    } else if (!option->value.empty() && at < words.size()) {
        value = words[at++];
    }
    const bool has_value = !value.empty() && value.front() != '-';
    return has_value != option->value.empty() && give(*option, start.options, value).empty();
}

} // namespace

namespace {

/// By the name of Apptainer: what is wrong, or asks for help, is for the program of all verbs.
bool read_start_by_apptainer_name(Session& session) {
    const auto flags = read_global_flags(session.words, session.environment);
    if (!flags || flags->has_end || flags->wants_help || flags->wants_version ||
        !flags->config.empty() || flags->at >= session.words.size()) {
        return false;
    }
    const StartVerb* const verb = start_verb(session.words[flags->at]);
    if (verb == nullptr) {
        return false;
    }
    auto read = read_start_as(session, verb->action, flags->at + 1, verb->least_words);
    if (!read || !*read || !(*read)->warnings.empty() || !(*read)->notes.empty()) {
        return false;
    }
    (*read)->verbosity = flags->verbosity;
    (*read)->is_quiet = flags->is_quiet;
    (*read)->is_silent = flags->is_silent;
    use_start(session, std::move(**read));
    return true;
}

} // namespace

bool read_start(Session& session) {
    if (session.is_apptainer()) {
        return read_start_by_apptainer_name(session);
    }
    const std::vector<std::string>& words = session.words;
    const auto read = std::make_shared<Start>();
    std::size_t at = 0;
    while (at < words.size() && take_general(*read, words[at])) {
        ++at;
    }
    const auto action = at < words.size() ? action_of(words[at]) : std::nullopt;
    if (!action) {
        return false;
    }
    read->options.request.program.action = *action;
    for (++at; at < words.size() && words[at].starts_with('-') && words[at] != "--";) {
        if (!take_option(*read, words, at)) {
            return false;
        }
    }
    if (at < words.size() && words[at] == "--") {
        ++at;
    }
    if (at >= words.size() || words[at].empty() || words[at].front() == '-') {
        return false;
    }
    if (read->options.asks_for_signatures() && !session.demand_signatures) {
        return false;
    }
    read->options.image = words[at];
    read->options.request.program.arguments.assign(
        words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
    std::vector<std::string> warnings;
    if (!take_variables(read->options, read->given, session.environment, warnings) ||
        !warnings.empty()) {
        return false;
    }
    session.verbosity = read->verbosity;
    session.is_quiet = read->is_quiet;
    session.no_colour = read->no_colour;
    session.refuses_with_255 = true;
    session.action = [&session, read] { return start(session, read->options); };
    return true;
}

} // namespace cybele::cli
