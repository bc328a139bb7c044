// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/script_shell.hpp"

#include "launchers/documents/first_line.hpp"

namespace cybele::schedulers {

std::vector<std::string> shell_words_of(const BatchScript& script) {
    const std::string first = script.lines.empty() ? std::string() : script.lines.front();
    if (first.starts_with("#!")) {
        return launchers::words_of_first_line(first);
    }
    const Directive* const named = script.find("shell");
    // `-S /bin/bash@host`: the first of a list
    return named == nullptr
               ? std::vector<std::string>()
               : std::vector<std::string>{named->value.substr(0, named->value.find_first_of(",@"))};
}

std::string shell_name_of(const BatchScript& script) {
    return launchers::program_of_words(shell_words_of(script));
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
