// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <string_view>

/// What this machine's pip is told: where it asks for packages, and how patiently.
namespace cybele::builder {

/// Variables (PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_TRUSTED_HOST, PIP_FIND_LINKS, PIP_TIMEOUT,
/// PIP_RETRIES) that give a pip elsewhere the settings of this machine's: of the sections global
/// and install of `etc`/xdg/pip/pip.conf, `etc`/pip.conf, ~/.pip/pip.conf, the user's configuration
/// folder and PIP_CONFIG_FILE, then of the environment; a later one wins, as in pip's manual. Paths
/// of this machine are left out: they mean nothing elsewhere. What cannot be read is passed over.
[[nodiscard]] EnvironmentMap pip_settings(const Environment& environment,
                                          const std::filesystem::path& etc = "/etc");

/// The certificates that this machine's pip trusts (`cert`); empty: its own.
[[nodiscard]] std::filesystem::path pip_certificates(const Environment& environment,
                                                     const std::filesystem::path& etc = "/etc");

/// The settings of one file, as variables.
[[nodiscard]] EnvironmentMap read_pip_settings(std::string_view text);

} // namespace cybele::builder
