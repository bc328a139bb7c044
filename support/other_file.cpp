// SPDX-License-Identifier: Apache-2.0
#include "support/other_file.hpp"

#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

namespace cybele {
namespace {

/// Reads the folder of a file, not the file alone.
constexpr std::string_view kFromFolder = "init --from";

/// How the first line that says something begins, in small letters.
struct Start {
    std::string_view begins;
    OtherFile file;
};
constexpr Start kStarts[] = {
    {"-----begin ", {"a key or a certificate", ""}},
    {"#!", {"a script", "submit --script"}},
    {"bootstrap:", {"a definition file", "def check", "build"}},
    {"from ", {"a Dockerfile", "recipe import"}},
    {"arg ", {"a Dockerfile", "recipe import"}},
    {"cmake_minimum_required", {"a CMakeLists.txt", kFromFolder}},
    {"import ", {"a program in Python", kFromFolder}},
    {"apiversion:", {"a Kubernetes object", "kube check"}},
    {"kind: bridge", {"a Bridge", ""}},
    {"kind: job", {"a Job", "job check", "submit"}},
    {"kind: lock", {"a Lock", ""}},
    {"kind: policy", {"a Policy", "verify IMAGE --policy"}},
    {"kind: project", {"a Project", "generate"}},
    {"kind: recipe", {"a Recipe", "recipe check", "build"}},
    {"kind: site", {"a Site", "site check"}},
};

/// How a name ends, for files whose text does not say what they are.
constexpr Start kEnds[] = {
    {".py", {"a program in Python", kFromFolder}},
    {".r", {"a program in R", kFromFolder}},
    {".ipynb", {"a notebook", ""}},
    {".c", {"a program in C", kFromFolder}},
    {".cc", {"a program in C++", kFromFolder}},
    {".cpp", {"a program in C++", kFromFolder}},
    {".f90", {"a program in Fortran", kFromFolder}},
    {"makefile", {"a Makefile", kFromFolder}},
    {"cmakelists.txt", {"a CMakeLists.txt", kFromFolder}},
    {"requirements.txt", {"a list of packages for pip", "recipe import"}},
    {"pipfile", {"a list of packages for Pipenv", "recipe import"}},
    {"pipfile.lock", {"a lock of Pipenv", "recipe import"}},
    {"pyproject.toml", {"a project in Python", kFromFolder}},
};

constexpr std::size_t kHead = 4096;

/// The first line that is neither empty nor a comment.
std::string_view first_line_of_text(std::string_view text) {
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t begin = line.find_first_not_of(" \t\r");
        if (begin != std::string_view::npos && line[begin] != '#') {
            return line.substr(begin);
        }
    }
    return {};
}

/// The line that says what a file is; of a script its first. The header of a definition file may
/// stand below a `#!`, which is a comment there.
std::string first_words(std::string_view text) {
    text = text.substr(0, kHead);
    const std::string words = text::lowered(first_line_of_text(text));
    const bool is_script = text.starts_with("#!") && !words.starts_with("bootstrap:");
    return is_script ? text::lowered(text.substr(0, text.find('\n'))) : words;
}

} // namespace

std::optional<OtherFile> recognize_file(std::string_view text) {
    constexpr std::size_t kMagicWithin = 64;
    if (text.substr(0, kMagicWithin).find("SIF_MAGIC") != std::string_view::npos ||
        text.starts_with("hsqs")) {
        return OtherFile{"an image", "inspect"};
    }
    const std::string words = first_words(text);
    if (words.starts_with("from ") && words.find(" import ") != std::string::npos) {
        return OtherFile{"a program in Python", kFromFolder};
    }
    const auto* const row = std::ranges::find_if(
        kStarts, [&](const Start& start) { return words.starts_with(start.begins); });
    return row == std::end(kStarts) ? std::nullopt : std::optional(row->file);
}

std::optional<OtherFile> recognize_file(std::string_view text, std::string_view file) {
    const auto by_text = recognize_file(text);
    const std::string name = text::lowered(file.substr(file.rfind('/') + 1));
    const auto* const row =
        std::ranges::find_if(kEnds, [&](const Start& end) { return name.ends_with(end.begins); });
    const bool is_named = row != std::end(kEnds);
    const bool is_open = !by_text || by_text->command == "submit --script";
    return is_named && is_open ? std::optional(row->file) : by_text;
}

namespace {

std::string command_line(std::string_view command, std::string_view file) {
    const std::size_t slash = file.rfind('/');
    const std::string_view folder =
        slash == std::string_view::npos ? std::string_view(".") : file.substr(0, slash + 1);
    return "`cybelectl " + std::string(command) + " " +
           shell_quote(command == kFromFolder || command == "generate" ? folder : file) + "`";
}

} // namespace

std::string use_of_other_file(const OtherFile& other, std::string_view file) {
    const std::string_view command = other.use.empty() ? other.command : other.use;
    if (command.empty()) {
        return "give the .sif file";
    }
    if (command == "build") {
        return "build it first: " + command_line(command, file);
    }
    return (command == kFromFolder ? "write a Recipe and a Job for its folder: "
                                   : "it is used by ") +
           command_line(command, file);
}

std::string help_for_other_file(const OtherFile& other, std::string_view file) {
    constexpr std::string_view kLock = ".lock.yaml";
    if (other.what == "a Lock" && file.ends_with(kLock)) {
        const std::string recipe(file.substr(0, file.size() - kLock.size()));
        return "give another file; this one is read by " +
               command_line("recipe lock --check", recipe + ".yaml");
    }
    if (other.command == kFromFolder) {
        return "write a Recipe and a Job for its folder: " + command_line(other.command, file);
    }
    return other.command.empty()
               ? "give another file"
               : "give another file; this one is read by " + command_line(other.command, file);
}

} // namespace cybele
