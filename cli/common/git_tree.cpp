// SPDX-License-Identifier: Apache-2.0
#include "cli/common/git_tree.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <string_view>
#include <vector>

#include <fnmatch.h>

namespace cybele::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestIgnoreFile = std::size_t{1} << 20U;

/// A path below the folder of an ignore file, and whether it is a folder.
struct GitPath {
    std::string text;
    bool is_folder = false;
};

/// `sub/centre.pem`: the file itself, and the folders on its way; a folder keeps what is in it out.
std::vector<GitPath> paths_below(const fs::path& folder, const fs::path& file) {
    std::vector<GitPath> paths;
    for (fs::path path = file.lexically_relative(folder); !path.empty();
         path = path.parent_path()) {
        paths.push_back({path.native(), !paths.empty()});
    }
    return paths;
}

/// A pattern of gitignore(5): one with a slash in it is of the file's own folder, others of any.
bool matches(std::string_view pattern, const GitPath& path) {
    const bool is_of_folders = pattern.ends_with('/');
    pattern = pattern.substr(0, pattern.size() - (is_of_folders ? 1 : 0));
    if (is_of_folders && !path.is_folder) {
        return false;
    }
    if (pattern.starts_with("**/")) {
        pattern.remove_prefix(3);
    }
    const bool is_anchored = pattern.find('/') != std::string_view::npos;
    pattern.remove_prefix(pattern.starts_with('/') ? 1 : 0);
    const std::string text = is_anchored ? path.text : fs::path(path.text).filename().native();
    return fnmatch(std::string(pattern).c_str(), text.c_str(), FNM_PATHNAME) == 0;
}

/// What the lines of an ignore file say of a file; unset: nothing. The last line that matches
/// counts.
std::optional<bool>
ignores(const fs::path& ignore_file, const fs::path& folder, const fs::path& file) {
    const auto text = read_file(ignore_file, kLongestIgnoreFile);
    std::optional<bool> found;
    if (!text) {
        return found;
    }
    const std::vector<GitPath> paths = paths_below(folder, file);
    for (std::string_view line : text::split(*text, '\n')) {
        while (line.ends_with(' ') || line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        const bool is_back = line.starts_with('!');
        line.remove_prefix(is_back ? 1 : 0);
        for (const GitPath& path : paths) {
            found = matches(line, path) ? std::optional(!is_back) : found;
        }
    }
    return found;
}

/// The work tree's top: .git is a folder there, or a file that names one.
std::optional<fs::path> top_of_tree(const fs::path& file) {
    std::error_code error;
    for (fs::path folder = file.parent_path(); folder.has_relative_path();
         folder = folder.parent_path()) {
        if (fs::exists(folder / ".git", error)) {
            return folder;
        }
    }
    return std::nullopt;
}

/// The user's file for all work trees, where no configuration names another.
fs::path own_ignore_file(const Environment& environment) {
    return environment.get_absolute("XDG_CONFIG_HOME").value_or(environment.home() / ".config") /
           "git/ignore";
}

/// A name as a pattern has it: letters that mean something else are escaped.
std::string as_pattern(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        constexpr std::string_view kSpecial = "*?[]\\ ";
        pattern += kSpecial.find(c) == std::string_view::npos ? "" : "\\";
        pattern += c;
    }
    return pattern;
}

} // namespace

std::optional<GitLine> line_against_git(const Environment& environment, const fs::path& file) {
    std::error_code error;
    const fs::path key_file = fs::canonical(file, error);
    const auto top = error ? std::nullopt : top_of_tree(key_file);
    if (!top) {
        return std::nullopt;
    }
    // The nearest file that says something counts.
    for (fs::path folder = key_file.parent_path();; folder = folder.parent_path()) {
        if (const auto said = ignores(folder / ".gitignore", folder, key_file)) {
            return *said ? std::nullopt : std::optional(GitLine{});
        }
        if (folder == *top) {
            break;
        }
    }
    for (const fs::path& other : {*top / ".git/info/exclude", own_ignore_file(environment)}) {
        if (ignores(other, *top, key_file).value_or(false)) {
            return std::nullopt;
        }
    }
    const std::string below = key_file.lexically_relative(*top).native();
    return GitLine{*top / ".gitignore", "/" + as_pattern(below)};
}

std::optional<Fault> warn_of_git(const Environment& environment, const fs::path& private_key) {
    const auto line = line_against_git(environment, private_key);
    if (!line) {
        return std::nullopt;
    }
    return warning(
        ErrorCode::kInput,
        problem("private-key-in-git",
                "the next `git add` may add the private key " + printable(private_key.native())),
        "it is in a git work tree, and whoever has it can sign in your name",
        line->line.empty()
            ? "move it out of the work tree: a line of a .gitignore that begins with "
              "`!` includes it"
            : "move it out of the work tree, or ignore it: `echo " + shell_quote(line->line) +
                  " >>" + shell_quote(line->ignore_file.native()) + "`");
}

} // namespace cybele::cli
