// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/process.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele {

/// The environment of this process, read once by main and handed down. No other room calls
/// getenv().
class Environment {
public:
    Environment() = default;
    explicit Environment(EnvironmentMap variables)
        : variables_(std::make_shared<const EnvironmentMap>(std::move(variables))) {}
    [[nodiscard]] static Environment of_this_process();

    /// Unset and empty are the same.
    [[nodiscard]] std::optional<std::string> get(std::string_view name) const;
    [[nodiscard]] std::string get_or(std::string_view name, std::string_view otherwise) const;
    /// For a variable that names a folder of the user, as HOME and XDG_CONFIG_HOME do. A relative
    /// path is ignored, as the XDG specification says: it would make the current folder the user's.
    [[nodiscard]] std::optional<std::filesystem::path> get_absolute(std::string_view name) const;
    /// Those of these variables whose relative path is ignored.
    [[nodiscard]] std::vector<std::string> ignored_folders() const;
    [[nodiscard]] const EnvironmentMap& all() const {
        return *variables_;
    }
    void set(std::string name, std::string value);

    /// $HOME, else "/". These and all others that get_absolute() reads ignore relative paths.
    [[nodiscard]] std::filesystem::path home() const;
    /// $CYBELE_CACHE_DIR, else $XDG_CACHE_HOME/cybelectl, else ~/.cache/cybelectl.
    [[nodiscard]] std::filesystem::path cache_directory() const;
    /// $CYBELE_CONFIG_DIR, else $XDG_CONFIG_HOME/cybelectl, else ~/.config/cybelectl.
    [[nodiscard]] std::filesystem::path config_directory() const;
    /// Where big temporary trees go: $CYBELE_TMPDIR, $TMPDIR, else /var/tmp.
    [[nodiscard]] std::filesystem::path temporary_directory() const;

private:
    /// Copies share them: requests and services hand an environment down in dozens of copies.
    std::shared_ptr<const EnvironmentMap> variables_ = std::make_shared<const EnvironmentMap>();
};

} // namespace cybele
