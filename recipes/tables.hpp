// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::recipes {

/// Names of generated stages.
inline constexpr std::string_view kFinalStage = "final";
inline constexpr std::string_view kProbeStage = "cybelectl-probe";

/// A release of a distribution that a base is made from. Each cell was seen on the release itself
/// (2026-11-21).
struct DistributionRow {
    std::string_view id;      ///< as a Recipe names it: "debian:12"
    std::string_view suite;   ///< "bookworm"
    std::string_view agent;   ///< the definition file's bootstrap agent
    std::string_view manager; ///< "apt"
    std::string_view libc;    ///< for the label cybelectl.libc
};

/// An MPI that a distribution packages.
struct MpiRow {
    std::string_view distribution;
    std::string_view family;
    std::string_view version;
    std::string_view pmi;    ///< for the label cybelectl.pmi
    std::string_view prefix; ///< for the label cybelectl.mpi-prefix
    std::string_view compiler;
    std::string_view run;   ///< packages of an image that runs, with blanks between
    std::string_view devel; ///< packages of a stage that compiles
};

/// A generic name, and the packages that it stands for.
struct NeedRow {
    std::string_view need;
    std::string_view manager;
    std::string_view packages;
};

[[nodiscard]] std::span<const DistributionRow> distributions();
[[nodiscard]] std::span<const MpiRow> mpis();
[[nodiscard]] std::span<const NeedRow> needs();

/// nullptr where the table has no such row.
[[nodiscard]] const DistributionRow* find_distribution(std::string_view id);
[[nodiscard]] const MpiRow* find_mpi(std::string_view distribution, std::string_view family);
[[nodiscard]] const NeedRow* find_need(std::string_view manager, std::string_view need);

/// All generic names, sorted.
[[nodiscard]] std::vector<std::string_view> need_names();

/// The words of a cell.
[[nodiscard]] std::vector<std::string> words_of(std::string_view cell);

} // namespace cybele::recipes
