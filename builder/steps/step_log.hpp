// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/steps/host_environment.hpp"
#include "runtime/namespaces/sandbox.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>

/// Where the output of what runs in a build goes.
namespace cybele::builder {

/// The last lines of an output, indented, as messages show them; what a progress bar overwrote is
/// left out.
[[nodiscard]] std::string last_lines(std::string_view text, std::size_t count);

/// Whether the output of apt, dnf, zypper, pip or curl says that the network was not reached.
[[nodiscard]] bool is_network_fault(std::string_view output);

/// Whether an output says that the certificate of a server could not be verified.
[[nodiscard]] bool is_certificate_fault(std::string_view output);

/// The package that apt does not know, by a line of its output (`E: Unable to locate package NAME`,
/// `E: Package 'NAME' has no installation candidate`, `E: Version '1' for 'NAME' was not found`);
/// nothing of other lines.
[[nodiscard]] std::string missing_package(std::string_view line);
/// The first that the lines of a step's output name.
[[nodiscard]] std::string first_missing_package(std::string_view output);

/// Whether apt says that a package is known, but not in the version that is wanted.
[[nodiscard]] bool is_version_missing(std::string_view output);
/// Whether the comparison with a Lock after an installation (recipes/packages/system.cpp) printed a
/// package that has another version.
[[nodiscard]] bool differs_from_lock(std::string_view output);

/// The line by which apt or dnf says that a repository is not signed by its key, or is out of date;
/// nothing where none does.
[[nodiscard]] std::string refused_repository(std::string_view output);

/// What a fault of a program that printed `output` says of it: its end, and where that is so that
/// the network was not reached (cli/common/refusal.cpp has a page for these words).
[[nodiscard]] std::string output_because(const std::string& who, std::string_view output);

/// Runs it. Its output is shown as the host environment says; its end is kept for a message.
[[nodiscard]] Result<ScriptEnd> run_logged(const namespaces::Sandbox& sandbox,
                                           const HostEnvironment& host_environment);

} // namespace cybele::builder
