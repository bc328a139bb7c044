// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/lines.hpp"
#include "definitions/lint/context.hpp"
#include "definitions/lint/knowledge.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

/// Mounted over when a container starts. Of /home only the user's own folder is.
constexpr std::array<std::string_view, 7> kHidden = {
    "/root", "/tmp", "/var/tmp", "/proc", "/sys", "/dev", "/run"};

bool is_hidden(std::string_view path) {
    return std::ranges::any_of(kHidden, [&](std::string_view place) {
        return path == place ||
               (path.starts_with(place) && path.size() > place.size() && path[place.size()] == '/');
    });
}

/// Whether %post works with a file of %files, so that its place need not outlive the build.
bool is_build_input(const Stage& stage, std::string_view path) {
    while (path.ends_with('/')) {
        path.remove_suffix(1);
    }
    const std::string post = stage.joined("post");
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::string_view folder = path.substr(0, path.rfind('/'));
    return post.find(path) != std::string::npos || post.find(name) != std::string::npos ||
           (!folder.empty() && post.find(std::string(folder) + "/") != std::string::npos) ||
           (!folder.empty() && post.find("cd " + std::string(folder)) != std::string::npos);
}

void destination(Lint& lint, const Stage& stage, const FileLine& line) {
    if (line.destination.starts_with('~') || line.destination.find('$') != std::string::npos) {
        lint.tell("CD404",
                  {line.line, 0},
                  fmt::format("the destination is literally '{}'", printable(line.destination)));
    }
    const std::string& place = line.destination.empty() ? line.source : line.destination;
    if (is_hidden(place) && !is_build_input(stage, place)) {
        lint.tell("CD501",
                  {line.line, 0},
                  fmt::format("'{}' is hidden when the container runs", printable(place)));
    }
}

void words(Lint& lint, const FileLine& line) {
    // Behind two words a comment is ignored like any other word.
    if (line.destination.starts_with('#')) {
        lint.tell("CD401",
                  {line.line, line.text.find('#') + 1},
                  fmt::format("'{}' is copied to a file named '{}'",
                              printable(line.source),
                              printable(line.destination)));
    }
}

/// Whether a script on the host may make a source before it is copied.
bool is_made_before(const Stage& stage, std::string_view path) {
    const std::string host = stage.joined("pre") + stage.joined("setup");
    return !host.empty() && host.find(path.substr(path.rfind('/') + 1)) != std::string::npos;
}

/// The name that a source's backslashes protect from the shell that expands it.
std::string without_escapes(std::string_view source) {
    std::string name;
    for (std::size_t i = 0; i < source.size(); ++i) {
        i += source[i] == '\\' && i + 1 < source.size() ? 1U : 0U;
        name += source[i];
    }
    return name;
}

void source(Lint& lint, const Stage& stage, const FileLine& line, bool is_host) {
    const bool is_pattern = line.source.find_first_of("*?[]{}$~") != std::string::npos;
    const auto& has_source = lint.options().has_source;
    const std::string name = without_escapes(line.source);
    if (is_host && !is_pattern && has_source && !name.empty() && !has_source(name) &&
        !is_made_before(stage, name)) {
        lint.tell("CD405",
                  {line.line, 0},
                  fmt::format("there is no '{}'", printable(line.source)),
                  line.source.starts_with('/')
                      ? ""
                      : fmt::format("a relative source begins where the build is called{}",
                                    lint.options().folder.empty()
                                        ? ""
                                        : ", here in " + printable(lint.options().folder)));
    }
}

/// A source that is one file as far as its name says: it has a suffix.
bool looks_like_file(std::string_view source) {
    const std::string_view name = source.substr(source.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    return dot != std::string_view::npos && dot > 0 && dot + 1 < name.size() &&
           name.find_first_of("*?[{$") == std::string_view::npos;
}

/// Whether the destination is a folder before the line is copied, as far as can be known: a usual
/// one, one that %setup or an earlier line makes, one of a base that is not known.
bool is_folder_by_then(const Stage& stage,
                       const std::set<std::string, std::less<>>& made,
                       std::string_view destination) {
    const std::string setup = stage.joined("setup");
    return is_usual_folder(destination) || made.contains(destination) ||
           (!setup.empty() && setup.find(destination) != std::string::npos) ||
           !has_plain_base(stage);
}

/// The folders that a copy makes: all above its destination, and the destination that ends with a
/// slash.
void note_folders(std::set<std::string, std::less<>>& made, std::string_view destination) {
    for (std::size_t slash = destination.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = destination.rfind('/', slash - 1)) {
        made.emplace(destination.substr(0, slash));
    }
}

void one_name(Lint& lint,
              const Stage& stage,
              const FileLine& line,
              std::map<std::string, std::string>& destinations,
              std::set<std::string, std::less<>>& made) {
    const std::string& to = line.destination;
    if (to == "." || to == "..") { // the image's root
        return;
    }
    if (to.empty() || to.ends_with('/') || to.starts_with('#')) { // CD401 tells of comments
        note_folders(made, to);
        return;
    }
    const auto [before, is_new] = destinations.emplace(to, line.source);
    const bool globs = line.source.find_first_of("*?[") != std::string::npos;
    if (!is_folder_by_then(stage, made, to)) {
        if (!is_new && looks_like_file(before->second)) {
            lint.tell("CD402",
                      {line.line, 0},
                      fmt::format("'{}' is a destination above already", printable(to)));
        }
        if (globs && !looks_like_file(to)) { // with a suffix one file is meant
            lint.tell("CD402",
                      {line.line, 0},
                      fmt::format("several files may go to '{}', where that is not a folder",
                                  printable(to)));
        }
    }
    note_folders(made, to);
}

void check_files_section(Lint& lint, const Stage& stage, const Section& section) {
    std::map<std::string, std::string> destinations;
    std::set<std::string, std::less<>> made;
    std::set<std::pair<std::string, std::string>> seen;
    const bool is_host = files_origin(section).kind == FilesOrigin::Kind::kHost;
    for (const FileLine& line : file_lines(section)) {
        words(lint, line);
        destination(lint, stage, line);
        source(lint, stage, line, is_host);
        if (!seen.emplace(line.source, line.destination).second) {
            lint.tell("CD403", {line.line, 0}, "this line stands above already");
            continue;
        }
        one_name(lint, stage, line, destinations, made);
    }
}

/// Whether a later command takes what was installed there to another place.
bool is_moved(const Script& script, std::string_view prefix) {
    constexpr std::array<std::string_view, 5> kMovers = {"cp", "mv", "rsync", "tar", "install"};
    return std::ranges::any_of(script.commands, [&](const auto& command) {
        return contains(kMovers, command.program()) &&
               std::ranges::any_of(command.words, [&](const auto& word) {
                   return word.text.find(prefix) != std::string::npos;
               });
    });
}

void prefixes(Lint& lint, const Script& script) {
    for (const ScriptCommand& command : script.commands) {
        for (const ScriptWord& word : command.words) {
            constexpr std::array<std::string_view, 3> kOptions = {
                "--prefix=", "-DCMAKE_INSTALL_PREFIX=", "--install-dir="};
            for (const std::string_view option : kOptions) {
                if (word.text.starts_with(option) && is_hidden(word.text.substr(option.size())) &&
                    !is_moved(script, word.text.substr(option.size()))) {
                    lint.tell("CD501",
                              *script.section,
                              word,
                              fmt::format("'{}' is hidden when the container runs",
                                          printable(word.text.substr(option.size()))));
                }
            }
        }
    }
}

} // namespace

void lint_files(Lint& lint) {
    for (const Stage& stage : lint.stages()) {
        for (const Section& files : stage.sections) {
            if (files.name == "files") {
                check_files_section(lint, stage, files);
            }
        }
        if (&stage == &lint.stages().back()) {
            for (const Script& script : scripts_of(stage, {"post"})) {
                prefixes(lint, script);
            }
        }
    }
}

} // namespace cybele::definitions
