// SPDX-License-Identifier: Apache-2.0
#include "cli/help/usage.hpp"

#include "cli/common/cli11.hpp"
#include "cli/help/help_formatter.hpp"
#include "cli/help/removed.hpp"
#include "cli/help/usage_values.hpp"
#include "cli/help/verb_hints.hpp"
#include "support/document_help.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>

namespace cybele::cli {
namespace {

/// The verb that the words name, as far as they name one.
struct Called {
    const CLI::App* verb = nullptr;
    std::string path = "cybelectl";
    std::string unknown;                  ///< a word where a verb should stand
    std::vector<std::string> following{}; ///< the words after that one
};

Called called_by(const CLI::App& app, const std::vector<std::string>& words) {
    Called called{&app, "cybelectl", {}};
    for (auto at = words.begin(); at != words.end(); ++at) {
        const std::string& word = *at;
        if (word.empty() || word.front() == '-') {
            continue;
        }
        const auto verbs = called.verb->get_subcommands({});
        if (verbs.empty()) {
            break;
        }
        const auto found = std::ranges::find_if(
            verbs, [&](const CLI::App* verb) { return verb->get_name() == word; });
        if (found == verbs.end()) {
            called.unknown = word;
            called.following.assign(at + 1, words.end());
            break;
        }
        called.verb = *found;
        called.path += " " + word;
    }
    return called;
}

/// A command, an option or a value of one that an earlier version had.
std::optional<RemovedUsage> removed_words(const Called& called,
                                          const std::vector<std::string>& words) {
    const std::string_view path = called.path;
    const std::size_t blank = std::min(path.find(' '), path.size());
    std::string command(path.substr(std::min(blank + 1, path.size())));
    if (called.unknown.empty()) {
        return removed_option(command, words);
    }
    command += (command.empty() ? "" : " ") + called.unknown;
    return removed_command(command, called.following);
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& names) {
    return nearest(word, std::vector<std::string_view>(names.begin(), names.end()));
}

/// `--verify-key` for `--verify`, `--sign-key` for `--key`, `--key` for `--sign-key`.
std::string related_of(std::string_view word, const std::vector<std::string>& names) {
    constexpr std::size_t kShortest = 5; // with its two hyphens
    const auto found = std::ranges::find_if(names, [&](const std::string& name) {
        return word.size() >= kShortest && name.size() >= kShortest &&
               (name.starts_with(std::string(word) + "-") || name.ends_with(word.substr(1)) ||
                word.ends_with(name.substr(1)));
    });
    return found == names.end() ? "" : *found;
}

Usage unknown_verb(const CLI::App& app, const Called& called) {
    const std::string message = "unknown command '" + printable(called.unknown) + "'";
    auto commands = commands_for(app, called.unknown);
    const std::string group = called.verb->get_name() + " "; // `job delete`: a verb of jobs first
    const auto is_of_group = [&](const std::string& command) { return command.starts_with(group); };
    if (std::ranges::any_of(commands, is_of_group)) {
        std::erase_if(commands, [&](const std::string& command) { return !is_of_group(command); });
    }
    if (!commands.empty()) {
        return {message, verb_hint(commands, called.following), "command-unknown"};
    }
    std::vector<std::string> names;
    for (const CLI::App* verb : called.verb->get_subcommands({})) {
        names.push_back(verb->get_name());
    }
    return {message,
            did_you_mean(nearest_of(called.unknown, names),
                         "`" + called.path + " --help` lists the verbs"),
            "command-unknown"};
}

/// Options that belong to another command.
struct OptionHint {
    std::string_view command;
    std::string_view option;
    std::string_view help;
};
constexpr std::string_view kSignFirst =
    "build and sign the image first: `cybelectl build RECIPE --sign-key KEY`";
constexpr OptionHint kOptionHints[] = {
    {"cybelectl submit", "--sign-key", kSignFirst},
    {"cybelectl job resubmit", "--sign-key", kSignFirst},
    {"cybelectl image push",
     "--sign-key",
     "sign the image first: `cybelectl sign --key KEY IMAGE`"},
    {"cybelectl job collect", "-o", "write --to DIR"},
    {"cybelectl job collect", "--output", "write --to DIR"},
    {"cybelectl job list", "-u", "leave it out: your own jobs are listed"},
    {"cybelectl job list", "--user", "leave it out: your own jobs are listed"},
    {"cybelectl image pull", "--key", "did you mean '--verify'?"},
    {"cybelectl image push", "--verify", "verify it first: `cybelectl verify --key KEY IMAGE`"},
};

/// Options of sbatch and qsub that are fields of the Job alone, for commands with `--ntasks`.
constexpr std::pair<std::string_view, std::string_view> kJobFields[] = {
    {"--mem", "write `memory-per-node: SIZE` under `resources` of the Job"},
    {"--mem-per-cpu", "write `memory-per-cpu: SIZE` under `resources` of the Job"},
    {"--mail-type", "write `mail: {to: ADDRESS, on: [end, fail]}` in the Job"},
    {"--mail-user", "write `mail: {to: ADDRESS, on: [end, fail]}` in the Job"},
    {"--output", "write --stdout FILE"},
    {"--error", "write --stderr FILE"},
    {"--exclusive", "write `exclusive: true` under `resources` of the Job"},
    {"--constraint", "write `constraint: FEATURE` under `resources` of the Job"},
    {"--qos", "write `qos: NAME` in the Job"},
    {"--chdir", "write `workdir: FOLDER` in the Job"},
    {"--signal", "write `signal: {name: USR1, before: 5 min}` in the Job"},
    {"--export", "write the variables under `environment` of the Job"},
    {"--walltime", "write --time TIME"},
    {"--ppn", "write --ntasks-per-node N"},
    {"-l", "write -N NODES --ntasks-per-node N -t TIME; memory is `memory-per-node` of the Job"},
    {"-W", "write -d LIST for `depend=`; others are `directives` of the Job"},
    {"-C", "write `constraint: FEATURE` under `resources` of the Job"},
    {"-D", "write `workdir: FOLDER` in the Job"},
    {"-M", "write `mail: {to: ADDRESS, on: [end, fail]}` in the Job"},
    {"-P", "write -A NAME"},
    {"-V", "write the variables under `environment` of the Job"},
    {"-e", "write --stderr FILE"},
    {"-o", "write --stdout FILE"},
};

std::string_view field_for(const std::vector<std::string>& names, std::string_view option) {
    const bool has_overrides = contains(names, "--ntasks");
    for (const auto& [theirs, help] : kJobFields) {
        if (has_overrides && theirs == option) {
            return help;
        }
    }
    return {};
}

std::string_view hint_for(std::string_view command, std::string_view option) {
    const auto* const found = std::ranges::find_if(kOptionHints, [&](const OptionHint& row) {
        return row.command == command && row.option == option;
    });
    return found == std::end(kOptionHints) ? "" : found->help;
}

/// `--wiat`, in CLI11's words "The following argument was not expected: --wiat".
std::optional<Usage> unknown_option(const Called& called, std::string_view message) {
    constexpr std::string_view kSays = "not expected: ";
    const std::size_t at = message.find(kSays);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    // An option that is unknown makes an argument of its value: `demo.pub --kye`.
    const std::vector<std::string_view> words =
        text::split_terminated(message.substr(at + kSays.size()), ' ');
    const auto found = std::ranges::find_if(
        words, [](std::string_view word) { return word.size() > 1 && word.front() == '-'; });
    if (found == words.end()) {
        return std::nullopt;
    }
    const std::string_view word = found->substr(0, found->find('='));
    std::vector<std::string> names;
    for (const CLI::App* app = called.verb; app != nullptr; app = app->get_parent()) {
        for (const CLI::Option* option : app->get_options()) {
            for (const std::string& name : option->get_lnames()) {
                names.push_back("--" + name);
            }
        }
    }
    const bool has_format = contains(names, "--format");
    const std::string_view own =
        word == "--json" && has_format ? "write --format json" : hint_for(called.path, word);
    if (const auto hint = own.empty() ? field_for(names, word) : own; !hint.empty()) {
        return Usage{called.path + " has no option '" + printable(word) + "'",
                     std::string(hint),
                     "option-unknown"};
    }
    std::string meant = nearest_of(word, names);
    return Usage{called.path + " has no option '" + printable(word) + "'",
                 did_you_mean(meant.empty() ? related_of(word, names) : std::move(meant),
                              "`" + called.path + " --help` lists them"),
                 "option-unknown"};
}

/// `job render --hepl`, of which CLI11 says "job is required": the word is the mistake.
std::optional<Usage> unknown_before_required(const Called& called,
                                             std::string_view message,
                                             const std::vector<std::string>& words) {
    if (!message.ends_with(" is required")) {
        return std::nullopt;
    }
    for (const std::string& word : words) {
        const std::string name = word.substr(0, word.find('='));
        bool is_known = name == "--" || !name.starts_with("--");
        for (const CLI::App* app = called.verb; app != nullptr; app = app->get_parent()) {
            is_known = is_known || app->get_option_no_throw(name) != nullptr;
        }
        if (!is_known) {
            return unknown_option(called, "not expected: " + word);
        }
        if (word == "--") {
            break;
        }
    }
    return std::nullopt;
}

/// `recipe render out.def recipe.yaml`: of two words one is there, and the other was to be made.
std::optional<Usage> output_as_word(const Called& called,
                                    std::string_view message,
                                    const std::vector<std::string>& words) {
    constexpr std::string_view kSays = "argument was not expected: ";
    const std::size_t at = message.find(kSays);
    if (at == std::string_view::npos || called.verb->get_option_no_throw("--output") == nullptr) {
        return std::nullopt;
    }
    std::vector<std::string> given;
    std::copy_if(words.begin(), words.end(), std::back_inserter(given), [](const auto& word) {
        return !word.empty() && word.front() != '-';
    });
    const auto depth =
        static_cast<std::ptrdiff_t>(text::split_terminated(called.path, ' ').size()) - 1;
    given.erase(given.begin(), given.begin() + std::min<std::ptrdiff_t>(depth, std::ssize(given)));
    const auto is_there = [](const std::string& name) {
        std::error_code error;
        return std::filesystem::exists(name, error);
    };
    if (given.size() != 2 || given.back() != message.substr(at + kSays.size()) ||
        is_there(given.front()) == is_there(given.back())) {
        return std::nullopt;
    }
    const bool is_first = is_there(given.front());
    return Usage{"'" + printable(given.back()) + "' is one word too many",
                 "write `" + called.path + " " +
                     printable(shell_quote(is_first ? given.front() : given.back())) + " -o " +
                     printable(shell_quote(is_first ? given.back() : given.front())) + "`"};
}

/// Words before every verb are options of ours; "A subcommand is required" is CLI11's only word.
std::optional<Usage> missing_verb(const CLI::App& app,
                                  const Called& called,
                                  std::string_view message,
                                  const std::vector<std::string>& words) {
    if (!message.starts_with("A subcommand is required")) {
        return std::nullopt;
    }
    for (const std::string& word : words) {
        const std::string name = word.substr(0, word.find('='));
        if (word.size() > 1 && word.front() == '-' && app.get_option_no_throw(name) == nullptr) {
            return unknown_option(called, "not expected: " + word);
        }
    }
    std::string verbs;
    for (const CLI::App* verb : called.verb->get_subcommands({})) {
        verbs += (verbs.empty() ? "" : ", ") + verb->get_name();
    }
    return Usage{
        "`" + called.path + "` needs a command after it", "name one: " + verbs, "command-missing"};
}

} // namespace

Fault usage_fault(const CLI::App& app,
                  const std::string& message,
                  const std::vector<std::string>& words) {
    const Called called = called_by(app, words);
    Fault fault;
    fault.code = ErrorCode::kUsage;
    if (auto removed = removed_words(called, words)) {
        fault.set(problem("usage-removed", std::move(removed->message)));
        fault.because = std::move(removed->because);
        fault.help = std::move(removed->help);
        return fault;
    }
    const std::string line = message.substr(0, message.find('\n'));
    Usage usage{line, "write `" + called_as(*called.verb, called.path) + "`"};
    if (!called.unknown.empty()) {
        usage = unknown_verb(app, called);
    } else if (auto verb = missing_verb(app, called, line, words)) {
        usage = std::move(*verb);
    } else if (auto option = unknown_option(called, line)) {
        usage = std::move(*option);
    } else if (auto mistyped = unknown_before_required(called, line, words)) {
        usage = std::move(*mistyped);
    } else if (auto output = output_as_word(called, line, words)) {
        usage = std::move(*output);
    } else if (auto value = usage_of_values(line, words)) {
        usage = std::move(*value);
    } else if (auto count = usage_of_count(*called.verb, called.path, line)) {
        usage = std::move(*count);
    }
    fault.set(problem(usage.id, std::move(usage.message)));
    fault.help = std::move(usage.help);
    return fault;
}

} // namespace cybele::cli
