// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "support/quote.hpp"

#include <memory>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

/// One verb as completion sees it: its words ("kube render"), the verbs below it and its options.
struct VerbWords {
    std::string path;
    std::string description;
    std::vector<std::pair<std::string, std::string>> verbs;
    std::vector<std::pair<std::string, std::string>> options;
};

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

std::string join_names(const std::vector<std::pair<std::string, std::string>>& words) {
    std::string line;
    for (const auto& [name, description] : words) {
        line += (line.empty() ? "" : " ") + name;
    }
    return line;
}

std::string bash_script(const std::vector<VerbWords>& all) {
    std::string text = "# bash completion for cybelectl\n_cybelectl() {\n"
                       "    local cur=${COMP_WORDS[COMP_CWORD]} path='' word\n"
                       "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                       "        case \"$path $word\" in\n";
    for (const VerbWords& words : all) {
        if (!words.path.empty()) {
            text += fmt::format("        ' {0}') path=' {0}' ;;\n", words.path);
        }
    }
    text += "        esac\n    done\n    local verbs='' options=''\n    case \"$path\" in\n";
    for (const VerbWords& words : all) {
        text += fmt::format("    '{}') verbs={} options={} ;;\n",
                            words.path.empty() ? "" : " " + words.path,
                            "'" + join_names(words.verbs) + "'",
                            "'" + join_names(words.options) + "'");
    }
    text += "    esac\n"
            "    if [[ $cur == -* ]]; then\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
            "    elif [[ -n $verbs ]]; then\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$cur\")\n"
            "    else\n"
            "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
            "    fi\n"
            "}\ncomplete -o filenames -F _cybelectl cybelectl\n";
    return text;
}

std::string zsh_script(const std::vector<VerbWords>& all) {
    return "#compdef cybelectl\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(all);
}

std::string fish_script(const std::vector<VerbWords>& all) {
    std::string text = "# fish completion for cybelectl\n";
    for (const VerbWords& words : all) {
        std::string condition = "__fish_use_subcommand";
        if (!words.path.empty()) {
            condition.clear();
            std::string rest = words.path;
            for (std::size_t at = 0; at <= rest.size();) {
                const std::size_t end = std::min(rest.find(' ', at), rest.size());
                condition += (condition.empty() ? "" : "; and ") +
                             std::string("__fish_seen_subcommand_from ") +
                             rest.substr(at, end - at);
                at = end + 1;
            }
        }
        for (const auto& [name, description] : words.verbs) {
            text += fmt::format("complete -c cybelectl -f -n '{}' -a {} -d {}\n",
                                condition,
                                name,
                                shell_quote(description));
        }
        for (const auto& [name, description] : words.options) {
            const bool is_long = name.rfind("--", 0) == 0;
            text += fmt::format("complete -c cybelectl -n '{}' -{} {} -d {}\n",
                                condition,
                                is_long ? "l" : "s",
                                name.substr(is_long ? 2 : 1),
                                shell_quote(description));
        }
    }
    return text;
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
            Session::print(*shell == "bash"  ? bash_script(all)
                           : *shell == "zsh" ? zsh_script(all)
                                             : fish_script(all));
            return 0;
        };
    });
}

} // namespace cybele::cli
