// SPDX-License-Identifier: Apache-2.0
#include "recipes/forms/words.hpp"
#include "recipes/import/commands.hpp"
#include "recipes/import/definition.hpp"
#include "recipes/import/definition_front.hpp"
#include "recipes/import/dockerfile_words.hpp"
#include "recipes/import/shell_lines.hpp"
#include "recipes/stage/render_text.hpp"
#include "recipes/tables/tables.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <array>

#include <fmt/format.h>

namespace cybele::recipes::definition_file {
namespace {

/// More than a step may have.
constexpr std::size_t kLongestStep = 39'000;

/// Managers by the programs that call them, and how they read their index again.
struct ProgramRow {
    std::string_view program;
    std::string_view manager;
    std::string_view refresh; ///< what a later call needs after the packages were installed
    std::string_view upgrade; ///< subcommands that change no package of the list
};
constexpr std::array kPrograms{
    ProgramRow{"apt-get", "apt", "apt-get update", "upgrade dist-upgrade"},
    ProgramRow{"apt", "apt", "apt-get update", "upgrade full-upgrade"},
    ProgramRow{"aptitude", "", "apt-get update", ""},
    ProgramRow{"dnf", "dnf", "", "upgrade update"},
    ProgramRow{"yum", "yum", "", "update upgrade"},
    ProgramRow{"microdnf", "microdnf", "", "update upgrade"},
    ProgramRow{"zypper", "zypper", "", "update up"},
    ProgramRow{"apk", "apk", "apk update", "upgrade"},
};

/// Commands that neither change nor need what packages are.
constexpr std::string_view kHarmlessPrograms =
    "echo export set cd umask date true : pwd whoami id uname env ls sleep unset printf";
constexpr std::string_view kKeptPrograms = "mkdir touch";

const ProgramRow* program_row(std::string_view program) {
    return find_row(kPrograms, [&](const auto& own) { return own.program == program; });
}

/// A variable that an installation may read.
bool is_read_by_managers(std::string_view name) {
    const bool is_proxy = name.find("proxy") != std::string_view::npos ||
                          name.find("PROXY") != std::string_view::npos;
    return is_proxy || name.starts_with("APT") || name.starts_with("DPKG") || name == "PATH" ||
           name.starts_with("LD_") || name == "TZ";
}

enum class Sense { kUnknown, kIdle, kHarmless, kKept, kInstall };

/// Takes the installations in front of a %post.
class Front {
public:
    Front(State& state, std::string_view script) : state_(state), script_(script) {}

    void run() {
        for (const auto& line : plain_lines(script_)) {
            if (!take(line)) {
                return;
            }
        }
        at_ = script_.size();
    }

    [[nodiscard]] bool is_lifted() const {
        return !packages_.system.empty();
    }
    [[nodiscard]] const Packages& packages() const {
        return packages_;
    }
    [[nodiscard]] const std::string& why_not() const {
        return why_not_;
    }

    /// The commands that stay; empty where none has an effect.
    [[nodiscard]] std::string rest() const {
        if (!has_effect_ && at_ == script_.size()) {
            return {};
        }
        const std::string rest = head_ + std::string(script_.substr(at_));
        return refresh(rest) + rest;
    }
    [[nodiscard]] const std::vector<std::string>& comments() const {
        return comments_;
    }

private:
    bool take(const ShellLine& line) {
        const auto whole = script_.substr(line.bytes.begin, line.bytes.end - line.bytes.begin);
        if (line.is_plain && line.commands.empty()) {
            const auto text = trimmed(whole, " \t\n#");
            if (!text.empty()) {
                comments_.emplace_back(text);
            }
            head_ += whole;
            return true;
        }
        if (!line.is_plain) {
            at_ = line.bytes.begin;
            return false;
        }
        std::string kept;
        bool is_all_kept = true;
        for (const auto& [begin, end] : line.commands) {
            const std::string own = without_continuations(script_.substr(begin, end - begin));
            const Sense sense = sense_of(own);
            if (sense == Sense::kUnknown) {
                head_ += is_all_kept ? "" : kept;
                at_ = is_all_kept ? line.bytes.begin : begin;
                return false;
            }
            has_effect_ = has_effect_ || sense == Sense::kKept;
            const bool is_kept = sense == Sense::kKept || sense == Sense::kHarmless;
            is_all_kept = is_all_kept && is_kept;
            kept += is_kept ? own + "\n" : "";
        }
        head_ += is_all_kept ? std::string(whole) : kept;
        return true;
    }

    Sense sense_of(const std::string& written) {
        FrontCommand own;
        own.text = without_questions(written);
        own.words = dockerfile::split_words(own.text, '\\');
        const std::string& command = own.text;
        const auto& words = own.words;
        std::size_t& at = own.at;
        while (at < words.size() && words[at].text.find('=') != std::string::npos &&
               !words[at].text.starts_with('-')) {
            if (!may_be_set(words[at].text)) {
                return Sense::kUnknown;
            }
            ++at;
        }
        if (sets_time_zone(own) || writes_environment(own)) {
            return Sense::kKept;
        }
        if (command.find_first_of("`<>") != std::string::npos ||
            command.find("$(") != std::string::npos) {
            return Sense::kUnknown;
        }
        if (at == words.size() || reads_base_environment(state_, own)) {
            return Sense::kHarmless;
        }
        const std::string& program = words[at].text;
        if (program == "." && words.size() == at + 2 &&
            words[at + 1].text.starts_with("/.singularity.d/env/10-docker")) {
            return Sense::kHarmless; // the environment of the base image, as HPCCM writes it
        }
        if (has_word(kHarmlessPrograms, program)) {
            return is_harmless(words, at) ? Sense::kHarmless : Sense::kUnknown;
        }
        if (has_word(kKeptPrograms, program) || changes_own_modes(own)) {
            return Sense::kKept;
        }
        const ProgramRow* row = program_row(program);
        if (row != nullptr && installs_group(own) && !manager_of(*row).empty()) {
            return Sense::kKept; // the same packages, before the others or after them
        }
        return row != nullptr ? install(*row, command, words) : idle(command);
    }

    /// An assignment that no installation reads, or one that changes nothing for it.
    [[nodiscard]] bool may_be_set(std::string_view assignment) const {
        const std::string_view name = assignment.substr(0, assignment.find('='));
        return !is_read_by_managers(name) || (name == "TZ" && sets_localtime()) ||
               adds_absent_folders(state_, assignment);
    }

    /// With it, TZ is the time zone that the script sets.
    [[nodiscard]] bool sets_localtime() const {
        return script_.find("/etc/localtime") != std::string_view::npos;
    }

    [[nodiscard]] bool is_harmless(const std::vector<dockerfile::Word>& words,
                                   std::size_t at) const {
        for (std::size_t i = at + 1; i < words.size(); ++i) {
            const std::string& word = words[i].text;
            if ((words[at].text == "set" && word.starts_with('+')) || !may_be_set(word)) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] std::string manager_of(const ProgramRow& row) const {
        const DistributionRow* release = find_distribution(state_.stage.base);
        if (release == nullptr) {
            release = distribution_of_image(state_.stage.image);
        }
        if (release == nullptr) {
            return std::string(row.manager);
        }
        const bool is_own =
            release->manager == row.manager || (release->manager == "dnf" && row.manager == "yum");
        return is_own ? std::string(release->manager) : std::string();
    }

    Sense install(const ProgramRow& row,
                  const std::string& command,
                  const std::vector<dockerfile::Word>& words) {
        const std::string manager = manager_of(row);
        if (manager.empty() || (!manager_.empty() && manager != manager_)) {
            return Sense::kUnknown;
        }
        for (const auto& word : words) {
            if (has_word(row.upgrade, word.text)) {
                manager_ = manager;
                return Sense::kKept;
            }
        }
        if (!repository_.empty()) {
            return stays("'" + repository_ + "' may have added a repository");
        }
        dockerfile::InstallContext context;
        context.manager = manager;
        context.may_recommend = true;
        context.lookup = [](std::string_view) { return std::nullopt; };
        const dockerfile::PackageInstalls lift = dockerfile::split_installs(command, context);
        if (lift.is_idle) {
            manager_ = manager;
            return Sense::kIdle;
        }
        if (!lift.is_lifted) {
            return stays(lift.why_not);
        }
        if (state_.has_system_files) {
            return stays("files are copied first that may change what is installed");
        }
        if (is_lifted() && lift.recommends != packages_.recommends) {
            return stays("other packages are installed without those that they recommend");
        }
        for (const auto& name : lift.system) {
            const bool may_add = manager != "apt" && name.find("-release") != std::string::npos;
            repository_ = may_add ? printable(name) : repository_;
        }
        manager_ = manager;
        row_ = &row;
        packages_.recommends = lift.recommends;
        const bool is_known = distribution_of_image(state_.stage.image) != nullptr ||
                              find_distribution(state_.stage.base) != nullptr;
        packages_.manager = is_known ? "" : manager;
        for (const auto& name : lift.system) {
            auto& list = packages_.system;
            if (!contains(list, name)) {
                list.push_back(name);
            }
        }
        return Sense::kInstall;
    }

    /// Whether only what a manager leaves behind is removed.
    [[nodiscard]] Sense idle(const std::string& command) const {
        dockerfile::InstallContext context;
        context.lookup = [](std::string_view) { return std::nullopt; };
        for (const std::string_view manager : {"apt", "dnf", "yum", "zypper", "apk"}) {
            context.manager = manager;
            if ((manager_.empty() || manager == manager_) &&
                dockerfile::split_installs(command, context).is_idle) {
                return Sense::kIdle;
            }
        }
        return Sense::kUnknown;
    }

    Sense stays(std::string why) {
        if (why_not_.empty()) {
            why_not_ = std::move(why);
        }
        return Sense::kUnknown;
    }

    /// The index is removed after the packages were installed; who needs it reads it again.
    [[nodiscard]] std::string refresh(std::string_view rest) const {
        if (row_ == nullptr || row_->refresh.empty()) {
            return {};
        }
        for (const auto& line : lines_of(rest)) {
            for (const auto& word : dockerfile::split_words(line, '\\')) {
                const ProgramRow* row = program_row(word.text);
                if (row != nullptr && row->refresh == row_->refresh) {
                    const bool is_read = line.find("update") != std::string::npos;
                    return is_read ? std::string() : std::string(row_->refresh) + "\n";
                }
            }
        }
        return {};
    }

    State& state_;
    std::string_view script_;
    std::size_t at_ = 0;
    std::string head_;
    Packages packages_;
    std::string manager_;
    std::string repository_; ///< a package that may have added one
    std::string why_not_;
    std::vector<std::string> comments_;
    const ProgramRow* row_ = nullptr;
    bool has_effect_ = false;
};

/// What the arguments of %post make of its shell.
struct PostShell {
    std::string shell = "sh";
    std::string head = "set +u\n";
    std::string program; ///< neither sh nor bash
};

PostShell shell_of(const std::string& arguments) {
    PostShell own;
    std::string flags;
    std::vector<std::string> program;
    bool is_command = false;
    for (const auto& word : dockerfile::split_words(arguments, '\\')) {
        if (is_command) {
            program.push_back(word.text);
        } else if (word.text == "-c") {
            is_command = true;
        } else {
            flags += word.text.starts_with('-') ? word.text.substr(1) : "";
        }
    }
    if (!is_command) {
        own.head = flags.find('u') == std::string::npos ? "set +u\n" : "";
        return own;
    }
    std::string options;
    for (std::size_t i = 1; i < program.size(); ++i) {
        options += program[i].starts_with("-") ? program[i].substr(1) : " ";
    }
    const std::string name =
        program.empty() ? "" : program.front().substr(program.front().rfind('/') + 1);
    if ((name != "bash" && name != "sh" && name != "dash") ||
        options.find_first_not_of("eux") != std::string::npos) {
        for (const auto& word : program) {
            own.program += (own.program.empty() ? "" : " ") + word;
        }
        return own;
    }
    own.shell = name == "bash" ? "bash" : "sh";
    std::string off;
    for (const char c : std::string_view("eu")) {
        off += options.find(c) == std::string::npos ? std::string(1, c) : "";
    }
    own.head = off.empty() ? "" : "set +" + off + "\n";
    own.head += name == "bash" ? "set +o pipefail\n" : "";
    return own;
}

} // namespace

void carry_post(State& state,
                const Joined& post,
                const std::map<std::string, EnvironmentValue>& environment) {
    if (post.parts.empty()) {
        return;
    }
    if (const auto line = open_document(post.text)) {
        state.ledger.refuse({post.mark().line + 1 + *line, 1},
                            {"a here-document has no end",
                             "the line with its delimiter alone is missing",
                             "add that line, without blanks before it"});
        return;
    }
    const PostShell shell = shell_of(post.arguments);
    std::string rest = post.text;
    std::vector<std::string> comments;
    if (shell.program.empty()) {
        Front front(state, post.text);
        front.run();
        if (front.is_lifted()) {
            auto& packages = state.stage.packages;
            packages.recommends = front.packages().recommends;
            packages.manager = front.packages().manager;
            packages.system.insert(packages.system.end(),
                                   front.packages().system.begin(),
                                   front.packages().system.end());
            rest = front.rest();
            for (const auto& comment : rest.empty() ? front.comments() : comments) {
                state.ledger.keep(comment);
            }
        } else if (!front.why_not().empty()) {
            comments.push_back("a step, not packages: " + printable(front.why_not()));
        }
    }
    carry(state.ledger, post);
    if (rest.find_first_not_of(" \t\n") == std::string::npos) {
        return;
    }
    const std::string head = shell.head + "umask 0002\n";
    DraftStep step;
    step.comments = std::move(comments);
    step.has_environment = environment.empty(); // %post does not see %environment
    step.shell = shell.program.empty() ? shell.shell : "sh";
    if (shell.program.empty()) {
        step.run = head + without_indent(rest);
    } else {
        step.run = head + "cybelectl_script=$(mktemp)\n" +
                   write_variable_file_lines("cybelectl_script", rest) + shell.program +
                   " \"$cybelectl_script\"\nrm -f \"$cybelectl_script\"\n";
    }
    step.run = without_last_blanks(std::move(step.run));
    if (step.run.size() > kLongestStep) {
        state.ledger.refuse(post.mark(),
                            {"%post of " + std::to_string(rest.size()) + " bytes",
                             "a step ends at 40000",
                             "put the commands into a file, copy it with %files and run it"});
        return;
    }
    state.stage.steps.push_back(std::move(step));
}

} // namespace cybele::recipes::definition_file
