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

/// How a value was found out.
enum class Mark { kRan, kSource, kDocumented, kUnknown };

/// A value with its mark, as the tables write it: "gcc make S".
struct Marked {
    std::string_view text; ///< empty where nothing is known
    Mark mark = Mark::kUnknown;

    [[nodiscard]] bool is_known() const {
        return mark != Mark::kUnknown;
    }
};

/// A release of a distribution (recipes/tables/releases.txt, 2026-11-21).
struct DistributionRow {
    std::string_view id;      ///< as a Recipe names it: "debian:12"
    std::string_view suite;   ///< "bookworm"; empty where there is none
    std::string_view agent;   ///< the definition file's bootstrap agent
    std::string_view manager; ///< apt, dnf, zypper, apk
    std::string_view libc;    ///< for the label cybelectl.libc: "glibc 2.36"; empty: not known
    std::string_view column;  ///< of needs.txt: apt, el8, …, apk
    std::string_view image;   ///< of a registry: "rockylinux/rockylinux:9"
    Marked python;
    Marked gcc;
    Marked end_of_support;

    [[nodiscard]] std::string_view name() const {
        return id.substr(0, id.find(':'));
    }
    [[nodiscard]] std::string_view version() const {
        return id.substr(id.find(':') + 1);
    }
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

/// What a generic name is in one family of releases.
struct NeedCell {
    std::string_view packages; ///< with blanks between; empty: there is none, or nobody knows
    std::vector<std::string_view> repositories; ///< that must be enabled: epel, crb, non-free
    std::string_view candidate; ///< of an unknown cell: what naming rules would give
    Mark mark = Mark::kUnknown;

    [[nodiscard]] bool is_absent() const {
        return mark != Mark::kUnknown && packages.empty();
    }
};

/// A generic name with its cell for each of need_columns().
struct NeedRow {
    std::string_view need;
    std::vector<NeedCell> cells;
};

/// An image with a GPU tool kit.
struct GpuRow {
    std::string_view vendor;
    std::string_view version;
    std::string_view flavour; ///< base, runtime, devel
    std::string_view release;
    std::string_view path; ///< to put on PATH; empty: the image does
    std::string_view image;
};

/// How a package manager is called, without questions and without leaving its caches.
struct ManagerRow {
    std::string_view name;
    std::string_view before; ///< lines before the transaction
    std::string_view install;
    std::string_view pin; ///< between a package's name and its version
    std::string_view after;
    std::string_view install_all; ///< with recommended packages and documentation
};

/// Repositories that a release has, but does not enable.
struct RepositoryRow {
    std::string_view column;
    std::string_view repositories; ///< with blanks between
    std::string_view lines;
};

[[nodiscard]] std::span<const DistributionRow> distributions();
[[nodiscard]] std::span<const MpiRow> mpis();
[[nodiscard]] std::span<const NeedRow> needs();
[[nodiscard]] std::span<const GpuRow> gpus();
[[nodiscard]] std::span<const ManagerRow> managers();
[[nodiscard]] std::span<const RepositoryRow> repositories();
/// The columns of needs(), in its order: apt, el8, …
[[nodiscard]] const std::vector<std::string_view>& need_columns();

/// nullptr where the table has no such row.
[[nodiscard]] const DistributionRow* find_distribution(std::string_view id);
[[nodiscard]] const MpiRow* find_mpi(std::string_view distribution, std::string_view family);
[[nodiscard]] const ManagerRow* find_manager(std::string_view name);
[[nodiscard]] const RepositoryRow* find_repository(std::string_view column);
/// nullptr: no such generic name (or column).
[[nodiscard]] const NeedCell* find_need(std::string_view column, std::string_view need);

/// The release that an image reference names ("docker://debian:12-slim@sha256:…",
/// "nvidia/cuda:13.3.0-devel-ubuntu26.04"), nullptr where it cannot be told from its name.
[[nodiscard]] const DistributionRow* distribution_of_image(std::string_view reference);

/// All generic names, sorted.
[[nodiscard]] std::vector<std::string_view> need_names();

/// The words of a cell.
[[nodiscard]] std::vector<std::string> words_of(std::string_view cell);

} // namespace cybele::recipes
