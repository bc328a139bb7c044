// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cybele::recipes {

/// How a building block is said in a Recipe.
enum class BlockKind {
    kNeeds,       ///< generic names of the table
    kCompilers,   ///< `compilers`
    kMpi,         ///< `mpi`
    kSource,      ///< `packages.source`
    kSystem,      ///< `packages.system`
    kPip,         ///< `packages.pip`
    kConda,       ///< `packages.conda`
    kEnvironment, ///< `environment`
    kLabels,      ///< `labels`
    kFiles,       ///< `files`
    kSteps,       ///< `steps`
    kRun,         ///< `run`
    kComment,
    kLost,
};

/// A building block of HPCCM's vocabulary.
struct BlockRow {
    std::string_view name;
    BlockKind kind;
    /// kNeeds: generic names; kMpi: the family; kSource: how it is built; kSystem: the manager;
    /// kLost: the reason.
    std::string_view words;
    std::string_view options;     ///< that are known besides kCommonOptions, with blanks between
    bool is_for_building = false; ///< kNeeds: wanted only where programs are compiled
};

/// Options that many blocks have and that decide nothing in a Recipe.
[[nodiscard]] std::string_view common_options();
[[nodiscard]] std::span<const BlockRow> blocks();
[[nodiscard]] const BlockRow* find_block(std::string_view name);

} // namespace cybele::recipes
