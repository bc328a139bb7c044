// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "cli/help/completion_script.hpp"
#include "submission/journal/state.hpp"
#include "support/embedded.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

namespace cybele::embedded {
std::span<const EmbeddedFile> reference_pages();
}

namespace cybele::cli {

namespace {

std::string first_sentence(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

std::string state_words() {
    std::string words;
    for (int at = 0; at <= static_cast<int>(submission::State::kNotSubmitted); ++at) {
        words += (at == 0 ? "" : " ") +
                 std::string(submission::state_text(static_cast<submission::State>(at)));
    }
    return words;
}

/// The words that the option accepts, `slurm torque`; empty where it accepts others.
std::string choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t begin = type.find('{');
    std::string words;
    if (begin != std::string::npos && type.ends_with('}')) {
        words = type.substr(begin + 1, type.size() - begin - 2);
        std::replace(words.begin(), words.end(), ',', ' ');
    }
    for (const std::string& name : option.get_lnames()) {
        words = name == "state" ? state_words() : words;
    }
    const bool is_plain = words.find_first_of("'\\$`") == std::string::npos;
    return is_plain ? words : std::string();
}

/// The words of an argument that names a command, or a topic of `explain`.
std::string arguments_of(const CLI::App& app, const std::string& path) {
    std::string words;
    if (path == "help") {
        for (const CLI::App* verb : app.get_parent()->get_subcommands({})) {
            words += (words.empty() ? "" : " ") + verb->get_name();
        }
    }
    for (const EmbeddedFile& page :
         path == "explain" ? embedded::reference_pages() : std::span<const EmbeddedFile>()) {
        words += (words.empty() ? "" : " ") + std::filesystem::path(page.name).stem().native();
    }
    for (const CLI::Option* option : app.get_options()) {
        words = option->get_positional() && words.empty() ? choices_of(*option) : words;
    }
    return words;
}

void collect_verbs(const CLI::App& app, const std::string& path, std::vector<VerbWords>& found) {
    VerbWords words{
        path, first_sentence(app.get_description()), {}, {}, {}, arguments_of(app, path)};
    for (const CLI::Option* option : app.get_options()) {
        if (const std::string values = choices_of(*option); !values.empty()) {
            for (const std::string& name : option->get_lnames()) {
                words.values.emplace_back("--" + name, values);
            }
            for (const std::string& name : option->get_snames()) {
                words.values.emplace_back("-" + name, values);
            }
        }
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
