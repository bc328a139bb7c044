// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/machine.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cybele::submission {

/// What a job of the local scheduler needs to run.
struct Demand {
    std::uint64_t cpus = 1;   ///< hardware threads that it will use, one at least
    std::uint64_t memory = 0; ///< bytes; 0: it reserves none
    std::uint64_t gpus = 0;
    std::int64_t seconds = 0;       ///< its time limit; 0: none, it may run for ever
    bool is_exclusive = false;      ///< every core
    bool is_oversubscribed = false; ///< content with every core where `cpus` are more
};

/// A job that runs, and what it was given.
struct RunningJob {
    std::vector<int> cpus;
    std::uint64_t memory = 0;
    std::vector<int> gpus;
    std::int64_t end = 0;   ///< by its limit, Unix seconds; 0: it may run for ever
    std::int64_t array = 0; ///< elements of one array have one number
};

/// A job that waits.
struct Waiting {
    Demand demand;
    std::string blocked;    ///< why it may not start whatever is free; empty: it may
    std::int64_t array = 0; ///< as in RunningJob
    std::uint64_t most = 0; ///< elements of its array at once; 0: as many as fit
};

/// What becomes of a job that waits.
struct Decision {
    bool is_starting = false;
    std::vector<int> cpus; ///< its own, whole cores
    std::vector<int> gpus;
    std::string reason;        ///< why it waits, in Slurm's words
    std::int64_t expected = 0; ///< when it starts at the latest, Unix seconds; 0: not known
};

/// Cores that the demand takes of the machine: one for each thread asked while there are so many,
/// then every core with all of its threads; cores are never shared.
[[nodiscard]] std::size_t cores_needed(const Machine& machine, const Demand& demand);

/// What of a demand this machine never has; empty: it fits. The first that is too much of `cpus`,
/// `memory`, `gpus`.
[[nodiscard]] std::string never_fits(const Machine& machine, const Demand& demand);

/// First come, first served, with backfill by time limits: the first job that does not fit gets the
/// moment reserved at which, by the limits of what runs, it will; one behind it starts before only
/// where it ends by then or takes what is to spare even then. A pure function; the decisions stand
/// in the order of `waiting`.
[[nodiscard]] std::vector<Decision> decide(const Machine& machine,
                                           const std::vector<RunningJob>& running,
                                           const std::vector<Waiting>& waiting,
                                           std::int64_t now);

} // namespace cybele::submission
