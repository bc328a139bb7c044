// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/definition.hpp"
#include "images/container.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cybele::builder {

struct BuildRequest {
    definitions::Definition definition;
    std::filesystem::path
        definition_file;             ///< for messages; %files sources are relative to `directory`
    std::filesystem::path directory; ///< the recipe's folder
    std::filesystem::path output;    ///< NAME.sif
    bool force = false;              ///< replace an existing output
    bool run_tests = true;
    bool use_cache = true;
    std::string mirror;            ///< the package mirror; empty: this machine's own
    std::filesystem::path ca_file; ///< empty: SSL_CERT_FILE … of the environment
    std::int64_t now = 0;          ///< Unix seconds
    bool is_deterministic = false; ///< SOURCE_DATE_EPOCH given
    images::PackOptions pack;
    std::map<std::string, std::string> labels; ///< added to %labels (facts: cybelectl.*)
    bool is_verbose = false;
    /// A line for the user at each step ("bootstrap debian 12", "%post 1 of 3: reused", …).
    std::function<void(const std::string&)> on_step;
};

struct BuildResult {
    std::filesystem::path image;
    std::uint64_t bytes = 0;
};

/// Builds with the embedded builder: bootstrap agents debootstrap and localimage; %setup and %pre
/// are refused unless root asks. As root, or as a user with subuid. A step that fails is
/// kExecution, with the last lines of its output and the line of the definition file.
[[nodiscard]] Result<BuildResult> build(const BuildRequest& request,
                                        const Environment& environment);

/// Hands the definition file to an installed `apptainer` or `singularity` instead.
[[nodiscard]] Result<BuildResult>
build_with(const std::string& program, const BuildRequest& request, const Environment& environment);

/// The address of the machine's own package mirror for a Debian suite, from apt's configuration;
/// kEnvironment if there is none.
[[nodiscard]] Result<std::string>
machine_mirror(const std::filesystem::path& apt_configuration = "/etc/apt");

} // namespace cybele::builder
