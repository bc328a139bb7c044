// SPDX-License-Identifier: Apache-2.0
#include "compatibility/mpi.hpp"

#include <array>

#include <doctest/doctest.h>

namespace cybele::compatibility {
namespace {

using enum MpiLauncher;
using enum Outcome;

struct Measured {
    const char* container;
    MpiLauncher launcher;
    Outcome one_node;
    Outcome two_nodes;
};

// The matrix that was measured with Open MPI 4.1.4 and Slurm 22.05 on the host, cell by cell; what
// worked only with an option on two nodes of one kernel (MPICH with UCX) counts as working.
constexpr std::array kMatrix{
    Measured{"openmpi 4.1.0", kMpirunOpenmpi, kWorks, kWorks},
    Measured{"openmpi 4.1.0", kSrunPmix, kWorks, kWorks},
    Measured{"openmpi 4.1.0", kSrunPmi2, kAborts, kAborts},
    Measured{"openmpi 4.1.0", kSrunNone, kAborts, kAborts},
    Measured{"openmpi 4.1.4", kMpirunOpenmpi, kWorks, kWorks},
    Measured{"openmpi 4.1.4", kSrunPmix, kWorks, kWorks},
    Measured{"openmpi 4.1.4", kSrunPmi2, kAborts, kAborts},
    Measured{"openmpi 4.1.4", kSrunNone, kAborts, kAborts},
    Measured{"openmpi 5.0.7", kMpirunOpenmpi, kWorks, kWorks},
    Measured{"openmpi 5.0.7", kSrunPmix, kWorks, kWorks},
    Measured{"openmpi 5.0.7", kSrunPmi2, kSingletons, kSingletons},
    Measured{"openmpi 5.0.7", kSrunNone, kSingletons, kSingletons},
    Measured{"openmpi 6.0.0rc2", kMpirunOpenmpi, kWorks, kWorksWithOptions},
    Measured{"openmpi 6.0.0rc2", kSrunPmix, kWorks, kWorksWithOptions},
    Measured{"openmpi 6.0.0rc2", kSrunPmi2, kSingletons, kSingletons},
    Measured{"openmpi 6.0.0rc2", kSrunNone, kSingletons, kSingletons},
    Measured{"mpich 4.0.2", kMpirunOpenmpi, kSingletons, kSingletons},
    Measured{"mpich 4.0.2", kSrunPmix, kSingletons, kSingletons},
    Measured{"mpich 4.0.2", kSrunPmi2, kWorks, kWorks},
    Measured{"mpich 4.0.2", kSrunNone, kSingletons, kSingletons},
};

} // namespace

TEST_CASE("every measured cell has its verdict, with a reason and a remedy") {
    for (const Measured& cell : kMatrix) {
        CAPTURE(cell.container);
        CAPTURE(launcher_text(cell.launcher));
        const auto container = parse_mpi(cell.container);
        CHECK(judge(container, cell.launcher, false).outcome == cell.one_node);
        CHECK(judge(container, cell.launcher, true).outcome == cell.two_nodes);
    }
    for (const Row& row : rows()) {
        CHECK_FALSE(row.verdict.because.empty());
        CHECK((row.verdict.outcome == kWorks || !row.verdict.help.empty()));
    }
}

TEST_CASE("what was never measured is unknown, not guessed") {
    CHECK(judge(parse_mpi("openmpi 3.1.6"), kMpirunOpenmpi, false).outcome == kUnknown);
    CHECK(judge(parse_mpi("openmpi 7.0"), kMpirunOpenmpi, false).outcome == kUnknown);
    CHECK(judge(parse_mpi("openmpi trunk"), kSrunNone, false).outcome == kUnknown);
    CHECK(judge(parse_mpi(""), kSrunPmix, true).outcome == kUnknown);
}

TEST_CASE("labels are parsed") {
    CHECK(parse_mpi("openmpi 4.1.4").major == 4);
    CHECK(parse_mpi("openmpi 4.1.4").text() == "openmpi 4.1.4");
    CHECK(parse_mpi("mpich").text() == "mpich");
    CHECK(parse_mpi("").text() == "unknown");
    CHECK(mpirun_of("intel") == kMpirunMpich);
    CHECK(mpirun_of("") == kMpirunOpenmpi);
}

} // namespace cybele::compatibility
