// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// One setting: its name, the variable that sets it, its default and what it means.
struct SettingRow {
    std::string_view name;
    std::string_view variable;
    std::string_view otherwise; ///< default; "" = found out when needed
    std::string_view meaning;
    /// Whether it decides what is trusted, run or asked: then a project file sets it only where the
    /// user has allowed the folder (`config trust`).
    bool needs_trust = true;
};

/// All settings, in the order of `config show`.
[[nodiscard]] const std::vector<SettingRow>& setting_rows();

struct Setting {
    std::string name;
    std::string value;
    std::string origin;                   ///< "default", "variable CYBELE_…", or "FILE:LINE"
    std::optional<cybele::Place> where{}; ///< of a value in a file
};

/// Effective values: flag > CYBELE_* variable > project file (.cybelectl.yaml in the folder or one
/// above) > user file (config_directory()/config.yaml) > machine file (/etc/cybelectl/config.yaml)
/// > default.
///
/// The user's and the machine's files must be the user's own or root's, and writable by nobody else
/// (support/own_path.hpp). The same holds for a project file; of one whose folder the user has not
/// allowed, only settings without `needs_trust` count. The nearest allowed one rules; what is
/// ignored is said in notes().
class Settings {
public:
    /// Unknown names, wrong shapes and files that are no yaml are kInput, all at once. A file of
    /// the user or the machine that others can write is kEnvironment.
    [[nodiscard]] static Result<Settings>
    load(const Environment& environment,
         const std::filesystem::path& folder,
         const std::filesystem::path& machine_file = "/etc/cybelectl/config.yaml");

    [[nodiscard]] const std::vector<Setting>& all() const {
        return settings_;
    }
    [[nodiscard]] std::string get(std::string_view name) const;
    /// Where its value comes from, as Setting::origin.
    [[nodiscard]] std::string origin(std::string_view name) const;
    /// The place of its value in a settings file.
    [[nodiscard]] std::optional<Place> place(std::string_view name) const;
    /// The files that were read and counted, the strongest last.
    [[nodiscard]] const std::vector<std::filesystem::path>& files() const {
        return files_;
    }
    /// A warning of one line for each project file of which something was ignored.
    [[nodiscard]] const std::vector<Fault>& notes() const {
        return notes_;
    }

private:
    std::vector<Setting> settings_;
    std::vector<std::filesystem::path> files_;
    std::vector<Fault> notes_;
};

} // namespace cybele::pipeline
