// SPDX-License-Identifier: Apache-2.0
#include "definitions/lint/context.hpp"
#include "definitions/lint/knowledge.hpp"
#include "definitions/lint/secrets.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

/// What a package manager needs to run alone, and what it leaves behind.
struct Manager {
    std::string_view program;
    std::string_view verb;
    std::span<const std::string_view> yes; ///< any of them answers its questions
    std::string_view cleanup;              ///< a text that a section that cleans up holds
    std::string_view pin;                  ///< stands in a package's word that names a version
};

constexpr std::array<std::string_view, 5> kAptYes = {
    "-y", "--yes", "--assume-yes", "--force-yes", "-qq"};
constexpr std::array<std::string_view, 2> kDnfYes = {"-y", "--assumeyes"};
constexpr std::array<std::string_view, 4> kZypperYes = {
    "-n", "--non-interactive", "-y", "--no-confirm"};
constexpr std::array<std::string_view, 2> kCondaYes = {"-y", "--yes"};
/// Letters that may stand before `y` in one option; none of them takes a value.
constexpr std::string_view kClusterLetters = "yqmfudsVvbhCS46nl";
constexpr std::string_view kYumLetters = "yqmfudsVvbhCS46nlt"; ///< -t: tolerant
/// What makes a manager ask nothing in all its later calls.
constexpr std::array<std::string_view, 6> kAlwaysYes = {
    "always_yes", "ALWAYS_YES", "Assume-Yes", "assumeyes", "Assume-yes", "assume-yes"};

constexpr std::array kManagers = {
    Manager{"apt-get", "install", kAptYes, "/var/lib/apt/lists", "="},
    Manager{"apt", "install", kAptYes, "/var/lib/apt/lists", "="},
    Manager{"dnf", "install", kDnfYes, "clean all", "-"},
    Manager{"yum", "install", kDnfYes, "clean all", "-"},
    Manager{"microdnf", "install", kDnfYes, "clean all", "-"},
    Manager{"zypper", "install", kZypperYes, "clean", "="},
    Manager{"apk", "add", {}, "--no-cache", "="},
    Manager{"pip", "install", {}, "--no-cache-dir", "="},
    Manager{"pip3", "install", {}, "--no-cache-dir", "="},
    Manager{"conda", "install", kCondaYes, "clean", "="},
    Manager{"mamba", "install", kCondaYes, "clean", "="},
};

constexpr std::array<std::string_view, 5> kRegistryAgents = {
    "docker", "library", "oras", "shub", "docker-daemon"};
constexpr std::array<std::string_view, 3> kDownloaders = {"curl", "wget", "aria2c"};
constexpr std::array<std::string_view, 9> kUnchecked = {"-k",
                                                        "--insecure",
                                                        "--no-check-certificate",
                                                        "--allow-unauthenticated",
                                                        "--no-gpg-checks",
                                                        "--nogpgcheck",
                                                        "--allow-untrusted",
                                                        "--trusted-host",
                                                        "--force-yes"};
constexpr std::array<std::string_view, 9> kVerifiers = {
    "sha256sum", "sha512sum", "sha1sum", "md5sum", "b2sum", "shasum", "gpg", "gpgv", "minisign"};

void base(Lint& lint, const Stage& stage) {
    std::string from = stage.header_value("from");
    if (from.empty() || !contains(kRegistryAgents, stage.header_value("bootstrap"))) {
        return;
    }
    std::size_t line = stage.line;
    while (line <= lint.lines().size() && lint.line(line).find(from) == std::string_view::npos) {
        ++line;
    }
    line = line > lint.lines().size() ? stage.line : line;
    if (from.find('@') != std::string::npos) {
        return;
    }
    const std::size_t colon =
        from.find(':', from.rfind('/') == std::string::npos ? 0 : from.rfind('/'));
    if (colon == std::string::npos) {
        lint.tell("CD301", {line, 0}, fmt::format("the base '{}' has no tag", printable(from)));
    } else if (from.substr(colon) == ":latest") {
        lint.tell("CD302",
                  {line, 0},
                  fmt::format("the base '{}' changes without notice", printable(from)));
    } else {
        lint.tell("CD303", {line, 0}, fmt::format("the base '{}' has no digest", printable(from)));
    }
}

/// `conda run python setup.py install` installs nothing itself.
bool runs_another_program(const ScriptCommand& command) {
    const std::size_t verb = command.program_index() + 1;
    return verb < command.words.size() && command.words[verb].text == "run";
}

const Manager* manager_of(const ScriptCommand& command) {
    const std::string program = command.program();
    for (const Manager& manager : kManagers) {
        if (manager.program == program && !runs_another_program(command) &&
            (command.has_word(manager.verb) || (program == "zypper" && command.has_word("in")))) {
            return &manager;
        }
    }
    return nullptr;
}

bool has_package_without_version(const ScriptCommand& command, const Manager& manager) {
    bool behind_verb = false;
    for (const ScriptWord& word : command.words) {
        if (word.text == manager.verb || word.text == "in") {
            behind_verb = true;
        } else if (word.text == "-r" || word.text == ">" || word.text == "<" || word.text == "2>") {
            return false;
        } else if (behind_verb && !word.text.starts_with('-') && !word.text.starts_with('$') &&
                   !word.text.starts_with('.') && !word.text.starts_with('/') &&
                   word.text.find(manager.pin) == std::string::npos) {
            return true;
        }
    }
    return false;
}

/// By an option, alone or among others, by what is piped or redirected into it, or by a setting.
bool is_answered(const Script& script, const ScriptCommand& command, const Manager& manager) {
    if (manager.yes.empty() || command.joined == Join::kPipe) {
        return true;
    }
    const bool is_apt = manager.program.starts_with("apt");
    if (is_apt && command.has_word("--reinstall")) {
        return true; // of what is there
    }
    const std::string_view letters =
        manager.program == "yum" || manager.program == "dnf" ? kYumLetters : kClusterLetters;
    const bool by_word = std::ranges::any_of(command.words, [&](const ScriptWord& word) {
        const bool is_input = word.text.starts_with('<') || word.text == "--dry-run" ||
                              word.text == "--simulate" || word.text == "--download-only" ||
                              (is_apt && word.text == "-v"); // prints the version
        return is_input || contains(manager.yes, word.text) ||
               is_cluster(word.text, "y", letters) ||
               (is_apt && is_cluster(word.text, "sd", kClusterLetters)) ||
               (is_apt && word.text.find("qq") != std::string::npos &&
                is_cluster(word.text, "q", kClusterLetters)) ||
               (word.text.starts_with('$') && word.text.find("YES") != std::string::npos);
    });
    const std::string post = script.stage->joined("post");
    return by_word || std::ranges::any_of(kAlwaysYes, [&](auto setting) {
               return post.find(setting) != std::string::npos;
           });
}

/// Whether the command names what it installs, or mends broken dependencies.
bool installs_something(const ScriptCommand& command, const Manager& manager) {
    bool is_behind_verb = false;
    return std::ranges::any_of(command.words, [&](const ScriptWord& word) {
        const bool is_operand = is_behind_verb && !word.text.starts_with('-');
        is_behind_verb = is_behind_verb || word.text == manager.verb || word.text == "in";
        return is_operand || word.text == "-f" || word.text == "--fix-broken";
    });
}

/// Libraries of NVIDIA's archives, each of one version of CUDA: they need the base's libc alone,
/// and the one with headers needs the one without, so that apt installs what is named and no more.
bool needs_no_others(std::string_view package) {
    constexpr std::array<std::string_view, 2> kAlone = {"libcudnn", "libnccl"};
    return std::ranges::any_of(kAlone,
                               [&](std::string_view start) { return package.starts_with(start); });
}

/// Whether one package is named, or none, as `-f` alone does: then it may be that nothing is asked.
bool names_one_package(const ScriptCommand& command, const Manager& manager) {
    std::size_t packages = 0;
    bool is_behind_verb = false;
    for (const ScriptWord& word : command.words) {
        // `libfoo${VERSION}` is one name, `$PACKAGES` may be several.
        const bool is_list = word.text.starts_with('$') || word.text.starts_with('"') ||
                             word.text.find_first_of("*`") != std::string::npos;
        const bool is_alone = word.text.ends_with(".deb") || needs_no_others(word.text);
        if (is_behind_verb && !word.text.starts_with('-') && !is_alone) {
            packages += is_list ? 2U : 1U;
        }
        is_behind_verb = is_behind_verb || word.text == manager.verb;
    }
    return packages <= 1;
}

/// Without a terminal apt and yum take the end of input for no, and conda takes it for yes; apt
/// asks only where it would install more than what is named.
void question(Lint& lint,
              const Section& section,
              const ScriptCommand& command,
              const Manager& manager) {
    const ScriptWord& word = command.words[command.program_index()];
    const std::string help = fmt::format("add {}", manager.yes.front());
    const bool is_conda = manager.program == "conda" || manager.program == "mamba";
    const bool is_apt = manager.program.starts_with("apt");
    if (is_conda || (is_apt && names_one_package(command, manager))) {
        lint.tell(
            "CD315",
            {section.line + 1 + word.line, word.column},
            is_conda
                ? fmt::format("'{} {}' asks before it installs", manager.program, manager.verb)
                : fmt::format("'{} {}' asks if others are needed", manager.program, manager.verb),
            is_conda ? "at a terminal the build waits; without one, conda assumes yes"
                     : "at a terminal the build waits; without one, it stops",
            help);
        return;
    }
    lint.tell("CD304",
              section,
              word,
              fmt::format("'{} {}' asks before it installs", manager.program, manager.verb),
              help);
}

/// An upgrade asks only if a package has a newer version than the base.
void upgrade_question(Lint& lint, const Script& script, const ScriptCommand& command) {
    const std::string program = command.program();
    const auto* manager =
        std::ranges::find_if(kManagers, [&](const auto& one) { return one.program == program; });
    if (manager == kManagers.end() || command.has_word(manager->verb) ||
        is_answered(script, command, *manager)) {
        return;
    }
    const ScriptWord& word = command.words[command.program_index()];
    lint.tell("CD315",
              {script.section->line + 1 + word.line, word.column},
              fmt::format("this '{}' asks if a package has a newer version", program),
              "at a terminal the build waits; without one, it stops",
              fmt::format("add {}", manager->yes.front()));
}

void install(Lint& lint, const Script& script, const ScriptCommand& command, bool is_last_stage) {
    const Manager* manager = manager_of(command);
    if (manager == nullptr || !installs_something(command, *manager)) {
        return;
    }
    const Section& section = *script.section;
    const ScriptWord& word = command.words[command.program_index()];
    if (!is_answered(script, command, *manager)) {
        question(lint, section, command, *manager);
    }
    if (has_package_without_version(command, *manager)) {
        lint.tell(
            "CD305", section, word, fmt::format("'{}' installs what is newest", manager->program));
    }
    const bool is_apt = manager->program.starts_with("apt") && manager->program != "apk";
    if (is_apt && !command.has_word("--no-install-recommends") &&
        section.text.find("Install-Recommends") == std::string::npos) {
        lint.tell("CD306",
                  section,
                  word,
                  fmt::format("'{}' installs recommended packages too", manager->program));
    }
    if (is_last_stage && script.stage->joined("post").find(manager->cleanup) == std::string::npos) {
        lint.tell("CD307",
                  section,
                  word,
                  fmt::format("'{}' leaves its lists or cache in the image", manager->program));
    }
}

bool is_download(const ScriptCommand& command) {
    return contains(kDownloaders, command.program()) &&
           std::ranges::any_of(command.words, [](const ScriptWord& word) {
               return word.text.find("://") != std::string::npos ||
                      (word.text.find('$') != std::string::npos && !word.text.starts_with("-"));
           });
}

/// Whether a command from this one on compares a checksum or a signature.
bool is_verified(const Script& script, std::size_t which) {
    return std::any_of(
        script.commands.begin() + static_cast<std::ptrdiff_t>(which),
        script.commands.end(),
        [](const ScriptCommand& later) { return contains(kVerifiers, later.program()); });
}

void download(Lint& lint, const Script& script, std::size_t which) {
    const ScriptCommand& command = script.commands[which];
    for (const ScriptWord& word : command.words) {
        if (is_interpreter(command.program()) && word.text.find("$(curl") != std::string::npos) {
            lint.tell("CD309", *script.section, word, "what curl fetches runs immediately");
        }
    }
    if (!is_download(command)) {
        return;
    }
    const ScriptWord& word = command.words[command.program_index()];
    if (command.join == Join::kPipe && which + 1 < script.commands.size() &&
        is_interpreter(script.commands[which + 1].program())) {
        lint.tell("CD309",
                  *script.section,
                  word,
                  fmt::format("what '{}' fetches runs immediately", command.program()));
        return;
    }
    if (!is_verified(script, which)) {
        lint.tell("CD308",
                  *script.section,
                  word,
                  fmt::format("what '{}' fetches is verified by nothing", command.program()));
    }
}

/// `apt-key list`, which adds no key.
bool adds_key(const ScriptCommand& command) {
    constexpr std::array<std::string_view, 10> kOthers = {"list",
                                                          "finger",
                                                          "export",
                                                          "exportall",
                                                          "del",
                                                          "help",
                                                          "--help",
                                                          "--export", // of `apt-key adv`
                                                          "--list-keys",
                                                          "--fingerprint"};
    return std::ranges::none_of(kOthers,
                                [&](std::string_view verb) { return command.has_word(verb); });
}

/// `sudo -u USER`, which leaves root.
bool changes_user(const ScriptCommand& command) {
    return std::any_of(command.words.begin(),
                       command.words.begin() + static_cast<std::ptrdiff_t>(command.program_index()),
                       [](const ScriptWord& word) {
                           return word.text.starts_with("--user") || word.text.starts_with("-u") ||
                                  is_cluster(word.text, "u", "EHinSs");
                       });
}

/// `yum update curl`: some packages, by name.
bool names_packages(const ScriptCommand& command) {
    constexpr std::array<std::string_view, 2> kVerbs = {"update", "upgrade"};
    bool is_behind_verb = false;
    for (const ScriptWord& word : command.words) {
        if (word.text.find_first_of("<>") != std::string::npos) {
            return false;
        }
        if (is_behind_verb && !word.text.starts_with('-')) {
            return true;
        }
        is_behind_verb = is_behind_verb || contains(kVerbs, word.text);
    }
    return false;
}

void command_rules(Lint& lint, const Script& script, std::size_t which) {
    const ScriptCommand& command = script.commands[which];
    const Section& section = *script.section;
    const std::string program = command.program();
    const ScriptWord& first = command.words.front();
    if (program == "apt-key" && adds_key(command)) {
        lint.tell("CD311", section, first, "'apt-key' trusts its keys for every source");
    }
    if (first.text == "sudo" && !changes_user(command) && section.name != "setup" &&
        section.name != "pre") {
        lint.tell("CD314", section, first, "'sudo' has no use here");
    }
    const bool upgrades = command.has_word("dist-upgrade") || command.has_word("full-upgrade") ||
                          command.has_word("upgrade") || command.has_word("update");
    const bool is_apt_update = program.starts_with("apt") && command.has_word("update");
    constexpr std::array<std::string_view, 5> kUpgraders = {
        "apt-get", "apt", "dnf", "yum", "zypper"};
    if (upgrades && !is_apt_update && contains(kUpgraders, program)) {
        if (!names_packages(command)) {
            lint.tell("CD313", section, first, fmt::format("'{}' upgrades the base", program));
        }
        upgrade_question(lint, script, command);
    }
    constexpr std::array<std::string_view, 5> kRemovers = {
        "autoremove", "remove", "purge", "clean", "autoclean"};
    const bool removes =
        program.starts_with("apt") && std::ranges::any_of(kRemovers, [&](std::string_view verb) {
            return command.has_word(verb);
        });
    for (const ScriptWord& word : command.words) {
        const bool is_loopback = word.text.find("://localhost") != std::string::npos ||
                                 word.text.find("://127.") != std::string::npos;
        const bool is_plain = is_download(command) &&
                              word.text.find("http://") != std::string::npos &&
                              !is_verified(script, which);
        // `update` rejects unsigned indexes, whatever may be installed.
        const bool is_unchecked = contains(kUnchecked, word.text) && !removes && !is_apt_update &&
                                  (word.text != "-k" || program == "curl");
        if ((is_plain && !is_loopback) || is_unchecked) {
            lint.tell("CD310",
                      section,
                      word,
                      fmt::format("'{}' accepts what anyone on the way sends", printable(program)));
        }
    }
}

} // namespace

void lint_supply(Lint& lint) {
    const auto& stages = lint.stages();
    for (const Stage& stage : stages) {
        base(lint, stage);
        for (const Script& script : scripts_of(stage, {"post", "appinstall", "setup", "pre"})) {
            for (std::size_t i = 0; i < script.commands.size(); ++i) {
                const ScriptCommand& command = script.commands[i];
                install(lint, script, command, &stage == &stages.back());
                download(lint, script, i);
                command_rules(lint, script, i);
            }
        }
    }
    lint_secrets(lint);
}

} // namespace cybele::definitions
