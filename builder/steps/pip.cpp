// SPDX-License-Identifier: Apache-2.0
#include "builder/steps/pip.hpp"

#include "support/characters.hpp"
#include "support/file.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

namespace cybele::builder {
namespace {

namespace fs = std::filesystem;

struct SettingRow {
    std::string_view key; ///< in a file
    const char* variable;
    bool is_place; ///< addresses, of which paths of this machine are left out
};
/// `no-index` is not among them: it goes with folders of this machine.
constexpr std::array<SettingRow, 7> kSettings = {{
    {"index-url", "PIP_INDEX_URL", true},
    {"extra-index-url", "PIP_EXTRA_INDEX_URL", true},
    {"find-links", "PIP_FIND_LINKS", true},
    {"trusted-host", "PIP_TRUSTED_HOST", false},
    {"timeout", "PIP_TIMEOUT", false},
    {"default-timeout", "PIP_TIMEOUT", false},
    {"retries", "PIP_RETRIES", false},
}};

/// Of a file, those that an installation reads; a later one wins.
constexpr std::array<const char*, 2> kReadSections = {"global", "install"};

/// As a variable has several values: words with a blank between; the reachable ones of a place.
std::string joined(std::string_view value, bool is_place) {
    std::istringstream stream{std::string(value)};
    std::string text;
    for (std::string word; stream >> word;) {
        if (!is_place || word.find("://") != std::string::npos) {
            text += (text.empty() ? "" : " ") + word;
        }
    }
    return text;
}

/// As pip compares names: lower case, `-` for `_`.
std::string key_of(std::string_view text) {
    std::string key(text::trimmed(text));
    std::transform(
        key.begin(), key.end(), key.begin(), [](char c) { return c == '_' ? '-' : to_lower(c); });
    return key;
}

/// Values by section and key, folded lines joined.
using Sections = std::map<std::string, EnvironmentMap>;

Sections read_sections(std::string_view text) {
    Sections sections;
    std::string section;
    std::string key;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const std::string content(text::trimmed(line));
        if (content.empty() || content.front() == '#' || content.front() == ';') {
            continue;
        }
        const std::size_t equals = line.find_first_of("=:");
        if (line.front() == ' ' || line.front() == '\t') {
            sections[section][key] += " " + content;
        } else if (content.front() == '[') {
            section = content.substr(1, content.find(']') - 1);
            key.clear();
        } else if (equals != std::string::npos) {
            key = key_of(line.substr(0, equals));
            sections[section][key] = std::string(text::trimmed(line.substr(equals + 1)));
        }
    }
    return sections;
}

void put(EnvironmentMap& settings, const SettingRow& row, std::string_view value) {
    if (std::string text = joined(value, row.is_place); !text.empty()) {
        settings[row.variable] = std::move(text);
    }
}

std::string variable_of(std::string_view key) {
    std::string name = "PIP_";
    for (const char c : key) {
        name += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
    }
    return name;
}

std::vector<fs::path> files(const Environment& environment, const fs::path& etc) {
    const fs::path home = environment.home();
    std::vector<fs::path> list = {
        etc / "xdg/pip/pip.conf",
        etc / "pip.conf",
        home / ".pip/pip.conf",
        environment.get_absolute("XDG_CONFIG_HOME").value_or(home / ".config") / "pip/pip.conf",
    };
    if (const auto own = environment.get("PIP_CONFIG_FILE")) {
        if (*own == "/dev/null") { // pip's word for "no files at all"
            return {};
        }
        list.emplace_back(*own);
    }
    return list;
}

} // namespace

EnvironmentMap read_pip_settings(std::string_view text) {
    const Sections sections = read_sections(text);
    EnvironmentMap settings;
    for (const char* section : kReadSections) {
        const auto found = sections.find(section);
        if (found == sections.end()) {
            continue;
        }
        for (const auto& row : kSettings) {
            if (const auto value = found->second.find(std::string(row.key));
                value != found->second.end()) {
                put(settings, row, value->second);
            }
        }
    }
    return settings;
}

EnvironmentMap pip_settings(const Environment& environment, const fs::path& etc) {
    EnvironmentMap settings;
    for (const fs::path& file : files(environment, etc)) {
        if (const auto text = read_file(file)) {
            for (auto& [name, value] : read_pip_settings(*text)) {
                settings[name] = std::move(value);
            }
        }
    }
    for (const auto& row : kSettings) {
        if (const auto value = environment.get(variable_of(row.key))) {
            put(settings, row, *value);
        }
    }
    return settings;
}

fs::path pip_certificates(const Environment& environment, const fs::path& etc) {
    if (const auto own = environment.get("PIP_CERT")) {
        return *own;
    }
    fs::path certificates;
    for (const fs::path& file : files(environment, etc)) {
        const auto text = read_file(file);
        Sections sections = read_sections(text ? *text : std::string());
        for (const char* section : kReadSections) {
            if (const std::string value = sections[section]["cert"]; !value.empty()) {
                certificates = value;
            }
        }
    }
    return certificates;
}

} // namespace cybele::builder
