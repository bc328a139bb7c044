// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::project {

/// One setting: its name, the variable that sets it, its default and what it means.
struct SettingRow {
    std::string_view name;
    std::string_view variable;
    std::string_view otherwise; ///< default; "" = found out when needed
    std::string_view meaning;
};

/// All settings, in the order of `config show`.
[[nodiscard]] const std::vector<SettingRow>& setting_rows();

struct Setting {
    std::string name;
    std::string value;
    std::string origin; ///< "default", "variable CYBELE_…", or "FILE:LINE"
};

/// Effective values: flag > CYBELE_* variable > project file (.cybelectl.yaml in the folder or one
/// above) > user file (config_directory()/config.yaml) > machine file (/etc/cybelectl/config.yaml)
/// > default.
class Settings {
public:
    /// Unknown names, wrong shapes and files that are no yaml are kInput, all at once.
    [[nodiscard]] static Result<Settings>
    load(const Environment& environment,
         const std::filesystem::path& folder,
         const std::filesystem::path& machine_file = "/etc/cybelectl/config.yaml");

    [[nodiscard]] const std::vector<Setting>& all() const {
        return settings_;
    }
    [[nodiscard]] std::string get(std::string_view name) const;

private:
    std::vector<Setting> settings_;
};

} // namespace cybele::project
