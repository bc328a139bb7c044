// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/bases/agent.hpp"

#include <filesystem>
#include <string>

/// The agent `busybox`: one program from an address, and links of all its names to it.
namespace cybele::builder {

/// The rows of the agents' table, as Apptainer's conveyorPacker_busybox.go. kInput where
/// MirrorURL is missing or is no http(s) address.
[[nodiscard]] Result<std::uint64_t> plan_busybox(StagePlan& plan, const BuildRequest& request);
/// The program's digest, where it was fetched before.
[[nodiscard]] Result<std::string> key_of_busybox(const StagePlan& plan,
                                                 const AgentContext& context);
/// Fetches the program into the cache. kInput where what comes is no program for this machine,
/// kEnvironment where nothing comes.
[[nodiscard]] Result<void> make_busybox(StagePlan& plan, const AgentContext& context);
/// The program runs inside the tree only; unlike Apptainer, which starts it on the host.
[[nodiscard]] Result<void> fill_by_busybox(const StagePlan& plan,
                                           const std::filesystem::path& root,
                                           const FillContext& context);

} // namespace cybele::builder
