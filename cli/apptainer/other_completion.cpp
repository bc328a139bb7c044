// SPDX-License-Identifier: Apache-2.0
#include "cli/apptainer/other_completion.hpp"

#include "cli/apptainer/other_help.hpp"
#include "cli/apptainer/verb_table.hpp"
#include "cli/apptainer/verb_texts.hpp"
#include "cli/help/completion_script.hpp"
#include "cli/run/start_as.hpp"
#include "cli/run/start_options.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace cybele::cli {

namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

void add_names(std::string_view names, std::string_view about, Words& options) {
    for (const std::string_view name : text::split_terminated(names, ',')) {
        options.emplace_back(name, about);
    }
}

Words flags_of_start(const StartVerb& verb) {
    Words options{{"--help", "help"}};
    for (const StartOption& one : start_options()) {
        const bool is_instance = verb.name.starts_with("instance ");
        if (!one.is_ours && one.use != Use::kRefused && one.is_of(verb.action, is_instance)) {
            add_names(one.names, one.description, options);
        }
    }
    return options;
}

Words flags_of_verb(std::string_view verb) {
    Words options{{"--help", "help"}};
    for (const OtherFlag& one : other_flags()) {
        if (one.is_of(verb) && one.kind != OtherFlag::Kind::kRefused) {
            add_names(one.names, "", options);
        }
    }
    return options;
}

/// The commands, each below its group: "key list" is `list` of `key`.
std::vector<VerbWords> all_words() {
    std::map<std::string, VerbWords> found; // "" is the program
    found[""].options = {{"--help", "help"},
                         {"--version", "version"},
                         {"--quiet", "no notes"},
                         {"--silent", "errors only"},
                         {"--verbose", "more notes"},
                         {"--debug", "all notes"}};
    const auto add = [&](std::string_view name, std::string_view about, Words options) {
        const std::string path(name);
        const std::size_t blank = path.find(' ');
        if (blank != std::string::npos && !found.contains(path.substr(0, blank))) {
            found[""].verbs.emplace_back(path.substr(0, blank), "");
            found[path.substr(0, blank)].path = path.substr(0, blank);
        }
        const std::string group = blank == std::string::npos ? "" : path.substr(0, blank);
        found[group].verbs.emplace_back(path.substr(blank + 1), about);
        found[path].path = path;
        found[path].options = std::move(options);
    };
    for (const std::string_view name :
         {"exec", "run", "shell", "test", "instance start", "instance run"}) {
        add(name, "", flags_of_start(*start_verb(name)));
    }
    for (const OtherVerb& one : other_verbs()) {
        if (one.refused.empty()) {
            add(one.verb, verb_text(one.verb)->about, flags_of_verb(one.verb));
        }
    }
    std::vector<VerbWords> all;
    all.reserve(found.size());
    for (auto& [path, words] : found) {
        all.push_back(std::move(words));
    }
    return all;
}

} // namespace

Result<std::string> completion_of(const std::string& program, const std::string& shell) {
    if (shell == "powershell") {
        return fail(
            ErrorCode::kEnvironment,
            problem("apptainer-command-not-supported", "`completion powershell` is not supported"),
            "there are scripts for bash, zsh and fish",
            "write `" + program + " completion bash`");
    }
    if (shell != "bash" && shell != "zsh" && shell != "fish") { // like there, shown what there is
        return help_of(program, "completion");
    }
    return completion_script(shell, program, all_words());
}

} // namespace cybele::cli
