// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/invariants.hpp"

#include <algorithm>
#include <array>

namespace cybele::schedulers {
namespace {

constexpr std::array kInvariants{
    Invariant{"A1",
              "the first line is `#!/bin/bash`; the text is UTF-8 with Unix line ends, without "
              "NUL, and ends with a newline"},
    Invariant{"A2",
              "all directives are of one batch system and come before the first command; no other "
              "line looks like a directive"},
    Invariant{"A3", "every value in a directive is read back as it was written, or it is refused"},
    Invariant{"A4",
              "every field of the Job is rendered, or refused with the reason; nothing is dropped"},
    Invariant{"A5", "a time limit is written as HH:MM:SS, and memory as an integer with its unit"},
    Invariant{"A6", "directives contain no shell variables, since no shell reads them"},
    Invariant{
        "A7",
        "names are valid for the batch system, and the names of output files contain the job's id"},
    Invariant{"A8", "the same input gives the same bytes"},
    Invariant{"B1",
              "strict mode is on from the first command, and no variable of the scheduler is used "
              "without a default"},
    Invariant{"B2",
              "the script goes to the directory of submission, or reports that the directory does "
              "not exist"},
    Invariant{"B3", "no secret appears in a directive, on a command line or in the log"},
    Invariant{"B4",
              "the script states which variables the job and its steps inherit, and steps see what "
              "the script sets"},
    Invariant{
        "B5",
        "values reach the program unchanged: they are quoted, whatever characters they contain"},
    Invariant{"B6",
              "settings of the host that mislead programs do not reach the container; variables of "
              "the launcher always do"},
    Invariant{"B7",
              "before a rank starts, the image exists on every node, is readable, and is the one "
              "that the Job names"},
    Invariant{"C1", "the script sets OMP_NUM_THREADS, and the program sees it"},
    Invariant{
        "C2",
        "ranks × threads fit on the node with the fewest CPUs, or the job ends with an error"},
    Invariant{"C3", "OMP_PLACES and OMP_PROC_BIND are set together"},
    Invariant{"C4", "other libraries with threads get the same number of threads"},
    Invariant{"C5", "srun gets the number of CPUs per task"},
    Invariant{"C6", "mpirun gets an option for binding"},
    Invariant{
        "C7",
        "memory is given in the sense of the batch system: per node, or for the complete job"},
    Invariant{"D1", "the launcher of the host starts one container per rank"},
    Invariant{"D2", "the launcher is one under which the image's MPI works, or the job is refused"},
    Invariant{"D3",
              "N ranks see each other before the program starts, or the job ends with the reason"},
    Invariant{
        "D4",
        "an MPI launch shares process ids, /tmp, /dev/shm, network and environment with its host"},
    Invariant{"D5", "ranks in user namespaces of their own do not copy from each other's memory"},
    Invariant{"D6", "mpirun runs as root only where the Job allows it"},
    Invariant{"D7", "the launcher uses all hosts of the allocation, and no others"},
    Invariant{"D8", "when one rank dies, the job ends, with a code that is not 0"},
    Invariant{"D9",
              "a launcher over ssh is given the name of every variable that the program needs"},
    Invariant{"E1", "all processes meet on the first node of the allocation"},
    Invariant{
        "E2",
        "their port is derived from the job's id, so that two jobs on a node use different ports"},
    Invariant{"E3", "torchrun starts once per node and is given the number of nodes"},
    Invariant{"E4", "the process group has nodes × processes members"},
    Invariant{"E5", "each worker of torchrun gets its number of threads"},
    Invariant{"E6",
              "Horovod's ranks are started by the launcher of MPI, not by horovodrun over ssh"},
    Invariant{"E7",
              "when a worker dies, the job ends within a time limit, with a code that is not 0"},
    Invariant{
        "F1",
        "the script asks Spark's master whether it is ready; it does not sleep for a fixed time"},
    Invariant{"F2", "the master must list all workers within a time limit"},
    Invariant{"F3",
              "Spark is protected by a secret that is made for the job, in a file that only the "
              "user can read"},
    Invariant{"F4", "Spark's ports are chosen for the job"},
    Invariant{"F5",
              "a worker gets the memory of its node minus what the daemons and the driver need"},
    Invariant{"F6", "Spark's folders belong to the job and are removed at its end"},
    Invariant{"F7", "no process of Spark is left on any node, however the job ends"},
    Invariant{"F8", "the exit code of the job is that of the driver"},
    Invariant{"F9", "the workers find Python and its packages"},
    Invariant{"G1", "signals reach the program immediately"},
    Invariant{"G2", "the exit code of the job is that of the program"},
    Invariant{"G3",
              "a signal that is sent before the time limit goes to the script, which handles it"},
    Invariant{"G4",
              "a script removes only its own files, and removing them a second time does no harm"},
    Invariant{"G5", "a file has its final name only when it is complete"},
    Invariant{"G6", "the script records how the job ended, in every case but a KILL"},
    Invariant{"G7", "at least 60 s pass from the signal to the time limit"},
    Invariant{"H1", "`bash -n` and shellcheck report nothing"},
    Invariant{"H2", "parts that sh runs are written for sh"},
    Invariant{"H3",
              "the head names the file that the script was made from, and no person or machine"},
    Invariant{"H4",
              "the log shows nodes, ranks, threads, the MPI of host and image, and the image"},
    Invariant{"H5", "the image's signature is verified where the Job or the Site requires it"},
    Invariant{"H6", "the script works in any directory, also with blanks in its name"},
    Invariant{"H7", "rendering writes the script and nothing else"},
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
