// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/bases/agent.hpp"
#include "builder/bases/stage_plan.hpp"
#include "builder/processes/apart.hpp"
#include "images/sif/image.hpp"
#include "registry/oci/oci_image.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Stages that begin with an image of a registry, of the store, of a layout or of an archive.
namespace cybele::builder {

// The rows of these agents: the base is brought by bring_images() and filled by unpack_oci().
[[nodiscard]] Result<std::uint64_t> plan_image_base(StagePlan& plan, const BuildRequest& request);
[[nodiscard]] Result<std::string> key_of_image_base(const StagePlan& plan,
                                                    const AgentContext& context);

/// Why an agent of Apptainer is none of ours for good; nothing for all others.
[[nodiscard]] std::optional<Fault> refused_agent(std::string_view agent);

/// Whether the agent's images come by this file.
[[nodiscard]] bool is_image_agent(std::string_view agent);

/// Brings the images here and verifies them, before anything is built: by their digests, and where
/// the request names a key for them, by signatures. Adds to the plan what its trees will need.
[[nodiscard]] Result<void>
bring_images(BuildPlan& plan, const BuildRequest& request, const Environment& environment);

/// The SIF of a stage that begins with one, by the descriptor that was verified.
[[nodiscard]] Result<images::Image> open_base_image(const StagePlan& plan);

/// What the stages began with, as far as it has digests; call it when all bases are here.
[[nodiscard]] std::vector<UsedBase> used_bases(const BuildPlan& plan);

/// Layers, then the configuration as scripts. Runs in the process apart.
[[nodiscard]] Result<void> unpack_oci(const registry::OciImage& image,
                                      const std::filesystem::path& root,
                                      const Report& report);

/// The digest that a Lock keeps of a base that is an image: what its name stands for now.
[[nodiscard]] Result<std::string> resolve_base(const std::string& agent,
                                               const std::string& from,
                                               const BuildRequest& request,
                                               const Environment& environment);

} // namespace cybele::builder
