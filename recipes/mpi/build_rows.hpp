// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/mpi/version.hpp"

#include <span>
#include <string_view>

namespace cybele::recipes {

/// A series of releases that is built from source.
struct SeriesRow {
    std::string_view family;
    compatibility::VersionRange versions;
    std::string_view file;     ///< the release's file, `{v}` for its version
    std::string_view pmi;      ///< for the label cybelectl.pmi: what it speaks as it comes
    std::string_view with_pmi; ///< the same, with Slurm's PMI-2
    std::string_view options;  ///< of configure, with blanks between
    std::string_view needs;    ///< generic names of what it is built with
};

/// A release whose file's SHA-256 is known.
struct ReleaseRow {
    std::string_view family;
    std::string_view version;
    std::string_view sha256;
};

/// What a generic name among the stage's `needs` does to configure.
struct FeatureRow {
    std::string_view family;
    compatibility::VersionRange versions;
    std::string_view need;
    std::string_view with;    ///< options where the need is there; `{pmix}`: where PMIx lies
    std::string_view without; ///< options where it is not
    std::string_view more;    ///< generic names that it brings along
    std::string_view refusal; ///< why it cannot be there; empty: it can
    std::string_view help;
};

/// The PMIx that a series takes from outside.
struct PmixRangeRow {
    std::string_view family;
    compatibility::VersionRange versions;
    compatibility::VersionRange pmix;
};

/// What releases of distributions have of what an MPI is built on; empty: not known.
struct FabricRow {
    std::string_view release; ///< "debian:12"
    std::string_view pmix;
    std::string_view ucx;
    std::string_view libfabric;
};

/// Packages without a generic name that an MPI wants: to build it, or to run what it opens by name.
struct ExtraRow {
    std::string_view what;   ///< a family, or a generic name
    std::string_view column; ///< of needs.txt
    std::string_view build;
    std::string_view run;
};

/// An MPI that a release packages.
struct PackagedRow {
    std::string_view release;
    std::string_view family;
    std::string_view version;
    std::string_view pmi; ///< for the label cybelectl.pmi
};

/// Where a family of releases puts it, and what its packages are called.
struct LayoutRow {
    std::string_view column; ///< of needs.txt; "el" for all of el8, el9, el10
    std::string_view family;
    std::string_view prefix;
    std::string_view compiler;
    std::string_view run;
    std::string_view devel;
};

/// One that a release lacks or has broken, as was seen.
struct BrokenRow {
    std::string_view release;
    std::string_view family;
    std::string_view because;
    std::string_view help;
};

[[nodiscard]] std::span<const PackagedRow> packaged_rows();
[[nodiscard]] std::span<const LayoutRow> layout_rows();
[[nodiscard]] std::span<const BrokenRow> broken_rows();
[[nodiscard]] std::span<const SeriesRow> series_rows();
[[nodiscard]] std::span<const ReleaseRow> release_rows();
[[nodiscard]] std::span<const FeatureRow> feature_rows();
[[nodiscard]] std::span<const PmixRangeRow> pmix_ranges();
[[nodiscard]] std::span<const FabricRow> fabric_rows();
[[nodiscard]] std::span<const ExtraRow> extra_rows();

/// nullptr where the table has none.
[[nodiscard]] const SeriesRow* find_series(std::string_view family, std::string_view version);
[[nodiscard]] const ReleaseRow* find_release(std::string_view family, std::string_view version);

} // namespace cybele::recipes
