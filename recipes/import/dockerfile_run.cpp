// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/dockerfile.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cybele::recipes::dockerfile {
namespace {

/// A definition's section ends at 65536 bytes; so does a step.
constexpr std::size_t kLongestStep = 39'000;

/// What SHELL makes of a step.
struct ShellForm {
    std::string word;  ///< sh, bash; empty: another program
    std::string flags; ///< of `set`, that are on: e, u
    bool has_pipefail = false;
};

ShellForm shell_form(const std::vector<std::string>& shell) {
    const auto slash = shell.front().rfind('/');
    const std::string name =
        slash == std::string::npos ? shell.front() : shell.front().substr(slash + 1);
    ShellForm form;
    if ((name != "sh" && name != "bash") || shell.size() < 2) {
        return form;
    }
    for (std::size_t i = 1; i < shell.size(); ++i) {
        const std::string& word = shell[i];
        const bool is_last = i + 1 == shell.size();
        if (word == "pipefail") {
            form.has_pipefail = true;
            continue;
        }
        if (word.size() < 2 || word.front() != '-' ||
            word.find_first_not_of("-eucxo") != std::string::npos ||
            (is_last && word.find('c') == std::string::npos)) {
            return {};
        }
        for (const char c : word.substr(1)) {
            form.flags += c == 'e' || c == 'u' ? std::string(1, c) : "";
        }
    }
    if (form.has_pipefail && name == "sh") {
        return {};
    }
    form.word = name;
    return form;
}

class Run {
public:
    Run(const File& file, const Instruction& own, State& state)
        : file_(file), own_(own), state_(state) {}

    void run() {
        if (!read_flags()) {
            keep_comments();
            return;
        }
        text_ = own_.rest.substr(rest_);
        if (!own_.heredocs.empty()) {
            with_documents();
        } else if (const auto words = read_json_words(text_); words && !words->empty()) {
            add({shell_join(*words), "sh"});
        } else if (!text_.empty()) {
            shell_form_run();
        } else {
            file_.ledger.refuse(own_.mark_at(rest_),
                                {"RUN has no command", "flags alone run nothing", "add one"});
        }
    }

private:
    /// Remarks are made of a command that stays.
    bool read_flags() {
        std::vector<std::pair<yaml::Mark, Words>> remarks;
        for (const auto& flag : take_flags(own_.rest, rest_)) {
            if (flag.name == "mount") {
                const std::string type = mount_type(flag.value);
                if (type != "cache" && type != "tmpfs") {
                    return lost(flag,
                                "RUN with a mount of type " + printable(type),
                                "its command needs what is mounted, and a step has no mounts",
                                type == "bind" ? "copy what it needs with `files`"
                                               : "do what it does before the build");
                }
                // What it would have left out of the image stays there.
                remarks.push_back({own_.mark_at(flag.at),
                                   {"RUN without its mount of type " + type,
                                    "what the command leaves there stays in the image",
                                    "remove it at the end of the step"}});
            } else if (flag.name == "network" && flag.value != "default") {
                remarks.push_back({own_.mark_at(flag.at),
                                   {"RUN --network=" + printable(flag.value),
                                    "steps have the network that the build has",
                                    "build without a network if none shall be used"}});
            } else if (flag.name == "security" && flag.value != "sandbox") {
                return lost(flag,
                            "RUN --security=" + printable(flag.value),
                            "a step has no more rights than the build",
                            "find a way without them");
            } else if (flag.name != "network" && flag.name != "security") {
                file_.ledger.refuse(own_.mark_at(flag.at),
                                    {"RUN has no flag --" + printable(flag.name),
                                     "it has --mount, --network and --security",
                                     "remove it"});
                return false;
            }
        }
        for (const auto& [mark, words] : remarks) {
            file_.ledger.remark(mark, words);
        }
        return true;
    }

    bool lost(const Flag& flag, std::string what, std::string because, std::string help) {
        file_.ledger.lose(own_.lines,
                          own_.mark_at(flag.at),
                          {std::move(what), std::move(because), std::move(help)});
        return false;
    }

    static std::string mount_type(std::string_view options) {
        std::string type = "bind";
        while (!options.empty()) {
            const auto end = options.find(',');
            const std::string_view part = options.substr(0, end);
            if (part.starts_with("type=")) {
                type = part.substr(5);
            }
            options = end == std::string_view::npos ? std::string_view{} : options.substr(end + 1);
        }
        return type;
    }

    void keep_comments() {
        for (const auto& comment : own_.comments) {
            file_.ledger.keep(comment);
        }
    }

    void shell_form_run() {
        const DistributionRow* row = row_of(state_);
        const ShellForm form = shell_form(state_.shell);
        std::string why;
        if (!state_.has_steps && state_.draft.files.empty() && !form.word.empty()) {
            InstallContext context;
            context.manager = row != nullptr ? std::string(row->manager) : "";
            context.lifts_all = file_.request.lifts_all;
            context.lookup = lookup_of(state_);
            PackageInstalls lift = split_installs(text_, context);
            if (lift.is_lifted && (lift.pip.empty() || can_pip(row))) {
                take(std::move(lift));
                return;
            }
            why = std::move(lift.why_not);
        }
        std::vector<std::string> comments = own_.comments;
        if (!why.empty()) {
            comments.push_back("a step, not packages: " + printable(why));
        }
        add_shell(rest_ == 0 ? own_.shell_text : text_, std::move(comments));
    }

    static bool can_pip(const DistributionRow* row) {
        for (const auto* need : {"python", "python-pip"}) {
            const NeedCell* cell = row == nullptr ? nullptr : find_need(row->column, need);
            if (cell == nullptr || cell->packages.empty()) {
                return false;
            }
        }
        return true;
    }

    void take(PackageInstalls lift) {
        auto& packages = state_.draft.packages;
        for (auto& name : lift.system) {
            if (!contains(packages.system, name)) {
                packages.system.push_back(std::move(name));
            }
        }
        packages.pip.insert(packages.pip.end(), lift.pip.begin(), lift.pip.end());
        if (!lift.differs.empty()) {
            file_.ledger.remark(own_.mark(),
                                {"its packages are " + lift.differs,
                                 "--lift asks for it",
                                 "name in `packages` what is missing"});
        }
        file_.ledger.carry(own_.lines);
        if (lift.rest.empty()) {
            keep_comments();
        } else {
            add_shell(std::move(lift.rest), own_.comments);
        }
    }

    /// The command under the stage's SHELL, with no more strictness than it was written for.
    void add_shell(std::string text, std::vector<std::string> comments) {
        const ShellForm form = shell_form(state_.shell);
        if (form.word.empty()) {
            std::vector<std::string> words = state_.shell;
            words.push_back(std::move(text));
            add({shell_join(words), "sh", {}, std::move(comments)});
            return;
        }
        std::string loose;
        for (const char c : loose_flags(text, lookup_of(state_))) {
            loose += form.flags.find(c) == std::string::npos ? std::string(1, c) : "";
        }
        const bool is_bash = form.word == "bash";
        std::string head = loose.empty() ? "" : "set +" + loose + "\n";
        head += is_bash && !form.has_pipefail && has_pipe(text) ? "set +o pipefail\n" : "";
        add({head + text, is_bash ? "bash" : "sh", {}, std::move(comments)});
    }

    void add(DraftStep step) {
        if (step.comments.empty()) {
            step.comments = own_.comments;
        }
        if (step.run.find('\n') != std::string::npos && !step.run.ends_with('\n')) {
            step.run += '\n';
        }
        if (step.run.size() > kLongestStep) {
            keep_comments();
            file_.ledger.lose(own_.lines,
                              own_.mark(),
                              {"RUN of " + std::to_string(step.run.size()) + " bytes",
                               "a definition file's section ends at 65536",
                               "put it into a file, copy that with `files` and run it"});
            return;
        }
        file_.ledger.carry(own_.lines);
        add_step(state_, std::move(step));
    }

    /// `RUN <<EOF` is a script; `RUN program <<EOF` gives the shell what it reads itself.
    void with_documents() {
        const Heredoc& first = own_.heredocs.front();
        const bool is_script = own_.heredocs.size() == 1 && first.at == rest_ &&
                               own_.rest.find_first_not_of(' ', first.end) == std::string::npos;
        if (!is_script) {
            std::string text = text_ + "\n";
            for (const auto& document : own_.heredocs) {
                text += document.as_written;
            }
            add_shell(std::move(text), own_.comments);
            return;
        }
        if (first.body.starts_with("#!")) {
            add({"cybelectl_script=$(mktemp)\n" +
                     write_variable_file_lines("cybelectl_script", first.body) +
                     "chmod 700 \"$cybelectl_script\"\n\"$cybelectl_script\"\n"
                     "rm -f \"$cybelectl_script\"\n",
                 "sh"});
            return;
        }
        if (first.body.find_first_not_of(" \t\n") == std::string::npos) {
            keep_comments();
            file_.ledger.carry(own_.lines); // nothing is run
            return;
        }
        add_shell(first.body, own_.comments);
    }

    const File& file_;
    const Instruction& own_;
    State& state_;
    std::size_t rest_ = 0;
    std::string text_;
};

} // namespace

void carry_run(const File& file, const Instruction& instruction, State& state) {
    Run(file, instruction, state).run();
}

} // namespace cybele::recipes::dockerfile
