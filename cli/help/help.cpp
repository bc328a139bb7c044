// SPDX-License-Identifier: Apache-2.0
#include "cli/common/cli11.hpp"
#include "cli/common/session.hpp"
#include "cli/help/advanced.hpp"
#include "cli/help/help_formatter.hpp"
#include "cli/help/manual.hpp"
#include "cli/help/removed.hpp"
#include "cli/help/verb_hints.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <memory>

namespace cybele::cli {

namespace {

struct HelpOptions {
    std::vector<std::string> words;
    bool is_man = false;
    bool is_list = false;
    bool is_all = false; ///< the rarely used commands
};

std::string words_behind_program(const VerbPath& path) {
    std::string words;
    for (std::size_t at = 1; at < path.size(); ++at) {
        words += (words.empty() ? "" : " ") + path[at]->get_name();
    }
    return words;
}

/// `VERB --help` prints the same.
std::string help_text(const VerbPath& path) {
    std::string before;
    for (std::size_t at = 0; at + 1 < path.size(); ++at) {
        before += (before.empty() ? "" : " ") + path[at]->get_name();
    }
    return path.back()->help(before);
}

Result<int> help(const CLI::App& program, const HelpOptions& options) {
    const std::vector<VerbPath> all = all_verbs(program);
    if (options.is_list) {
        for (const VerbPath& path : all) {
            if (path.size() > 1) {
                Session::print(words_behind_program(path) + "\n");
            }
        }
        return 0;
    }
    if (options.is_all) {
        Session::print("Rarely used commands:\n");
        for (const VerbPath& path : all) {
            if (const std::string words = words_behind_program(path); is_advanced(words)) {
                Session::print(command_row(words, path.back()->get_description()));
            }
        }
        return 0;
    }
    std::string wanted;
    for (const std::string& word : options.words) {
        wanted += (wanted.empty() ? "" : " ") + word;
    }
    std::vector<std::string> known;
    known.reserve(all.size());
    for (const VerbPath& path : all) {
        known.push_back(words_behind_program(path));
        if (known.back() == wanted) {
            Session::print(options.is_man ? man_page(path) : help_text(path));
            return 0;
        }
    }
    if (const auto removed = removed_command(wanted, {})) {
        return fail(ErrorCode::kUsage,
                    problem("command-removed", removed->message),
                    removed->because,
                    removed->help);
    }
    const auto commands = options.words.empty() ? std::vector<std::string>()
                                                : commands_for(program, options.words.back());
    if (!commands.empty()) {
        return fail(ErrorCode::kUsage,
                    problem("command-unknown", "unknown command '" + printable(wanted) + "'"),
                    "",
                    verb_hint(commands, {"--help"}));
    }
    const std::vector<std::string_view> names(known.begin(), known.end());
    const std::string meant = nearest(wanted, names);
    return fail(ErrorCode::kUsage,
                problem("command-unknown", "unknown command '" + printable(wanted) + "'"),
                "",
                meant.empty() ? "`cybelectl --help` lists the verbs"
                              : "did you mean '" + meant + "'?");
}

} // namespace

void install_help(CLI::App& app, Session& session) {
    auto options = std::make_shared<HelpOptions>();
    CLI::App* verb =
        add_verb(app,
                 "help",
                 "Print the help of a command, or its man page; help --all: rarely used commands.",
                 {"cybelectl help kube render",
                  "cybelectl help --man submit | man -l -",
                  "cybelectl help --all",
                  "cybelectl help --list"});
    verb->add_option("verb", options->words, "the words of the verb; none: the program's own help");
    CLI::Option* man = verb->add_flag("--man", options->is_man, "print a man page, in man(7)");
    CLI::Option* list =
        verb->add_flag("--list", options->is_list, "list all commands, one per line")
            ->excludes(man);
    verb->add_flag("--all", options->is_all, "list rarely used commands, too")
        ->excludes(man)
        ->excludes(list);
    verb->callback([&app, &session, options] {
        session.action = [&app, options] { return help(app, *options); };
    });
}

} // namespace cybele::cli
