// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/model/lock.hpp"
#include "recipes/model/recipe.hpp"
#include "recipes/tables/tables.hpp"

#include <string>

namespace cybele::recipes {

/// What a stage begins with.
struct StageBase {
    const DistributionRow* row =
        nullptr;       ///< nullptr: an image whose release its name does not tell
    std::string agent; ///< debootstrap, docker, oras, library, localimage
    std::string from;  ///< for all agents but debootstrap
    const GpuRow* gpu = nullptr;
};

/// A stage with all that its scripts depend on.
struct StageContext {
    const Recipe* recipe = nullptr;
    const StageFields* fields = nullptr;
    std::string prefix;   ///< of its fields' names: "stages[0]."; empty: the top level
    bool is_last = true;  ///< the stage that is kept
    bool is_alone = true; ///< there is no other, so programs are built in it too
    StageBase base;
    const LockVariant* lock = nullptr;

    /// Whether programs are compiled in it.
    [[nodiscard]] bool is_building() const {
        return !is_last || is_alone;
    }
};

/// A stage's own base, else the top level's.
[[nodiscard]] const Base& base_of(const Recipe& recipe, const StageFields& fields);
/// A stage's own MPI, else the top level's where both have the same base.
[[nodiscard]] const RecipeMpi& mpi_of(const Recipe& recipe, const StageFields& fields);

/// The stage of that index; recipe.stages.size() is the top level.
[[nodiscard]] StageContext
stage_context(const Recipe& recipe, std::size_t index, const LockVariant* lock = nullptr);

/// The GPU tool kit that a stage wants: its own, else the top level's where the base is too.
struct WantedGpu {
    std::string vendor; ///< empty: none
    std::string version;
    std::string field; ///< where it stands
};
[[nodiscard]] WantedGpu gpu_of(const Recipe& recipe, const StageFields& fields);

/// The header of a stage; an empty mirror leaves `{{ mirror }}` to the builder.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> header_of(const StageBase& base,
                                                                         const std::string& mirror);

} // namespace cybele::recipes
