// SPDX-License-Identifier: Apache-2.0
#include "cli/run/flag_words.hpp"

#include "runtime/containers/csv.hpp"
#include "support/find.hpp"
#include "support/text.hpp"

namespace cybele::cli {

namespace {

tl::unexpected<Error> refuse_flag(const std::string& message) {
    return fail(ErrorCode::kUsage, problem("apptainer-flag", message));
}

/// "--name", "--name=value".
Result<void> read_long(FlagWords& read,
                       const std::vector<std::string>& words,
                       std::size_t& at,
                       const TakesValue& takes_value) {
    const std::string& word = words[at];
    const std::size_t equals = word.find('=');
    FlagWord flag{word.substr(0, equals), std::nullopt};
    const std::optional<bool> takes = takes_value(flag.name);
    if (!takes) {
        return fail(ErrorCode::kUsage,
                    problem("apptainer-flag", "unknown flag: " + flag.name).about(flag.name));
    }
    if (equals != std::string::npos) {
        flag.value = word.substr(equals + 1);
    } else if (*takes) {
        if (at + 1 >= words.size()) {
            return refuse_flag("flag needs an argument: " + flag.name);
        }
        flag.value = words[++at];
    }
    read.flags.push_back(std::move(flag));
    return {};
}

/// "-e", "-ec", "-Bvalue", "-B=value", "-B value", and switches before it.
Result<void> read_letters(FlagWords& read,
                          const std::vector<std::string>& words,
                          std::size_t& at,
                          const TakesValue& takes_value) {
    const std::string& word = words[at];
    for (std::size_t letter = 1; letter < word.size(); ++letter) {
        FlagWord flag{std::string("-") + word[letter], std::nullopt};
        const std::optional<bool> takes = takes_value(flag.name);
        if (!takes) {
            return refuse_flag(std::string("unknown shorthand flag: '") + word[letter] + "' in " +
                               ("-" + word.substr(letter)));
        }
        // "-B=" has the value "=", like every library of flags that Apptainer uses reads it.
        const bool has_equals = letter + 2 < word.size() && word[letter + 1] == '=';
        const bool ends = *takes || has_equals;
        if (has_equals) {
            flag.value = word.substr(letter + 2);
        } else if (*takes && letter + 1 < word.size()) {
            flag.value = word.substr(letter + 1);
        } else if (*takes) {
            if (at + 1 >= words.size()) {
                return refuse_flag(std::string("flag needs an argument: '") + word[letter] +
                                   "' in -" + word.substr(letter));
            }
            flag.value = words[++at];
        }
        read.flags.push_back(std::move(flag));
        if (ends) {
            return {};
        }
    }
    return {};
}

} // namespace

Result<FlagWords> read_flag_words(const std::vector<std::string>& words,
                                  std::size_t at,
                                  const TakesValue& takes_value,
                                  bool is_mixed) {
    FlagWords read;
    for (; at < words.size(); ++at) {
        const std::string& word = words[at];
        if (word == "--") {
            ++at;
            break;
        }
        if (word.size() < 2 || word.front() != '-') {
            if (!is_mixed) {
                break;
            }
            read.rest.push_back(word);
        } else if (word[1] == '-') {
            CYBELE_CHECK(read_long(read, words, at, takes_value));
        } else {
            CYBELE_CHECK(read_letters(read, words, at, takes_value));
        }
    }
    if (at < words.size()) {
        read.rest.insert(
            read.rest.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    }
    return read;
}

std::string title_of(std::string_view names) {
    std::string letter;
    std::string word;
    for (const std::string_view name : text::split_terminated(names, ',')) {
        std::string& one = name.starts_with("--") ? word : letter;
        one = one.empty() ? std::string(name) : one;
    }
    return letter + (letter.empty() || word.empty() ? "" : ", ") + word;
}

Result<bool> read_switch(const FlagWord& flag, std::string_view names) {
    constexpr std::string_view kYes[] = {"1", "t", "T", "true", "TRUE", "True"};
    constexpr std::string_view kNo[] = {"0", "f", "F", "false", "FALSE", "False"};
    const std::string value = flag.value.value_or("true");
    if (contains(kYes, value)) {
        return true;
    }
    if (contains(kNo, value)) {
        return false;
    }
    return refuse_flag("invalid argument \"" + value + "\" for \"" +
                       title_of(names.empty() ? flag.name : names) +
                       "\" flag: strconv.ParseBool: parsing \"" + value + "\": invalid syntax");
}

std::vector<std::string> read_list(std::string_view text) {
    return runtime::csv_fields(text);
}

} // namespace cybele::cli
