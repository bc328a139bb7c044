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
            Fault fault;
            fault.code = ErrorCode::kUsage;
            fault.set(problem("assignment-malformed",
                              name + " requires NAME=VALUE, not '" + printable(word) + "'"));
            fault.because = option.because;
            fault.help = "write " + name + " NAME=VALUE";
            faults.push_back(std::move(fault));
        } else {
            const std::string key = word.substr(0, equals);
            const auto [known, is_new] = values.try_emplace(key, word.substr(equals + 1));
            if (!is_new && option.is_once && known->second != word.substr(equals + 1)) {
                Fault fault;
                fault.code = ErrorCode::kUsage;
                fault.set(problem("assignment-twice",
                                  name + " gives '" + printable(key) + "' two values"));
                fault.because = "'" + printable(known->second) + "' and '" +
                                printable(word.substr(equals + 1)) + "'";
                fault.help = "leave `" + name + " " +
                             printable(shell_quote(key + "=" + known->second)) +
                             "` out, or the other one";
                faults.push_back(std::move(fault));
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
