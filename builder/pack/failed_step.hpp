// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "builder/steps/kept_step.hpp"
#include "registry/cache/cache.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a failed step left, cached so that it can be looked at.
namespace cybele::builder {

/// The kind of these cache entries. There is at most one per definition file or Recipe, named by
/// its absolute path: a squashfs of what the step changed.
inline constexpr std::string_view kFailedSteps = "failed";

struct FailedStep {
    KeptStep kept;
    int code = 0;           ///< of its script
    std::string section;    ///< "post"
    std::string state;      ///< of its shell (readable_state())
    std::string attributes; ///< of the overlay (OverlaySupport)
    std::string owners;     ///< as image_key()
    /// The squashfs files that it lies on, the lowest first; empty: the entry is the complete tree.
    std::vector<std::filesystem::path> layers;
};

/// Caches it in the place of the one before; `tree` is what is packed.
[[nodiscard]] Result<void> keep_failed_step(const registry::Cache& cache,
                                            const FailedStep& failed,
                                            const std::filesystem::path& tree);

struct FoundFailedStep {
    FailedStep step;
    std::filesystem::path squashfs;
};
/// That of this source; nothing where none is cached.
[[nodiscard]] std::optional<FoundFailedStep> find_failed_step(const registry::Cache& cache,
                                                              const std::filesystem::path& source);

/// It is of no use once the source was built.
void forget_failed_step(const registry::Cache& cache, const std::filesystem::path& source);

} // namespace cybele::builder
