// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "cli/help/completion_script.hpp"

#include <memory>

namespace cybele::cli {

namespace {

std::string first_sentence(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

void collect_verbs(const CLI::App& app, const std::string& path, std::vector<VerbWords>& found) {
    VerbWords words{path, first_sentence(app.get_description()), {}, {}};
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            words.options.emplace_back("--" + name, first_sentence(option->get_description()));
        }
        for (const std::string& name : option->get_snames()) {
            words.options.emplace_back("-" + name, first_sentence(option->get_description()));
        }
    }
    for (const CLI::App* verb : app.get_subcommands({})) {
        words.verbs.emplace_back(verb->get_name(), first_sentence(verb->get_description()));
    }
    found.push_back(words);
    for (const CLI::App* verb : app.get_subcommands({})) {
        collect_verbs(
            *verb, path.empty() ? verb->get_name() : path + " " + verb->get_name(), found);
    }
}

} // namespace

void install_completion(CLI::App& app, Session& session) {
    auto shell = std::make_shared<std::string>();
    CLI::App* verb =
        add_verb(app,
                 "completion",
                 "Print the completion script of a shell.",
                 {"source <(cybelectl completion bash)",
                  "cybelectl completion fish > ~/.config/fish/completions/cybelectl.fish"});
    verb->add_option("shell", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    verb->callback([&app, &session, shell] {
        session.action = [&app, shell]() -> Result<int> {
            std::vector<VerbWords> all;
            collect_verbs(app, "", all);
            Session::print(completion_script(*shell, "cybelectl", all));
            return 0;
        };
    });
}

} // namespace cybele::cli
