// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/asked.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cybele::schedulers {

/// What the body of a script runs, in a Job's words.
struct Program {
    std::string launch;   ///< serial, mpi, torch; empty: no launch was recognised
    std::string launcher; ///< mpirun, srun
    std::string pmi;
    std::optional<std::uint64_t> ranks;
    std::optional<std::uint64_t> threads; ///< of OMP_NUM_THREADS, where it is a number
    bool allow_root = false;
    std::string image;
    std::vector<std::string> binds;
    std::vector<std::string> command;
    std::string script; ///< lines that are no launch, instead of `command`
    std::map<std::string, std::string> environment;
    std::vector<Remainder> left;
};

/// Reads the body: settings of the batch system's own are known and done by a rendered script
/// (`cd "$PBS_O_WORKDIR"`, `set -e`, OMP_NUM_THREADS), the rest is command or script.
[[nodiscard]] Program read_program(const BatchScript& script);

} // namespace cybele::schedulers
