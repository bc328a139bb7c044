// SPDX-License-Identifier: Apache-2.0
// The managers whose records are texts.
#include "images/inspection/packages.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

namespace cybele::images {
namespace {

void each_line(std::string_view text, const std::function<bool(std::string_view line)>& take) {
    for (std::size_t at = 0; at <= text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        if (!take(text.substr(at, end - at))) {
            return;
        }
        at = end + 1;
    }
}

/// `https://HOST/conda-forge/linux-64` means conda-forge; a folder's channel has no name.
std::string channel_name(std::string_view channel, std::string_view subdir) {
    if (channel.ends_with(subdir) && !subdir.empty()) {
        channel.remove_suffix(subdir.size());
    }
    while (channel.ends_with('/')) {
        channel.remove_suffix(1);
    }
    const auto scheme = channel.find("://");
    if (scheme == std::string_view::npos) {
        return std::string(channel);
    }
    const auto path = channel.find('/', scheme + 3);
    const bool is_file = channel.starts_with("file:") || path == std::string_view::npos;
    return is_file ? std::string() : std::string(channel.substr(path + 1));
}

/// As package URLs name them.
std::string conda_type(std::string_view file) {
    constexpr std::string_view kTypes[] = {"conda", "tar.bz2"};
    for (const auto type : kTypes) {
        if (file.ends_with("." + std::string(type))) {
            return std::string(type);
        }
    }
    return {};
}

bool is_whole(const Package& package) {
    return !package.name.empty() && !package.version.empty();
}

// "install ok installed": the third word says what is there. Configuration files alone do not
// count.
bool is_installed(std::string_view status) {
    const auto state = status.substr(std::min(status.rfind(' ') + 1, status.size()));
    return state != "config-files" && state != "not-installed";
}

} // namespace

std::vector<Package> parse_dpkg_status(std::string_view text) {
    std::vector<Package> packages;
    Package package;
    std::string status;
    const auto finish = [&] {
        package.manager = "dpkg";
        if (is_whole(package) && is_installed(status)) {
            packages.push_back(package);
        }
        package = {};
        status.clear();
    };
    each_line(text, [&](std::string_view line) {
        const auto colon = line.find(':');
        if (text::trimmed(line).empty()) {
            finish();
        } else if (colon != std::string_view::npos && line.front() != ' ' && line.front() != '\t') {
            const auto key = line.substr(0, colon);
            const auto value = std::string(text::trimmed(line.substr(colon + 1)));
            if (key == "Package") {
                package.name = value;
            } else if (key == "Version") {
                package.version = value;
            } else if (key == "Architecture") {
                package.architecture = value;
            } else if (key == "Status") {
                status = value;
            }
        }
        return true;
    });
    finish();
    return packages;
}

std::vector<Package> parse_apk_installed(std::string_view text) {
    std::vector<Package> packages;
    Package package;
    const auto finish = [&] {
        package.manager = "apk";
        if (is_whole(package)) {
            packages.push_back(package);
        }
        package = {};
    };
    each_line(text, [&](std::string_view line) {
        if (line.empty()) {
            finish();
        } else if (line.starts_with("P:")) {
            package.name = text::trimmed(line.substr(2));
        } else if (line.starts_with("V:")) {
            package.version = text::trimmed(line.substr(2));
        } else if (line.starts_with("A:")) {
            package.architecture = text::trimmed(line.substr(2));
        }
        return true;
    });
    finish();
    return packages;
}

std::vector<Package> parse_python_metadata(std::string_view text) {
    Package package;
    package.manager = "pip";
    each_line(text, [&](std::string_view line) {
        if (line.starts_with("Name:")) {
            package.name = text::trimmed(line.substr(5));
        } else if (line.starts_with("Version:")) {
            package.version = text::trimmed(line.substr(8));
        }
        return !text::trimmed(line).empty(); // the description follows
    });
    return is_whole(package) ? std::vector{package} : std::vector<Package>{};
}

std::vector<Package> parse_conda_record(std::string_view text) {
    const auto json = parse_json(text);
    Package package;
    package.manager = "conda";
    const auto field = [&](const char* key) { return member_text(json, key); };
    package.name = field("name");
    package.version = field("version");
    package.architecture = field("subdir");
    const std::pair<const char*, std::string> more[] = {
        {"build", field("build")},
        {"channel", channel_name(field("channel"), package.architecture)},
        {"type", conda_type(field("fn"))}};
    for (const auto& [name, value] : more) {
        if (!value.empty()) {
            package.qualifiers[name] = value;
        }
    }
    return is_whole(package) ? std::vector{package} : std::vector<Package>{};
}

} // namespace cybele::images
