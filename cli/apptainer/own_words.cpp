// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/own_words.hpp"

#include "cli/apptainer/other_help.hpp"
#include "cli/apptainer/other_verbs.hpp"
#include "cli/apptainer/refused_verbs.hpp"
#include "cli/apptainer/refused_words.hpp"
#include "cli/apptainer/suggestions.hpp"
#include "cli/apptainer/verb_table.hpp"
#include "cli/run/flag_words.hpp"
#include "cli/run/start_as.hpp"
#include "images/sif/sif.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

constexpr int kWrongUsage = 1;

OwnWords done(int code) {
    return OwnWords{{}, code};
}

/// Of an unknown command: which ones may be meant.
std::string proposal_for(const Session& session) {
    const auto flags = read_global_flags(session.words, session.environment);
    std::string lines;
    for (const std::string& command :
         flags ? suggested_commands(session.words[flags->at]) : std::vector<std::string>()) {
        lines += '\t' + command + '\n';
    }
    return lines.empty() ? lines : "\nDid you mean this?\n" + lines + '\n';
}

/// As Apptainer: the reason on standard error, the usage on standard output, 1.
OwnWords wrong_usage(const Session& session, const std::string& verb, const Error& error) {
    const Fault& fault = error.faults().front();
    const std::string& message = fault.message;
    const std::string name =
        verb.empty() ? session.apptainer_name : verb.substr(verb.rfind(' ') + 1);
    const std::string line =
        fault.id == "apptainer-command-unknown"
            ? "Error: " + message + "\n" + proposal_for(session) + "\n"
            : fmt::format("Error for command \"{}\": {}\n\n", name, printable(message));
    (void)std::fwrite(line.data(), 1, line.size(), stderr);
    Session::print(fault.id == "apptainer-flag" ? flags_of(session.apptainer_name, verb)
                                                : usage_of(session.apptainer_name, verb));
    return done(kWrongUsage);
}

void print_version(const Session& session, const GlobalFlags& flags) {
    Session::print(fmt::format("{} version {}\n", "apptainer", kOtherVersion));
    if (flags.verbosity > 0) {
        Session::print(fmt::format(
            "cybelectl {} answers by the name {}\n", CYBELE_VERSION, session.apptainer_name));
    }
}

/// The longest verb of the table that the words begin with: "key list", else "key".
std::string verb_at(const std::vector<std::string>& words, std::size_t at) {
    if (at + 1 < words.size()) {
        std::string two = words[at] + " " + words[at + 1];
        if (find_verb(two) != nullptr || start_verb(two) != nullptr) {
            return two;
        }
    }
    return words[at];
}

bool has_listed(std::string_view list, std::string_view verb) {
    const auto words = text::split_terminated(list, ',');
    return contains(words, verb);
}

bool is_group(std::string_view word) {
    const auto verbs = other_verbs();
    return std::ranges::any_of(verbs, [&](const OtherVerb& one) {
        return one.verb.starts_with(word) && one.verb.size() > word.size() &&
               one.verb[word.size()] == ' ';
    });
}

/// A name and password of variables or flags win over a file of logins, as with Apptainer.
bool has_login(const Session& session, bool has_flags) {
    const auto has = [&](const std::string& prefix) {
        return session.environment.get(prefix + "DOCKER_USERNAME") &&
               session.environment.get(prefix + "DOCKER_PASSWORD");
    };
    return has_flags || has("APPTAINER_") || has("SINGULARITY_") || has("");
}

Result<OwnWords> start_words(Session& session, const GlobalFlags& flags, const StartVerb& verb) {
    const bool is_instance = verb.name.starts_with("instance ");
    auto read = read_start_as(
        session, verb.action, flags.at + (is_instance ? 2U : 1U), verb.least_words, is_instance);
    if (!read && read.error().code() == ErrorCode::kUsage) {
        const Fault& fault = read.error().faults().front();
        if (fault.id == "apptainer-variable") {
            Fault refused = fault;
            refused.code = ErrorCode::kInput; // without the usage
            refused.set(problem("apptainer-variable-refused", fault.message));
            return fail(std::move(refused));
        }
        return wrong_usage(session, std::string(verb.name), read.error());
    }
    CYBELE_TRY(std::optional<StartAs> start, std::move(read));
    if (!start) {
        Session::print(help_of(session.apptainer_name, std::string(verb.name)));
        return done(0);
    }
    session.prints_info = !flags.is_quiet && !flags.is_silent;
    start->verbosity = flags.verbosity;
    start->is_quiet = flags.is_quiet;
    start->is_silent = flags.is_silent;
    start->options.site_settings = flags.config;
    use_start(session, std::move(*start));
    return OwnWords{};
}

/// Of the flags whose value is a number.
Result<void> check_number(const OtherVerb& verb, const OtherFlag& flag, const FlagWord& word) {
    struct Row {
        std::string_view verb;
        std::string_view name;
    };
    constexpr Row kNumbers[] = {{"sign", "--keyidx"},         {"sign", "--group-id"},
                                {"sign", "--groupid"},        {"sign", "--id"},
                                {"sign", "--sif-id"},         {"verify", "--group-id"},
                                {"verify", "--groupid"},      {"verify", "--id"},
                                {"verify", "--sif-id"},       {"key newpair", "--bit-length"},
                                {"overlay create", "--size"}, {"sif add", "--alignment"},
                                {"sif add", "--datatype"},    {"sif add", "--groupid"},
                                {"sif add", "--link"},        {"sif add", "--partarch"},
                                {"sif add", "--partfs"},      {"sif add", "--parttype"},
                                {"sif add", "--signhash"},    {"instance stop", "--timeout"}};
    const bool is_number = std::ranges::any_of(
        kNumbers, [&](const Row& row) { return row.verb == verb.verb && flag.has_name(row.name); });
    constexpr std::string_view kUnsigned[] = {
        "--group-id", "--groupid", "--id", "--link", "--sif-id"};
    const bool is_signed = std::none_of(
        std::begin(kUnsigned), std::end(kUnsigned), [&](auto name) { return flag.has_name(name); });
    int number = 0;
    const std::string value = word.value.value_or("");
    const char* const last = value.data() + value.size();
    const auto read = std::from_chars(value.data(), last, number);
    const bool is_whole = read.ec == std::errc() && read.ptr == last;
    if (!is_number || (is_whole && (is_signed || number >= 0))) {
        return {};
    }
    return fail(ErrorCode::kUsage,
                problem("apptainer-flag",
                        fmt::format("invalid argument \"{}\" for \"{}\" flag: strconv.Parse{}: "
                                    "parsing \"{}\": invalid syntax",
                                    printable(value),
                                    title_of(flag.names),
                                    is_signed ? "Int" : "Uint",
                                    printable(value))));
}

Result<OtherCall> read_call(const Session& session, const OtherVerb& verb, std::size_t at) {
    OtherCall call;
    call.verb = &verb;
    CYBELE_TRY(const FlagWords read,
               read_flag_words(
                   session.words,
                   at,
                   [&](std::string_view name) -> std::optional<bool> {
                       if (name == "--help" || name == "-h") {
                           return false;
                       }
                       const OtherFlag* const flag = find_flag(verb.verb, name);
                       return flag == nullptr ? std::nullopt : std::optional(flag->takes_value);
                   },
                   false));
    for (const FlagWord& word : read.flags) {
        const OtherFlag* const flag = find_flag(verb.verb, word.name);
        if (flag == nullptr) {
            call.wants_help = true;
            continue;
        }
        CYBELE_CHECK(check_number(verb, *flag, word));
        if (!flag->takes_value) {
            CYBELE_TRY(const bool is_on, read_switch(word, flag->names));
            if (!is_on) {
                continue;
            }
        }
        call.flags.emplace_back(flag, flag->takes_value ? word.value.value_or("") : "");
    }
    call.words = read.rest;
    const bool is_short = read.rest.size() < verb.least;
    if (!call.wants_help && (is_short || read.rest.size() > verb.most)) {
        return fail(
            ErrorCode::kUsage,
            problem("apptainer-command-line",
                    fmt::format("accepts {} arg(s), received {}",
                                verb.least == verb.most
                                    ? std::to_string(verb.least)
                                    : fmt::format("between {} and {}", verb.least, verb.most),
                                read.rest.size())));
    }
    return call;
}

/// The flags that variables set and the command line does not.
Result<void> add_variables(const Session& session, OtherCall& call) {
    for (const OtherVariable& row : other_variables()) {
        const OtherFlag* const flag = find_flag(call.verb->verb, row.flag);
        if (flag == nullptr || !has_listed(row.verbs, call.verb->verb) || call.has(row.flag)) {
            continue;
        }
        const std::string name(row.name);
        const std::string value = session.environment.get_or(
            "APPTAINER_" + name, session.environment.get_or("SINGULARITY_" + name, ""));
        if (value.empty()) {
            continue;
        }
        if (!flag->takes_value) {
            CYBELE_TRY(const bool is_on, read_switch({"APPTAINER_" + name, value}));
            if (!is_on) {
                continue;
            }
        }
        call.flags.emplace_back(flag, flag->takes_value ? value : "");
    }
    return {};
}

/// The option of ours for each flag.
Result<std::vector<std::string>> same_flags(const OtherCall& call) {
    std::vector<std::string> words;
    for (const auto& [flag, value] : call.flags) {
        // Like there, an empty value is none, but for the file of a key.
        if (flag->takes_value && value.empty() &&
            ((flag->kind == OtherFlag::Kind::kRefused && !flag->has_name("--pem-path")) ||
             flag->has_name("--mount") || flag->kind == OtherFlag::Kind::kSameEach)) {
            continue;
        }
        if (flag->kind == OtherFlag::Kind::kRefused) {
            return fail(ErrorCode::kEnvironment,
                        problem("apptainer-option-not-supported",
                                std::string(flag->names.substr(0, flag->names.find(','))) +
                                    " is not supported"),
                        std::string(flag->ours));
        }
        const bool is_list = flag->kind == OtherFlag::Kind::kSameEach;
        if (!is_list && flag->kind != OtherFlag::Kind::kSame) {
            continue;
        }
        for (const std::string& part : is_list ? read_list(value) : std::vector{value}) {
            words.emplace_back(flag->ours);
            if (flag->takes_value && part.empty()) {
                words.emplace_back(); // after `=` it would be taken for no value
            } else if (flag->takes_value) {
                words.back() += "=" + part;
            }
        }
    }
    return words;
}

Result<OwnWords> other_words(Session& session, const GlobalFlags& flags, const OtherVerb& verb) {
    const auto parts =
        static_cast<std::size_t>(1 + std::count(verb.verb.begin(), verb.verb.end(), ' '));
    auto call = read_call(session, verb, flags.at + parts);
    if (!call && verb.verb == "build" && call.error().faults().front().subject == "--remote") {
        (void)std::fputs(
            "Error: --remote is no longer supported, try building locally without it\n", stderr);
        return done(kWrongUsage);
    }
    if (!call) {
        return wrong_usage(session, std::string(verb.verb), call.error());
    }
    if (call->wants_help) {
        Session::print(help_of(session.apptainer_name, std::string(verb.verb)));
        return done(0);
    }
    CYBELE_CHECK(add_variables(session, *call));
    const bool has_flags = call->has("--docker-username") && call->has("--docker-password");
    std::error_code failed; // like there, a missing file of logins has none
    const bool is_missing =
        call->has("--authfile") && !std::filesystem::exists(call->value("--authfile"), failed);
    const bool writes_logins = verb.verb.starts_with("registry") || verb.verb.starts_with("remote");
    if (!writes_logins && (is_missing || has_login(session, has_flags))) {
        std::erase_if(call->flags,
                      [](const auto& one) { return one.first->has_name("--authfile"); });
    }
    CYBELE_TRY(call->same, same_flags(*call));
    call->group_file = flags.group_file;
    session.is_quiet = session.is_quiet || flags.is_quiet;
    session.is_silent = flags.is_silent;
    session.prints_info = !session.is_quiet;
    auto translated = translate(session, *call);
    if (!translated && translated.error().code() == ErrorCode::kUsage) {
        return wrong_usage(session, std::string(verb.verb), translated.error());
    }
    CYBELE_TRY(OwnWords own, std::move(translated));
    if (flags.is_quiet && !own.words.empty()) {
        own.words.insert(own.words.begin(), "--quiet");
    }
    for (int count = 0; count < flags.verbosity && !own.words.empty(); ++count) {
        own.words.insert(own.words.begin(), "--verbose");
    }
    return own;
}

bool asks_for_help(const std::vector<std::string>& words, std::size_t at) {
    return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(at),
                       words.end(),
                       [](const std::string& word) { return word == "--help" || word == "-h"; });
}

Error unknown_flag(const std::string& word) {
    const bool is_letter = word.size() > 1 && word[1] != '-';
    return Error(ErrorCode::kUsage,
                 problem("apptainer-flag",
                         is_letter ? fmt::format("unknown shorthand flag: '{}' in {}",
                                                 printable(word.substr(1, 1)),
                                                 printable(word))
                                   : "unknown flag: " + printable(word.substr(0, word.find('=')))));
}

/// A word with verbs below it, without one of them: some show their help, others say that it is
/// wrong.
Result<OwnWords>
group_words(const Session& session, const GlobalFlags& flags, const std::string& verb) {
    constexpr std::string_view kWithHelp[] = {
        "sif", "registry", "remote", "keyserver", "checkpoint", "config", "oci"};
    const std::size_t next = flags.at + 1;
    const bool is_flag = next < session.words.size() && session.words[next].starts_with('-') &&
                         session.words[next] != "--";
    const bool is_help = is_flag && asks_for_help(session.words, flags.at);
    if (is_flag && !is_help) {
        return wrong_usage(session, verb, unknown_flag(session.words[next]));
    }
    if (!is_help && !contains(kWithHelp, verb)) {
        return wrong_usage(
            session,
            verb,
            Error(ErrorCode::kUsage, problem("apptainer-command-line", "invalid command")));
    }
    Session::print(help_of(session.apptainer_name, verb));
    return done(0);
}

Result<OwnWords> help_words(const Session& session, std::size_t at) {
    if (at < session.words.size() && session.words[at].starts_with('-')) {
        const std::string& word = session.words[at];
        if (word != "-h" && word != "--help") {
            return wrong_usage(session, "help", unknown_flag(word));
        }
        Session::print(help_of(session.apptainer_name, "help"));
        return done(0);
    }
    if (at >= session.words.size()) {
        Session::print(help_of(session.apptainer_name, ""));
        return done(0);
    }
    const std::string verb = verb_at(session.words, at);
    const bool is_known = verb == "help" || start_verb(verb) != nullptr ||
                          find_verb(verb) != nullptr || is_group(verb);
    if (!is_known) {
        std::string topics;
        for (std::size_t i = at; i < session.words.size(); ++i) {
            topics += (topics.empty() ? "`" : " `") + printable(session.words[i]) + "`";
        }
        const std::string usage = usage_of(session.apptainer_name, "");
        Session::print("Unknown help topic [" + topics + "]\n" +
                       usage.substr(0, usage.rfind("\nRun '")));
        return done(0);
    }
    Session::print(help_of(session.apptainer_name, verb));
    return done(0);
}

/// A verb that starts nothing: carried, or refused with what to do instead.
Result<OwnWords> verb_words(Session& session,
                            const GlobalFlags& flags,
                            const std::string& verb,
                            const OtherVerb& other) {
    if (!other.refused.empty() && asks_for_help(session.words, flags.at)) {
        Session::print(help_of(session.apptainer_name, verb));
        return done(0);
    }
    if (!other.refused.empty() && is_group(verb)) {
        return group_words(session, flags, verb);
    }
    if (!other.refused.empty()) {
        if (auto read = check_refused_words(session.words, flags.at, other); !read) {
            return wrong_usage(session, verb, read.error());
        }
        session.prints_info = !flags.is_quiet && !flags.is_silent;
        if (const auto refused = refused_as_apptainer(session, verb)) {
            CYBELE_TRY(const int code, *refused);
            return done(code);
        }
        return fail(ErrorCode::kEnvironment,
                    problem("apptainer-command-not-supported",
                            "`" + session.apptainer_name + " " + verb + "` is not supported"),
                    std::string(other.refused));
    }
    return other_words(session, flags, other);
}

} // namespace

Result<OwnWords> own_words(Session& session) {
    auto flags = read_global_flags(session.words, session.environment);
    if (!flags && flags.error().code() != ErrorCode::kUsage) {
        return tl::unexpected(flags.error());
    }
    if (!flags) {
        return wrong_usage(session, "", flags.error());
    }
    if (flags->wants_help) { // before a command it counts, whatever follows
        Session::print(help_of(session.apptainer_name, ""));
        return done(0);
    }
    if (flags->wants_version) {
        print_version(session, *flags);
        return done(0);
    }
    const bool has_verb = flags->at < session.words.size() && !flags->has_end &&
                          !session.words[flags->at].empty() && session.words[flags->at] != "-";
    if (!has_verb) {
        Session::print(usage_of(session.apptainer_name, ""));
        return done(kWrongUsage);
    }
    flags->group_file = take_group_file(session.words, flags->at);
    const std::string verb = verb_at(session.words, flags->at);
    if (verb == "help") {
        return help_words(session, flags->at + 1);
    }
    if (const StartVerb* const start = start_verb(verb)) {
        return start_words(session, *flags, *start);
    }
    std::error_code failed;
    if (!flags->config.empty() && !std::filesystem::exists(flags->config, failed)) {
        const std::string file = printable(flags->config);
        return fail(ErrorCode::kInput,
                    problem("host-settings-missing",
                            fmt::format("While initializing: couldn't parse configuration file {}: "
                                        "open {}: no such file or directory",
                                        file,
                                        file)));
    }
    if (const OtherVerb* const other = find_verb(verb)) {
        return verb_words(session, *flags, verb, *other);
    }
    if (is_group(verb)) {
        return group_words(session, *flags, verb);
    }
    return wrong_usage(session,
                       "",
                       Error(ErrorCode::kUsage,
                             problem("apptainer-command-unknown",
                                     fmt::format("unknown command \"{}\" for \"{}\"",
                                                 printable(verb),
                                                 session.apptainer_name))));
}

} // namespace cybele::cli
