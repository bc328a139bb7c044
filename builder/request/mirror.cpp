// SPDX-License-Identifier: Apache-2.0
#include "builder/request/mirror.hpp"

#include "builder/request/request.hpp"
#include "support/file.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::vector<std::string> result;
    for (std::string word; stream >> word;) {
        result.push_back(std::move(word));
    }
    return result;
}

/// The files of a folder with one ending, sorted as apt reads them.
std::vector<fs::path> files_of(const fs::path& directory, std::string_view extension) {
    std::vector<fs::path> files;
    std::error_code error;
    for (auto it = fs::directory_iterator(directory, error);
         !error && it != fs::directory_iterator();
         it.increment(error)) {
        if (extension.empty() || it->path().extension() == extension) {
            files.push_back(it->path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<AptSource> read_sources(const fs::path& configuration) {
    std::vector<AptSource> sources;
    const auto add = [&](const fs::path& file, auto read) {
        if (const auto text = read_file(file)) {
            auto found = read(*text);
            sources.insert(sources.end(), found.begin(), found.end());
        }
    };
    add(configuration / "sources.list", read_one_line_sources);
    for (const fs::path& file : files_of(configuration / "sources.list.d", {})) {
        if (file.extension() == ".list") {
            add(file, read_one_line_sources);
        } else if (file.extension() == ".sources") {
            add(file, read_deb822_sources);
        }
    }
    return sources;
}

bool is_reachable(std::string_view uri) {
    return uri.starts_with("http://") || uri.starts_with("https://") || uri.starts_with("file:");
}

/// Entries of a deb822 stanza, keys in lower case, folded lines joined.
using Stanza = std::map<std::string, std::string>;

void add_stanza(const Stanza& stanza, std::vector<AptSource>& sources) {
    const auto value = [&](const char* key) {
        const auto found = stanza.find(key);
        return words(found == stanza.end() ? std::string() : found->second);
    };
    const auto types = value("types");
    const auto enabled = value("enabled");
    if (!contains(types, "deb") || (!enabled.empty() && enabled[0] == "no")) {
        return;
    }
    for (const std::string& uri : value("uris")) {
        for (const std::string& suite : value("suites")) {
            sources.push_back({uri, suite, value("components")});
        }
    }
}

} // namespace

std::vector<AptSource> read_one_line_sources(std::string_view text) {
    std::vector<AptSource> sources;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        line.resize(std::min(line.find('#'), line.size()));
        auto parts = words(line);
        if (parts.size() < 3 || parts[0] != "deb") {
            continue;
        }
        std::size_t next = 1;
        if (parts[1].starts_with('[')) {
            while (next < parts.size() && !parts[next].ends_with(']')) {
                ++next;
            }
            ++next;
        }
        if (next + 1 < parts.size()) {
            const auto components = parts.begin() + static_cast<std::ptrdiff_t>(next + 2);
            sources.push_back({parts[next], parts[next + 1], {components, parts.end()}});
        }
    }
    return sources;
}

std::vector<AptSource> read_deb822_sources(std::string_view text) {
    std::vector<AptSource> sources;
    Stanza stanza;
    std::string key;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) {
            add_stanza(stanza, sources);
            stanza.clear();
            key.clear();
        } else if (line.front() == '#') {
            continue;
        } else if (line.front() == ' ' || line.front() == '\t') {
            stanza[key] += " " + line;
        } else if (const std::size_t colon = line.find(':'); colon != std::string::npos) {
            key = line.substr(0, colon);
            key = text::lowered(key);
            stanza[key] = line.substr(colon + 1);
        }
    }
    add_stanza(stanza, sources);
    return sources;
}

Result<std::string> mirror_for_suite(const fs::path& apt_configuration, std::string_view suite) {
    const std::vector<AptSource> sources = read_sources(apt_configuration);
    const auto is_main = [](const AptSource& source) {
        return is_reachable(source.uri) && contains(source.components, "main");
    };
    const auto exact = std::ranges::find_if(
        sources, [&](const AptSource& source) { return is_main(source) && source.suite == suite; });
    if (exact != sources.end()) {
        return exact->uri;
    }
    const auto whole = std::ranges::find_if(sources, [&](const AptSource& source) {
        return is_main(source) && source.suite.find_first_of("-/") == std::string::npos;
    });
    if (whole != sources.end()) {
        return whole->uri;
    }
    return fail(ErrorCode::kEnvironment,
                problem("package-mirror-unknown", "this machine's package mirror is not known"),
                fmt::format("apt's sources below {} name no mirror of a distribution",
                            printable(apt_configuration.native())),
                "give the mirror's address with --mirror, or as MirrorURL in the definition file");
}

bool accepts_expired_indexes(const fs::path& apt_configuration) {
    bool accepts = false;
    std::vector<fs::path> files = files_of(apt_configuration / "apt.conf.d", {});
    files.push_back(apt_configuration / "apt.conf");
    for (const fs::path& file : files) {
        const auto text = read_file(file);
        std::istringstream lines(text ? *text : std::string());
        for (std::string line; std::getline(lines, line);) {
            const std::size_t option = line.find("Check-Valid-Until");
            if (option != std::string::npos && line.find("//") > option) {
                accepts = line.find("false", option) != std::string::npos ||
                          line.find("\"0\"", option) != std::string::npos ||
                          line.find("\"no\"", option) != std::string::npos;
            }
        }
    }
    return accepts;
}

Result<std::string> machine_mirror(const fs::path& apt_configuration) {
    return mirror_for_suite(apt_configuration, {});
}

} // namespace cybele::builder
