// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"

namespace cybele::cli {

void add_format(CLI::App& verb, Session& session, Formats formats) {
    std::vector<std::string> forms{"text", "json"};
    if (formats == Formats::kAlsoSarif) {
        forms.emplace_back("sarif");
    }
    verb.add_option("--format", session.format, "form of the output and of messages")
        ->check(CLI::IsMember(forms))
        ->capture_default_str();
}

CLI::App* add_verb(CLI::App& parent,
                   const std::string& name,
                   const std::string& description,
                   const std::vector<std::string>& examples) {
    CLI::App* verb = parent.add_subcommand(name, description);
    std::string footer = "Examples:\n";
    for (const std::string& example : examples) {
        footer += "  " + example + "\n";
    }
    if (!examples.empty()) {
        footer.pop_back();
        verb->footer(footer);
    }
    return verb;
}

} // namespace cybele::cli
