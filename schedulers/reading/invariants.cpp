// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/invariants.hpp"

#include <algorithm>
#include <array>

namespace cybele::schedulers {
namespace {

constexpr std::array kInvariants{
    Invariant{
        "A1",
        "the first line is `#!/bin/bash`; UTF-8, Unix line ends, no NUL, a newline at the end"},
    Invariant{"A2",
              "all directives are of one batch system and stand before the first command; nothing "
              "else looks like one"},
    Invariant{"A3", "every value in a directive is read back as it was written, or is refused"},
    Invariant{"A4", "every need is emitted, or refused with the reason; nothing is dropped"},
    Invariant{"A5", "a time limit is HH:MM:SS, memory an integer with its unit"},
    Invariant{"A6", "no shell variable stands in a directive"},
    Invariant{"A7", "names fit the batch system; the files of output carry the job's id"},
    Invariant{"A8", "the same input gives the same bytes"},
    Invariant{"B1",
              "strict mode from the first command on, and no variable of the scheduler is used "
              "without a default"},
    Invariant{
        "B2",
        "the script goes to the directory of submission, or says clearly that it is not there"},
    Invariant{"B3", "no secret in a directive, on a command line or in the log"},
    Invariant{"B4",
              "what a step sees of the environment is written down, and steps see what the script "
              "has set"},
    Invariant{"B5", "values pass to the program unchanged: quoted, whatever they hold"},
    Invariant{"B6",
              "of the host's environment nothing that misleads reaches the container; the "
              "launcher's always does"},
    Invariant{"B7",
              "the image is there, readable and the one that is meant, on every node, before a "
              "rank starts"},
    Invariant{"C1", "OMP_NUM_THREADS is set by the script and reaches the program"},
    Invariant{"C2", "ranks × threads fit on the poorest node, or the job ends"},
    Invariant{"C3", "OMP_PLACES and OMP_PROC_BIND are set together"},
    Invariant{"C4", "other libraries that count threads get the same number"},
    Invariant{"C5", "srun gets the CPUs of a task"},
    Invariant{"C6", "mpirun gets a binding"},
    Invariant{"C7", "memory is what the batch system's word means: of a node, of the job"},
    Invariant{"D1", "the host's launcher starts one container per rank"},
    Invariant{"D2", "the launcher is one that the image's MPI works under, or the job is refused"},
    Invariant{"D3",
              "N ranks see each other before the program starts, or the job ends with the reason"},
    Invariant{
        "D4",
        "an MPI launch shares process ids, /tmp, /dev/shm, network and environment with its host"},
    Invariant{"D5", "single-copy memory is off where ranks sit in user namespaces of their own"},
    Invariant{"D6", "mpirun runs as root only where the job allows it"},
    Invariant{"D7", "hosts come from the allocation, all of it"},
    Invariant{"D8", "one dead rank ends the job, not with 0"},
    Invariant{"D9", "over ssh every variable that the program needs is named"},
    Invariant{"E1", "the rendezvous is on the first node of the allocation, the same for all"},
    Invariant{"E2", "its port comes from the job's id, so that two jobs on a node differ"},
    Invariant{"E3", "torchrun starts once per node and knows all nodes"},
    Invariant{"E4", "the world has nodes × processes members"},
    Invariant{"E5", "workers of torchrun get their number of threads"},
    Invariant{"E6", "Horovod's ranks start as MPI's do, not by ssh of its own"},
    Invariant{"E7", "a dead worker ends the job, not with 0, in bounded time"},
    Invariant{"F1", "Spark's master is asked whether it is up; nothing sleeps for it"},
    Invariant{"F2", "the master must list all workers, in bounded time"},
    Invariant{"F3", "a secret of the job's own, in a file of its user's, guards Spark"},
    Invariant{"F4", "Spark's ports are the job's own"},
    Invariant{"F5", "workers get the node's memory less what daemons and driver need"},
    Invariant{"F6", "Spark's folders are the job's own and are removed"},
    Invariant{"F7", "no process of Spark is left on any node, however the job ends"},
    Invariant{"F8", "the job's exit code is the driver's"},
    Invariant{"F9", "workers find Python and its packages"},
    Invariant{"G1", "signals reach the program immediately"},
    Invariant{"G2", "the exit code is the program's"},
    Invariant{"G3", "a signal before the end goes to a script that handles it"},
    Invariant{"G4",
              "what is cleaned up is the job's own, and cleaning up a second time does no harm"},
    Invariant{"G5", "no half file under a final name"},
    Invariant{"G6", "how the job ended is written down on every way but KILL"},
    Invariant{"G7", "at least 60 s pass from the signal to the end"},
    Invariant{"H1", "bash and shellcheck find nothing"},
    Invariant{"H2", "parts that sh runs are sh"},
    Invariant{"H3", "the head says what it was made from, and nothing of who made it"},
    Invariant{"H4", "the log says nodes, ranks, threads, both MPIs and the image"},
    Invariant{"H5", "the image's signature is verified where job or site ask for it"},
    Invariant{"H6", "any directory will do, also with blanks in its name"},
    Invariant{"H7", "rendering has no effect but the script"},
};

} // namespace

std::span<const Invariant> invariants() {
    return kInvariants;
}

const Invariant* find_invariant(std::string_view id) {
    const auto* const found = std::find_if(
        kInvariants.begin(), kInvariants.end(), [&](const Invariant& row) { return row.id == id; });
    return found == kInvariants.end() ? nullptr : found;
}

} // namespace cybele::schedulers
