// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/runtime.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The settings of a host: Apptainer's apptainer.conf. What they allow is used, what they forbid is
/// kept or refused. Words that are not known are skipped, as by Apptainer.
namespace cybele::runtime {

/// The folders of a host that hold Apptainer's settings, in the order in which they are looked for.
inline constexpr const char* kSettingsFolders[] = {
    "/etc/apptainer", "/usr/local/etc/apptainer", "/etc/singularity"};

/// "bind path" to its values, in the file's order. Lines without a value are left out.
using SiteSettings = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The lines `words = value` of a text.
[[nodiscard]] SiteSettings read_site_settings(std::string_view text);

/// The file of this host: `named` (kInput where it is missing), else the first of the usual places;
/// without one, nothing is set. kInput: a value that its word does not have.
[[nodiscard]] Result<std::optional<SiteSettings>> find_site_settings(const std::string& named);

/// Changes the request to what the settings allow. Warnings of what was asked for and is left out
/// go to `warnings`. kEnvironment: the image is one that the settings forbid.
[[nodiscard]] Result<void> apply_site_settings(const SiteSettings& settings,
                                               Request& request,
                                               std::vector<std::string>& warnings);

/// The warnings where users may bind nothing; as Apptainer, one for each bind.
[[nodiscard]] std::vector<std::string> forbidden_binds(const Request& request);

/// The execution control list of Apptainer, which says whose SIF files may be started.
inline constexpr const char* kControlList = "/etc/apptainer/ecl.toml";

/// kEnvironment: the list is active, and the image is a SIF.
[[nodiscard]] Result<void> check_control_list(const Request& request,
                                              const std::filesystem::path& file = kControlList);

} // namespace cybele::runtime
