// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/bases/agent.hpp"
#include "builder/layers/layers.hpp"
#include "builder/pack/keys.hpp"
#include "builder/pack/plan.hpp"
#include "builder/processes/apart.hpp"
#include "support/digest.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// A build in six phases (a stage is one of the definition's). Each is a function from the value of
// the phase before it:
//
//   plan   BuildRequest -> BuildPlan    make_plan(): every source is found, the steps are in order
//   bases  BuildPlan    -> BasedBuild   find_bases(): images are here and verified, all is named by
//                                       its content; make_bases(): debootstrap and its like
//   steps  BasedBuild   -> BuiltTrees   run_steps(): the trees of the stages
//   pack   BuiltTrees   -> PackedImage  pack_image(): metadata and squashfs in one file
//   sign   PackedImage  -> SignedImage  sign_image()
//   name   SignedImage  -> BuildResult  name_image(): the file has the output's name
//
// build() (build.cpp) calls them; steps and pack run in a process apart, which has the mounts. Two
// short cuts lead past phases: find_made() where the output is what would be made, reuse_image()
// where the cache has it. phase_json.hpp prints each of the values.

namespace cybele::builder {

/// It is known what every tree depends on.
struct BasedBuild {
    BuildPlan plan;
    namespaces::IdMap map = namespaces::IdMap::kNone; ///< of the process apart
    std::vector<StageKeys> keys;                      ///< of each stage
    std::string image_key;                            ///< empty: not known
};

/// Valid in the process apart.
struct BuiltTrees {
    std::vector<std::filesystem::path> roots; ///< of each stage; the last one is the image's
    std::shared_ptr<const Layers> layers;     ///< of the last one, where it is made of layers
    /// Stages that none copies from may be made still; they end with it.
    std::shared_ptr<void> at_work;
};

/// A complete image without signature and name.
struct PackedImage {
    std::filesystem::path file;
    bool is_reused = false;
};

struct SignedImage {
    std::filesystem::path file;
    std::size_t signatures = 0;
    std::optional<Digest> made_from; ///< for find_made() of the next build; unset: not known
};

/// Images that are bases are brought and verified; what the cache has of this build is known then.
[[nodiscard]] Result<BasedBuild> find_bases(BuildPlan plan, const AgentContext& context);

/// The bases that must be made outside of our namespaces; with them, keys are known that were not.
[[nodiscard]] Result<BasedBuild> make_bases(BasedBuild build, const AgentContext& context);

/// For the process apart. The arguments must outlive the trees.
[[nodiscard]] Result<BuiltTrees> run_steps(const BasedBuild& build,
                                           const HostEnvironment& host_environment,
                                           const Report& report,
                                           const AgentContext& context);

/// For the process apart. Writes `file`, and caches what it is made of for the next build.
[[nodiscard]] Result<PackedImage> pack_image(const BuiltTrees& trees,
                                             const BasedBuild& build,
                                             const std::filesystem::path& file,
                                             const Report& report,
                                             const AgentContext& context);

[[nodiscard]] Result<SignedImage>
sign_image(PackedImage image, const BasedBuild& build, const AgentContext& context);

[[nodiscard]] Result<BuildResult> name_image(const SignedImage& image, const AgentContext& context);

/// The output itself, where it is what this build would make.
[[nodiscard]] std::optional<BuildResult> find_made(const BasedBuild& build,
                                                   const AgentContext& context);

/// The image that was made from the same, put at `file`; nothing where none is cached.
[[nodiscard]] Result<std::optional<PackedImage>> reuse_image(const BasedBuild& build,
                                                             const std::filesystem::path& file,
                                                             const AgentContext& context);

} // namespace cybele::builder
