// SPDX-License-Identifier: Apache-2.0
#include "cli/help/usage_values.hpp"

#include "cli/help/help_formatter.hpp"
#include "support/document_help.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

namespace cybele::cli {
namespace {

/// `--format csv`, in CLI11's words "--format: csv not in {text,json}".
std::optional<Usage> wrong_choice(std::string_view message) {
    constexpr std::string_view kSays = " not in {";
    const std::size_t colon = message.find(": ");
    const std::size_t at = message.find(kSays);
    if (colon == std::string_view::npos || at == std::string_view::npos || at < colon ||
        !message.ends_with('}')) {
        return std::nullopt;
    }
    const std::string_view word = message.substr(colon + 2, at - colon - 2);
    std::string_view rest = message.substr(at + kSays.size());
    rest.remove_suffix(1);
    std::vector<std::string> known;
    std::string shown;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        known.emplace_back(rest.substr(0, end));
        shown += (shown.empty() ? "" : ", ") + known.back();
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const std::vector<std::string_view> choices(known.begin(), known.end());
    const std::string_view synonym = document::synonym_of(word, choices);
    const std::string near = synonym.empty() ? nearest(word, choices) : std::string(synonym);
    const std::string option = // of a positional: its value alone
        message.starts_with('-') ? std::string(message.substr(0, colon)) + " " : std::string();
    return Usage{
        std::string(message.substr(0, colon)) + " accepts " + shown + ", not '" + printable(word) +
            "'",
        did_you_mean(near, "write `" + option + known.front() + "`, or another of these words"),
        "option-value"};
}

/// `0.100000` as it is written by hand.
std::string plain_number(std::string_view text) {
    if (text.find('.') != std::string_view::npos) {
        text = text.substr(0, text.find_last_not_of('0') + 1);
        text = text.substr(0, text.find_last_not_of('.') + 1);
    }
    return std::string(text);
}

/// `--jobs two`, in CLI11's words "--jobs: Value two not in range 1 to 64".
std::optional<Usage> wrong_number(std::string_view message) {
    constexpr std::string_view kValue = ": Value ";
    constexpr std::string_view kRange = " not in range ";
    constexpr std::string_view kTo = " to ";
    const std::size_t value = message.find(kValue);
    const std::size_t range = message.rfind(kRange);
    const std::size_t to = message.rfind(kTo);
    if (value == std::string_view::npos || range == std::string_view::npos ||
        to == std::string_view::npos || to < range || range < value) {
        return std::nullopt;
    }
    const std::string option(message.substr(0, value));
    const std::string least =
        plain_number(message.substr(range + kRange.size(), to - range - kRange.size()));
    const std::string most = plain_number(message.substr(to + kTo.size()));
    return Usage{
        option + " requires a number from " + least + " to " + most + ", not '" +
            printable(message.substr(value + kValue.size(), range - value - kValue.size())) + "'",
        "write `" + option + " " + least + "`, or a greater number up to " + most,
        "option-value"};
}

/// `--group-id x`, in CLI11's words "Could not convert: --group-id = x".
std::optional<Usage> no_number(std::string_view message) {
    constexpr std::string_view kSays = "Could not convert: ";
    constexpr std::string_view kIs = " = ";
    const std::size_t is = message.find(kIs);
    if (!message.starts_with(kSays) || is == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string option(message.substr(kSays.size(), is - kSays.size()));
    return Usage{option + " requires a number from 0 to 4294967295, not '" +
                     printable(message.substr(is + kIs.size())) + "'",
                 "write `" + option + " 1`, or another number",
                 "option-value"};
}

/// `--scheduler torque`: where an option is given several times, its last one with its value.
std::string last_of_option(const std::string& option, const std::vector<std::string>& words) {
    for (std::size_t at = words.size(); at-- > 0;) {
        if (words[at].starts_with(option + "=")) {
            return shell_quote(words[at]);
        }
        if (words[at] == option) {
            return option + (at + 1 < words.size() ? " " + shell_quote(words[at + 1]) : "");
        }
    }
    return option;
}

/// In CLI11's words "--scheduler: At Most 1 required but received 2".
std::optional<Usage> given_again(std::string_view message, const std::vector<std::string>& words) {
    constexpr std::string_view kSays = ": At Most 1 required but received ";
    const std::size_t at = message.find(kSays);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string option(message.substr(0, at));
    return Usage{option + " is given " + std::string(message.substr(at + kSays.size())) + " times",
                 "leave `" + printable(last_of_option(option, words)) + "` out, or another of them",
                 "option-twice"};
}

/// "site is required" of a word, "--key is required" of an option.
std::optional<Usage>
missing_word(const CLI::App& verb, const std::string& path, std::string_view message) {
    constexpr std::string_view kSays = " is required";
    if (!message.ends_with(kSays)) {
        return std::nullopt;
    }
    std::string word(message.substr(0, message.size() - kSays.size()));
    const bool is_option = word.starts_with('-');
    if (word.empty() || word.find(' ') != std::string::npos) {
        return std::nullopt;
    }
    return Usage{"`" + path + "` needs " + (is_option ? "the option " + word : placeholder(word)),
                 "write `" + called_as(verb, path) + "`" + (is_option ? " with " + word : "")};
}

/// `--nodes` at the end, in CLI11's words "--nodes: 1 required N missing".
std::optional<Usage> missing_value(const CLI::App& verb, std::string_view message) {
    const std::size_t colon = message.find(": ");
    if (colon == std::string_view::npos || !message.ends_with(" missing") ||
        message.find(" required ", colon) == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string name(message.substr(0, colon));
    const CLI::Option* const option = verb.get_option_no_throw(name);
    const std::string value = option == nullptr ? "VALUE" : value_text(*option);
    return Usage{name + " needs a value", "write `" + name + " " + value + "`", "option-value"};
}

/// "The following argument was not expected: b", where none of them is an option.
std::optional<Usage>
extra_word(const CLI::App& verb, const std::string& path, std::string_view message) {
    constexpr std::string_view kSays = "not expected: ";
    const std::size_t at = message.find(kSays);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    return Usage{"too many words: " + printable(message.substr(at + kSays.size())),
                 "write `" + called_as(verb, path) + "`"};
}

/// In CLI11's words "--csv excludes --plot".
std::optional<Usage> both_given(std::string_view message) {
    constexpr std::string_view kSays = " excludes ";
    const std::size_t at = message.find(kSays);
    if (!message.starts_with('-') || at == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string one(message.substr(0, at));
    const std::string other(message.substr(at + kSays.size()));
    return Usage{one + " and " + other + " cannot be given together",
                 "leave one of them out",
                 "option-conflict"};
}

} // namespace

std::string did_you_mean(const std::string& meant, std::string otherwise) {
    return meant.empty() ? std::move(otherwise) : "did you mean '" + meant + "'?";
}

std::optional<Usage> usage_of_values(std::string_view message,
                                     const std::vector<std::string>& words) {
    if (auto choice = wrong_choice(message)) {
        return choice;
    }
    if (auto number = wrong_number(message)) {
        return number;
    }
    if (auto conversion = no_number(message)) {
        return conversion;
    }
    if (auto both = both_given(message)) {
        return both;
    }
    return given_again(message, words);
}

std::optional<Usage>
usage_of_count(const CLI::App& verb, const std::string& path, std::string_view message) {
    if (auto word = missing_word(verb, path, message)) {
        return word;
    }
    if (auto value = missing_value(verb, message)) {
        return value;
    }
    return extra_word(verb, path, message);
}

} // namespace cybele::cli
