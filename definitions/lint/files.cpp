// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/lines.hpp"
#include "definitions/lint/context.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

/// Mounted over when a container starts.
constexpr std::array<std::string_view, 8> kHidden = {
    "/root", "/home", "/tmp", "/var/tmp", "/proc", "/sys", "/dev", "/run"};

bool is_hidden(std::string_view path) {
    return std::any_of(kHidden.begin(), kHidden.end(), [&](std::string_view place) {
        return path == place ||
               (path.starts_with(place) && path.size() > place.size() && path[place.size()] == '/');
    });
}

void destination(Lint& lint, const FileLine& line) {
    if (line.destination.starts_with('~') || line.destination.find('$') != std::string::npos) {
        lint.tell("CD404",
                  {line.line, 0},
                  fmt::format("the destination is literally '{}'", printable(line.destination)));
    }
    if (is_hidden(line.destination.empty() ? line.source : line.destination)) {
        lint.tell(
            "CD501",
            {line.line, 0},
            fmt::format("'{}' is hidden when the container runs",
                        printable(line.destination.empty() ? line.source : line.destination)));
    }
}

void words(Lint& lint, const FileLine& line) {
    std::string_view text = line.text;
    const std::size_t hash = text.find(" #");
    if (line.destination.starts_with('#')) {
        lint.tell("CD401",
                  {line.line, text.find('#') + 1},
                  fmt::format("'{}' is copied to a file named '{}'",
                              printable(line.source),
                              printable(line.destination)));
    } else if (hash != std::string_view::npos) {
        lint.tell("CD401", {line.line, hash + 2}, "what stands here means nothing");
    }
}

void source(Lint& lint, const FileLine& line, bool is_host) {
    const bool is_pattern = line.source.find_first_of("*?[]{}$~") != std::string::npos;
    const auto& has_source = lint.options().has_source;
    if (is_host && !is_pattern && has_source && !line.source.empty() && !has_source(line.source)) {
        lint.tell("CD405",
                  {line.line, 0},
                  fmt::format("there is no '{}'", printable(line.source)),
                  line.source.starts_with('/')
                      ? ""
                      : "a relative source begins where the build is called");
    }
}

void check_files_section(Lint& lint, const Section& section) {
    std::map<std::string, std::size_t> destinations;
    std::set<std::pair<std::string, std::string>> seen;
    const bool is_host = files_origin(section).kind == FilesOrigin::Kind::kHost;
    for (const FileLine& line : file_lines(section)) {
        words(lint, line);
        destination(lint, line);
        source(lint, line, is_host);
        if (!seen.emplace(line.source, line.destination).second) {
            lint.tell("CD403", {line.line, 0}, "this line stands above already");
        } else if (!line.destination.empty() && !line.destination.ends_with('/') &&
                   !destinations.emplace(line.destination, line.line).second) {
            lint.tell(
                "CD402",
                {line.line, 0},
                fmt::format("'{}' is a destination above already", printable(line.destination)));
        }
        const bool globs = line.source.find_first_of("*?[") != std::string::npos;
        if (globs && !line.destination.empty() && !line.destination.ends_with('/')) {
            lint.tell("CD402",
                      {line.line, 0},
                      fmt::format("several files may go to '{}', where that is no folder",
                                  printable(line.destination)));
        }
    }
}

void prefixes(Lint& lint, const Script& script) {
    for (const ScriptCommand& command : script.commands) {
        for (const ScriptWord& word : command.words) {
            constexpr std::array<std::string_view, 3> kOptions = {
                "--prefix=", "-DCMAKE_INSTALL_PREFIX=", "--install-dir="};
            for (const std::string_view option : kOptions) {
                if (word.text.starts_with(option) && is_hidden(word.text.substr(option.size()))) {
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
                check_files_section(lint, files);
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
