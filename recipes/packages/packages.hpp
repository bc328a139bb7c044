// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/stage/base.hpp"
#include "recipes/stage/render_text.hpp"

#include <string>
#include <vector>

namespace cybele::recipes {

/// A generic name that a field stands for: one of `needs`, or a tool that another field needs.
struct WantedNeed {
    std::string need;
    std::string field; ///< "stages[0].packages.pip", for messages
};
[[nodiscard]] std::vector<WantedNeed> wanted_needs(const StageContext& context);

/// All packages that the stage asks its manager for, MPI and tools included; for a Recipe without
/// stages those that compile the probe too.
[[nodiscard]] std::vector<std::string> system_packages(const StageContext& context);

/// The base's package manager, or the one that `packages.manager` names; nullptr: not known.
[[nodiscard]] const ManagerRow* manager_of(const StageContext& context);

/// The transaction of the release's manager: `system`, `needs`, tools and `more` (sorted, once
/// each); empty where there is nothing to install.
[[nodiscard]] std::string system_script(const StageContext& context,
                                        const std::vector<std::string>& more);

/// One transaction of a manager, packages sorted; `lock` may be nullptr.
[[nodiscard]] std::string transaction(const ManagerRow& manager,
                                      std::vector<std::string> packages,
                                      const LockVariant* lock = nullptr);

[[nodiscard]] std::string source_script(const StageContext& context, const SourcePackage& source);
[[nodiscard]] std::string pip_script(const StageContext& context);
[[nodiscard]] std::string conda_script(const StageContext& context);
[[nodiscard]] std::string spack_script(const StageContext& context);

/// What the stage's packages put into the environment, before the stage's own.
[[nodiscard]] Environment package_environment(const StageContext& context);
/// That, followed by the stage's own.
[[nodiscard]] Environment environment_of(const StageContext& context);

/// Whether pip installs mpi4py, which loads the MPI of the image.
[[nodiscard]] bool lists_mpi4py(const Packages& packages);

/// Whether a line of pip has a checksum.
[[nodiscard]] bool has_hash(std::string_view line);
/// The requirement lines: the lock's where there is one, else the Recipe's.
[[nodiscard]] std::vector<std::string> requirement_lines(const StageContext& context);

/// "numpy=1.26.4=py312_0 sha256:…": a conda package whose archive is known by its checksum.
struct CondaSpec {
    std::string spec;
    std::string sha256;  ///< hex; empty: not known
    std::string archive; ///< NAME-VERSION-BUILD, where the checksum is known
};
[[nodiscard]] CondaSpec conda_spec(std::string_view line);

/// Whether the stage has the installer (`micromamba`, `spack`) as a source or in its base.
[[nodiscard]] bool has_source(const StageFields& fields, std::string_view name);

/// Whether a package of pip may be without a checksum.
enum class Checksums { kRequired, kOptional };

/// Faults of bases, GPUs, compilers and packages, each with its place.
void check_packages(const StageContext& context, Checksums checksums, Faults& faults);

} // namespace cybele::recipes
