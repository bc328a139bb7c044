// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/definition_front.hpp"

#include "recipes/forms/words.hpp"
#include "recipes/import/shell_lines.hpp"

#include <algorithm>
#include <array>

namespace cybele::recipes::definition_file {
namespace {

using dockerfile::Word;

/// Images of a distribution without more.
constexpr std::string_view kPlainImages =
    "debian ubuntu centos rockylinux almalinux fedora alpine rockylinux/rockylinux";
/// The search path that Apptainer gives to %post.
constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Folders of /usr/local that every base has.
constexpr std::string_view kOfUsrLocal = "bin etc games include lib man sbin share src";
/// Folders of / that every base has, but for /opt and /usr/local.
constexpr std::string_view kOfRoot =
    "bin boot dev etc lib lib32 lib64 libx32 media mnt proc run sbin srv sys tmp usr var";

bool is_plain_base(const State& state) {
    if (!state.stage.base.empty()) {
        return true;
    }
    std::string_view image = state.stage.image;
    for (const std::string_view prefix : {"docker://", "docker.io/", "library/"}) {
        if (image.starts_with(prefix)) {
            image.remove_prefix(prefix.size());
        }
    }
    return has_word(kPlainImages, image.substr(0, image.find_first_of(":@")));
}

/// Below a folder that such a base does not have.
bool is_absent(std::string_view folder) {
    if (folder.starts_with("/usr/local/")) {
        folder.remove_prefix(std::string_view("/usr/local/").size());
        const auto name = folder.substr(0, folder.find('/'));
        return !name.empty() && !has_word(kOfUsrLocal, name);
    }
    if (!folder.starts_with('/') || folder.size() < 2) {
        return false;
    }
    const auto name = folder.substr(1, folder.find('/', 1) - 1);
    return !has_word(kOfRoot, name) && (name != "opt" || folder.size() > 5);
}

/// Whether the definition copies files there.
bool is_copied(const State& state, std::string_view folder) {
    const std::string own = std::string(folder) + "/";
    return std::ranges::any_of(state.stage.files, [&](const FileCopy& copy) {
        const std::string to = copy.to + "/";
        return own.starts_with(to) || to.starts_with(own);
    });
}

/// A file that the runtime reads when a container starts.
bool is_environment_file(std::string_view file) {
    constexpr std::string_view kKnownFiles = "$APPTAINER_ENVIRONMENT ${APPTAINER_ENVIRONMENT} "
                                             "$SINGULARITY_ENVIRONMENT ${SINGULARITY_ENVIRONMENT} "
                                             "/environment";
    if (file.size() > 2 && file.starts_with('"') && file.ends_with('"')) {
        file = file.substr(1, file.size() - 2);
    }
    return has_word(kKnownFiles, file);
}

bool has_substitution(std::string_view text) {
    return text.find('`') != std::string_view::npos || text.find("$(") != std::string_view::npos;
}

} // namespace

bool adds_absent_folders(const State& state, std::string_view assignment) {
    const auto equal = assignment.find('=');
    const std::string_view name = assignment.substr(0, equal);
    if (equal == std::string_view::npos || (name != "PATH" && name != "LD_LIBRARY_PATH") ||
        !is_plain_base(state)) {
        return false;
    }
    std::string value(assignment.substr(equal + 1));
    std::erase(value, '"');
    std::string others;
    for (std::string_view rest = value; !rest.empty();) {
        const auto colon = rest.find(':');
        const std::string_view folder = rest.substr(0, colon);
        if (folder.find_first_of("$'\\ ") != std::string_view::npos || !is_absent(folder) ||
            is_copied(state, folder)) {
            others += (others.empty() ? "" : ":") + std::string(folder);
        }
        rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
    const std::string own = "$" + std::string(name);
    const std::string braced = "${" + std::string(name) + "}";
    return others == own || others == braced || (name == "PATH" && others == kDefaultPath) ||
           (name != "PATH" && others.empty() && !value.empty());
}

bool reads_base_environment(const State& state, const FrontCommand& command) {
    const bool is_docker = !state.stage.base.empty() || state.stage.image.starts_with("docker://");
    return is_docker && command.program() == "." && command.words.size() == command.at + 2 &&
           command.words.back().text == "/environment";
}

bool writes_environment(const FrontCommand& command) {
    if (command.program() != "echo" || command.words.size() < command.at + 3 ||
        has_substitution(command.text) || command.text.find('<') != std::string::npos) {
        return false;
    }
    const std::string& last = command.words.back().text;
    const bool is_apart = command.words[command.words.size() - 2].text == ">>";
    const auto first = command.text.find('>');
    return first + 1 == command.text.rfind('>') &&
           ((is_apart && is_environment_file(last)) ||
            (last.starts_with(">>") && is_environment_file(last.substr(2))));
}

bool sets_time_zone(const FrontCommand& command) {
    const auto& words = command.words;
    const std::string& text = command.text;
    if (command.at + 1 >= words.size() || text.find('<') != std::string::npos ||
        has_substitution(text)) {
        return false;
    }
    const std::string& last = words.back().text;
    return (command.program() == "ln" && last == "/etc/localtime" &&
            text.find('>') == std::string::npos) ||
           (command.program() == "echo" &&
            (last == ">/etc/timezone" ||
             (last == "/etc/timezone" && words[words.size() - 2].text == ">")) &&
            text.find('>') == text.rfind('>'));
}

bool changes_own_modes(const FrontCommand& command) {
    if (command.program() != "chmod") {
        return false;
    }
    std::size_t operands = 0;
    for (std::size_t i = command.at + 1; i < command.words.size(); ++i) {
        std::string path = command.words[i].text;
        if (path.starts_with('-')) {
            continue;
        }
        std::erase_if(path, [](char c) { return c == '\'' || c == '"'; });
        ++operands;
        const bool is_own = path.starts_with('/') && !is_system_path(path) &&
                            path.find_first_of("$*?[") == std::string::npos && is_absent(path);
        if (operands > 1 && !is_own) {
            return false; // the first one is the mode
        }
    }
    return operands > 1;
}

bool installs_group(const FrontCommand& command) {
    if (!has_word("yum dnf", command.program())) {
        return false;
    }
    const auto& words = command.words;
    for (std::size_t i = command.at + 1; i < words.size(); ++i) {
        const bool is_pair = has_word("group groups", words[i].text) && i + 1 < words.size() &&
                             words[i + 1].text == "install";
        if (is_pair || words[i].text == "groupinstall") {
            return true;
        }
    }
    return false;
}

std::string without_questions(std::string command) {
    for (const std::string_view question : {"$(nproc)", "$(uname -m)", "`nproc`"}) {
        for (auto at = command.find(question); at != std::string::npos;
             at = command.find(question)) {
            command.replace(at, question.size(), "1");
        }
    }
    return command;
}

} // namespace cybele::recipes::definition_file
