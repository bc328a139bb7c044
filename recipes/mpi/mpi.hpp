// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "recipes/stage/base.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cybele::recipes {

/// The stage in which an MPI from source is built where no stage of the Recipe has its base.
inline constexpr std::string_view kMpiStage = "cybelectl-mpi";

/// Where an MPI from source lies in the image.
[[nodiscard]] std::string mpi_prefix(const RecipeMpi& mpi);

/// The MPI of a stage as a row: of the distribution, from source, or of the base image. Nothing
/// where there is none or the table does not know it; its texts live as long as `mpi` and the
/// tables.
[[nodiscard]] std::optional<MpiRow> mpi_row_of(const RecipeMpi& mpi,
                                               const DistributionRow* release);

/// How configure is called for that MPI beside the stage's needs; faults at the field `path`.
struct MpiBuild {
    std::vector<std::string> options;
    std::vector<std::string> needs;
    std::vector<std::string> system; ///< packages without a generic name
    std::vector<std::string> run;    ///< packages of the stage that runs
    std::string pmi;                 ///< for the label cybelectl.pmi
};
[[nodiscard]] MpiBuild
mpi_build(const Recipe& recipe, const StageContext& stage, const std::string& path, Faults& faults);

/// The Recipe with an MPI that is not on PATH put there, and with each MPI `from: source` said by
/// other fields: a program from source in the first stage that compiles with it (or in one of its
/// own, the last), its folder copied to the others, with what it needs to run. Everything else
/// stays as it is; places of faults too.
[[nodiscard]] Recipe lower_mpi(const Recipe& recipe, Faults& faults);

/// Faults of a stage's own `mpi`: what the base does not have, or nobody knows.
void check_mpi(const Recipe& recipe, const StageContext& stage, Faults& faults);

/// Whether the host that `mpi.host` describes starts ranks of that MPI: refused where it would
/// start N jobs of one rank or abort (compatibility/); a note where options are needed.
void check_host(const Recipe& recipe, const StageContext& stage, Faults& faults);

/// Lines of `%test`: the MPI's own account of itself, and the probe's libraries.
[[nodiscard]] std::string mpi_test_lines(const MpiRow& row);

} // namespace cybele::recipes
