// SPDX-License-Identifier: Apache-2.0
#include "cli/common/assignments.hpp"

#include "cli/common/cli11.hpp"
#include "support/quote.hpp"

namespace cybele::cli {

void add_assignments(CLI::App& verb, const AssignmentOption& option, std::vector<std::string>& to) {
    verb.add_option(option.name, to, option.meaning)
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
}

Result<std::map<std::string, std::string>> read_assignments(const AssignmentOption& option,
                                                            const std::vector<std::string>& words) {
    std::map<std::string, std::string> values;
    std::vector<Fault> faults;
    const std::string name = option.name;
    for (const std::string& word : words) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos || equals == 0) {
            faults.push_back(
                Fault(ErrorCode::kUsage,
                      problem("assignment-malformed",
                              name + " requires NAME=VALUE, not '" + printable(word) + "'"),
                      option.because,
                      "write " + name + " NAME=VALUE"));
        } else {
            const std::string key = word.substr(0, equals);
            const auto [known, is_new] = values.try_emplace(key, word.substr(equals + 1));
            if (!is_new && option.is_once && known->second != word.substr(equals + 1)) {
                faults.push_back(Fault(ErrorCode::kUsage,
                                       problem("assignment-twice",
                                               name + " gives '" + printable(key) + "' two values"),
                                       "'" + printable(known->second) + "' and '" +
                                           printable(word.substr(equals + 1)) + "'",
                                       "leave `" + name + " " +
                                           printable(shell_quote(key + "=" + known->second)) +
                                           "` out, or the other one"));
            }
            known->second = word.substr(equals + 1);
        }
    }
    if (!faults.empty()) {
        return fail(Error(std::move(faults)));
    }
    return values;
}

} // namespace cybele::cli
