// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// What this machine's apt is told: its package mirror and whether it believes expired indexes.
namespace cybele::builder {

/// One entry of apt's sources, of either form.
struct AptSource {
    std::string uri;
    std::string suite;
    std::vector<std::string> components;
};

/// Entries of a one-line file (`deb [options] URI suite components`); others are passed over.
[[nodiscard]] std::vector<AptSource> read_one_line_sources(std::string_view text);
/// Entries of a deb822 file (`Types:`, `URIs:`, `Suites:`, `Components:`), one per URI and suite;
/// stanzas with `Enabled: no` are passed over.
[[nodiscard]] std::vector<AptSource> read_deb822_sources(std::string_view text);

/// The mirror for a suite: of the entry with this suite and the component main, else of the first
/// entry for a whole distribution (component main, no `-security` or the like). kEnvironment if
/// there is none.
[[nodiscard]] Result<std::string> mirror_for_suite(const std::filesystem::path& apt_configuration,
                                                   std::string_view suite);

/// Whether the machine's apt takes indexes whose Valid-Until lies in the past.
[[nodiscard]] bool accepts_expired_indexes(const std::filesystem::path& apt_configuration);

/// The address of the machine's own package mirror for a Debian suite, from apt's configuration;
/// kEnvironment if there is none.
[[nodiscard]] Result<std::string>
machine_mirror(const std::filesystem::path& apt_configuration = "/etc/apt");

} // namespace cybele::builder
