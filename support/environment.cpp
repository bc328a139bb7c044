// SPDX-License-Identifier: Apache-2.0
#include "support/environment.hpp"

#include <unistd.h>

namespace cybele {

Environment Environment::of_this_process() {
    EnvironmentMap variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos && equals > 0) {
            variables.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    return Environment(std::move(variables));
}

std::optional<std::string> Environment::get(std::string_view name) const {
    const auto found = variables_->find(std::string(name));
    if (found == variables_->end() || found->second.empty()) {
        return std::nullopt;
    }
    return found->second;
}

void Environment::set(std::string name, std::string value) {
    EnvironmentMap variables = *variables_;
    variables.insert_or_assign(std::move(name), std::move(value));
    variables_ = std::make_shared<const EnvironmentMap>(std::move(variables));
}

std::string Environment::get_or(std::string_view name, std::string_view otherwise) const {
    return get(name).value_or(std::string(otherwise));
}

std::optional<std::filesystem::path> Environment::get_absolute(std::string_view name) const {
    std::optional<std::filesystem::path> path = get(name);
    return path && path->is_absolute() ? path : std::nullopt;
}

std::vector<std::string> Environment::ignored_folders() const {
    std::vector<std::string> names;
    for (const char* name : {"HOME",
                             "XDG_CACHE_HOME",
                             "XDG_CONFIG_HOME",
                             "XDG_DATA_HOME",
                             "XDG_RUNTIME_DIR",
                             "XDG_STATE_HOME"}) {
        if (get(name) && !get_absolute(name)) {
            names.emplace_back(name);
        }
    }
    return names;
}

std::filesystem::path Environment::home() const {
    return get_absolute("HOME").value_or("/");
}

std::filesystem::path Environment::cache_directory() const {
    if (const auto own = get("CYBELE_CACHE_DIR")) {
        return *own;
    }
    if (const auto base = get_absolute("XDG_CACHE_HOME")) {
        return *base / "cybelectl";
    }
    return home() / ".cache" / "cybelectl";
}

std::filesystem::path Environment::config_directory() const {
    if (const auto own = get("CYBELE_CONFIG_DIR")) {
        return *own;
    }
    if (const auto base = get_absolute("XDG_CONFIG_HOME")) {
        return *base / "cybelectl";
    }
    return home() / ".config" / "cybelectl";
}

std::filesystem::path Environment::temporary_directory() const {
    if (const auto own = get("CYBELE_TMPDIR")) {
        return *own;
    }
    return get_or("TMPDIR", "/var/tmp");
}

} // namespace cybele
