// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/script_shell.hpp"

#include <algorithm>

namespace cybele::schedulers {
namespace {

constexpr std::string_view kLineBlanks = " \t";

std::string_view without_blanks(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(kLineBlanks), text.size()));
    const std::size_t last = text.find_last_not_of(kLineBlanks);
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

} // namespace

std::vector<std::string> shell_words_of(const BatchScript& script) {
    const std::string first = script.lines.empty() ? std::string() : script.lines.front();
    if (!first.starts_with("#!")) {
        const Directive* const named = script.find("shell");
        // `-S /bin/bash@host`: the first of a list
        return named == nullptr ? std::vector<std::string>()
                                : std::vector<std::string>{
                                      named->value.substr(0, named->value.find_first_of(",@"))};
    }
    const std::string_view line = without_blanks(std::string_view(first).substr(2));
    const std::size_t end = std::min(line.find_first_of(kLineBlanks), line.size());
    std::vector<std::string> words{std::string(line.substr(0, end))};
    if (const auto option = without_blanks(line.substr(end)); !option.empty()) {
        words.emplace_back(option); // all of it is one word
    }
    return words;
}

std::string shell_name_of(const BatchScript& script) {
    const std::vector<std::string> words = shell_words_of(script);
    if (words.empty()) {
        return {};
    }
    const std::string_view name = name_of(words.front());
    if (name != "env" || words.size() < 2) {
        return std::string(name);
    }
    std::string_view rest = words.back(); // `env -S bash -l` too
    while (rest.starts_with('-')) {
        rest = without_blanks(rest.substr(std::min(rest.find_first_of(kLineBlanks), rest.size())));
    }
    return std::string(name_of(rest.substr(0, rest.find_first_of(kLineBlanks))));
}

bool is_of_pbs(const BatchScript& script) {
    return script.reader == Reader::kTorque || script.reader == Reader::kPbspro;
}

bool starts_at_home_of(const BatchScript& script) {
    return is_of_pbs(script) && script.find("workdir") == nullptr &&
           script.find("-l wd") == nullptr && !is_in_private_folder(script);
}

bool sets_submit_folder(const BatchScript& script) {
    return script.reader == Reader::kTorque &&
           (script.find("workdir") != nullptr || script.find("submit-folder") != nullptr);
}

bool is_in_private_folder(const BatchScript& script) {
    const Directive* const sandbox = script.find("-W sandbox");
    return sandbox != nullptr && sandbox->value == "PRIVATE";
}

std::string variables_of(const BatchScript& script) {
    std::string list;
    for (const Directive& directive : script.directives) {
        if (directive.need == "variables" && !directive.value.empty()) {
            list += (list.empty() ? "" : ",") + directive.value;
        }
    }
    return list;
}

} // namespace cybele::schedulers
