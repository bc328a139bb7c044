// SPDX-License-Identifier: Apache-2.0
#include "cli/help/completion_script.hpp"

#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::cli {

namespace {

std::string join_names(const std::vector<std::pair<std::string, std::string>>& words) {
    std::string line;
    for (const auto& [name, description] : words) {
        line += (line.empty() ? "" : " ") + name;
    }
    return line;
}

std::string bash_script(const std::string& program, const std::vector<VerbWords>& all) {
    std::string text = "# bash completion for " + program + "\n_" + program +
                       "() {\n"
                       "    local cur=${COMP_WORDS[COMP_CWORD]} path='' word\n"
                       "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                       "        case \"$path $word\" in\n";
    for (const VerbWords& words : all) {
        if (!words.path.empty()) {
            text += fmt::format("        ' {0}') path=' {0}' ;;\n", words.path);
        }
    }
    text += "        esac\n    done\n    local verbs='' options='' values='' arguments=''\n"
            "    local before=${COMP_WORDS[COMP_CWORD-1]}\n"
            "    if [[ $cur == = ]]; then\n"
            "        cur=''\n"
            "    elif [[ $before == = ]]; then\n"
            "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
            "    fi\n"
            "    case \"$path\" in\n";
    for (const VerbWords& words : all) {
        text += fmt::format("    '{}') verbs={} options={} arguments={} ;;\n",
                            words.path.empty() ? "" : " " + words.path,
                            "'" + join_names(words.verbs) + "'",
                            "'" + join_names(words.options) + "'",
                            "'" + words.arguments + "'");
    }
    text += "    esac\n    case \"$path $before\" in\n";
    for (const VerbWords& words : all) {
        for (const auto& [option, values] : words.values) {
            text += fmt::format("    '{} {}') values='{}' ;;\n",
                                words.path.empty() ? "" : " " + words.path,
                                option,
                                values);
        }
    }
    text += "    esac\n"
            "    if [[ -n $values ]]; then\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$cur\")\n"
            "    elif [[ $cur == -* ]]; then\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
            "    elif [[ -n $verbs ]]; then\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$cur\")\n"
            "    elif [[ -n $arguments ]]; then\n"
            "        mapfile -t COMPREPLY < <(compgen -W \"$arguments\" -- \"$cur\")\n"
            "    else\n"
            "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
            "    fi\n"
            "}\n";
    return text + fmt::format("complete -o filenames -F _{0} {0}\n", program);
}

std::string zsh_script(const std::string& program, const std::vector<VerbWords>& all) {
    return "#compdef " + program + "\nautoload -U +X bashcompinit && bashcompinit\n" +
           bash_script(program, all);
}

std::string values_of(const VerbWords& words, std::string_view option) {
    const auto found =
        std::ranges::find_if(words.values, [&](const auto& row) { return row.first == option; });
    return found == words.values.end() ? std::string() : found->second;
}

std::string fish_script(const std::string& program, const std::vector<VerbWords>& all) {
    std::string text = "# fish completion for " + program + "\n";
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
            text += fmt::format("complete -c {} -f -n '{}' -a {} -d {}\n",
                                program,
                                condition,
                                name,
                                shell_quote(description));
        }
        for (const auto& [name, description] : words.options) {
            const bool is_long = name.rfind("--", 0) == 0;
            const std::string values = values_of(words, name);
            text += fmt::format("complete -c {} -n '{}' -{} {} -d {}{}\n",
                                program,
                                condition,
                                is_long ? "l" : "s",
                                name.substr(is_long ? 2 : 1),
                                shell_quote(description),
                                values.empty() ? "" : fmt::format(" -x -a '{}'", values));
        }
        if (!words.arguments.empty()) {
            text += fmt::format(
                "complete -c {} -f -n '{}' -a '{}'\n", program, condition, words.arguments);
        }
    }
    return text;
}

} // namespace

std::string completion_script(std::string_view shell,
                              const std::string& program,
                              const std::vector<VerbWords>& all) {
    if (shell == "bash") {
        return bash_script(program, all);
    }
    return shell == "zsh" ? zsh_script(program, all) : fish_script(program, all);
}

} // namespace cybele::cli
