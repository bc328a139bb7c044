// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/given_options.hpp"

#include "support/quote.hpp"

namespace cybele::submission {
namespace {

struct GivenOption {
    const char* option;
    std::string Overrides::*member;
};
constexpr GivenOption kGivenOptions[] = {
    {"-N", &Overrides::nodes},
    {"-n", &Overrides::tasks},
    {"--ntasks-per-node", &Overrides::tasks_per_node},
    {"-c", &Overrides::cpus_per_task},
    {"-t", &Overrides::time},
    {"-p", &Overrides::queue},
    {"-A", &Overrides::account},
    {"-J", &Overrides::name},
    {"-d", &Overrides::dependency},
    {"--stdout", &Overrides::standard_output},
    {"--stderr", &Overrides::standard_error},
};

std::string with_value(const std::string& option, const std::string& value) {
    return option + " " + printable(shell_quote(value));
}

} // namespace

std::vector<std::string> given_options(const Overrides& overrides) {
    std::vector<std::string> options;
    for (const GivenOption& row : kGivenOptions) {
        if (const std::string& value = overrides.*row.member; !value.empty()) {
            options.push_back(with_value(row.option, value));
        }
    }
    if (overrides.array) {
        options.push_back(with_value("-a", *overrides.array));
    }
    for (const OptionOverride& row : option_overrides()) {
        const auto found = overrides.options.find(row.option);
        if (found != overrides.options.end()) {
            options.push_back(row.is_flag ? row.option : with_value(row.option, found->second));
        }
    }
    if (overrides.allow_root) {
        options.emplace_back("--allow-root");
    }
    return options;
}

} // namespace cybele::submission
