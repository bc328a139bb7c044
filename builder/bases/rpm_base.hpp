// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/bases/agent.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// The agents `yum`, `dnf` and `zypper`: a distribution of RPM packages, by the tool of this
/// machine.
namespace cybele::builder {

/// What such a base depends on, read from a stage's header.
struct RpmBase {
    struct Repository {
        std::string name;
        std::string address;
    };
    std::string agent;
    std::filesystem::path tool; ///< dnf, yum or zypper of this machine
    std::string version;        ///< OSVersion
    std::vector<Repository> repositories;
    std::vector<std::string> packages; ///< the agent's own, then those of Include
    std::string options;               ///< Setopt
    std::string key_address;           ///< GPG of the environment, as in Apptainer

    /// The text that stands for the base: all of it but the tool.
    [[nodiscard]] std::string key() const;
};

/// Reads MirrorURL, UpdateURL, OtherURL0 …, OSVersion, Include, Setopt as Apptainer's agents do
/// (conveyorPacker_yum.go, conveyorPacker_zypper.go). kInput for a header that lacks what it needs,
/// and for products that must be registered; kEnvironment where the tool is not installed.
[[nodiscard]] Result<RpmBase> rpm_base(const definitions::Stage& stage,
                                       const BuildRequest& request);

/// The rows of the agents' table.
[[nodiscard]] Result<std::uint64_t> plan_rpm(StagePlan& plan, const BuildRequest& request);
[[nodiscard]] Result<std::string> key_of_rpm(const StagePlan& plan, const AgentContext& context);
/// Installs into the empty folder, the tool running on this machine's root, its packages' scripts
/// in the tree. A failure is kExecution with the last lines of its output; kEnvironment where it
/// was the network.
[[nodiscard]] Result<void>
fill_by_rpm(const StagePlan& plan, const std::filesystem::path& root, const FillContext& context);

} // namespace cybele::builder
