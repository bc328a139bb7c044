// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/invariants.hpp"

#include "support/linter.hpp"

#include <array>

namespace cybele::schedulers {
namespace {

constexpr lint::Rule keeps(std::string_view id, std::string_view text) {
    lint::Rule rule;
    rule.id = id;
    rule.title = text;
    return rule;
}

constexpr std::array kInvariants{
    keeps("A1",
          "the first line is `#!/bin/bash`; the text is UTF-8 with Unix line ends, without "
          "NUL, and ends with a newline"),
    keeps("A2",
          "all directives are of one batch system and come before the first command; no other "
          "line looks like a directive"),
    keeps("A3", "every value in a directive is read back as it was written, or it is refused"),
    keeps("A4",
          "every field of the Job is rendered, or refused with the reason; nothing is dropped"),
    keeps("A5", "a time limit is written as HH:MM:SS, and memory as an integer with its unit"),
    keeps("A6", "directives contain no shell variables, since no shell reads them"),
    keeps(
        "A7",
        "names are valid for the batch system, and the names of output files contain the job's id"),
    keeps("A8", "the same input gives the same bytes"),
    keeps("B1",
          "strict mode is on from the first command, and no variable of the scheduler is used "
          "without a default"),
    keeps("B2",
          "the script goes to the directory of submission, or reports that the directory does "
          "not exist"),
    keeps("B3", "no secret appears in a directive, on a command line or in the log"),
    keeps("B4",
          "the script states which variables the job and its steps inherit, and steps see what "
          "the script sets"),
    keeps("B5",
          "values reach the program unchanged: they are quoted, whatever characters they contain"),
    keeps("B6",
          "settings of the host that mislead programs do not reach the container; variables of "
          "the launcher always do"),
    keeps("B7",
          "before a rank starts, the image exists on every node, is readable, and is the one "
          "that the Job names"),
    keeps("C1", "the script sets OMP_NUM_THREADS, and the program sees it"),
    keeps("C2",
          "ranks × threads fit on the node with the fewest CPUs, or the job ends with an error"),
    keeps("C3", "OMP_PLACES and OMP_PROC_BIND are set together"),
    keeps("C4", "other libraries with threads get the same number of threads"),
    keeps("C5", "srun gets the number of CPUs per task"),
    keeps("C6", "mpirun gets an option for binding"),
    keeps("C7",
          "memory is given in the sense of the batch system: per node, or for the complete job"),
    keeps("D1", "the launcher of the host starts one container per rank"),
    keeps("D2", "the launcher is one under which the image's MPI works, or the job is refused"),
    keeps("D3",
          "N ranks see each other before the program starts, or the job ends with the reason"),
    keeps(
        "D4",
        "an MPI launch shares process ids, /tmp, /dev/shm, network and environment with its host"),
    keeps("D5", "ranks in user namespaces of their own do not copy from each other's memory"),
    keeps("D6", "mpirun runs as root only where the Job allows it"),
    keeps("D7", "the launcher uses all hosts of the allocation, and no others"),
    keeps("D8", "when one rank dies, the job ends, with a code that is not 0"),
    keeps("D9", "a launcher over ssh is given the name of every variable that the program needs"),
    keeps("E1", "all processes meet on the first node of the allocation"),
    keeps(
        "E2",
        "their port is derived from the job's id, so that two jobs on a node use different ports"),
    keeps("E3", "torchrun starts once per node and is given the number of nodes"),
    keeps("E4", "the process group has nodes × processes members"),
    keeps("E5", "each worker of torchrun gets its number of threads"),
    keeps("E6", "Horovod's ranks are started by the launcher of MPI, not by horovodrun over ssh"),
    keeps("E7", "when a worker dies, the job ends within a time limit, with a code that is not 0"),
    keeps("F1",
          "the script asks Spark's master whether it is ready; it does not sleep for a fixed time"),
    keeps("F2", "the master must list all workers within a time limit"),
    keeps("F3",
          "Spark is protected by a secret that is made for the job, in a file that only the "
          "user can read"),
    keeps("F4", "Spark's ports are chosen for the job"),
    keeps("F5", "a worker gets the memory of its node minus what the daemons and the driver need"),
    keeps("F6", "Spark's folders belong to the job and are removed at its end"),
    keeps("F7", "no process of Spark is left on any node, however the job ends"),
    keeps("F8", "the exit code of the job is that of the driver"),
    keeps("F9", "the workers find Python and its packages"),
    keeps("G1", "signals reach the program immediately"),
    keeps("G2", "the exit code of the job is that of the program"),
    keeps("G3", "a signal that is sent before the time limit goes to the script, which handles it"),
    keeps("G4",
          "a script removes only its own files, and removing them a second time does no harm"),
    keeps("G5", "a file has its final name only when it is complete"),
    keeps("G6", "the script records how the job ended, in every case but a KILL"),
    keeps("G7", "at least 60 s pass from the signal to the time limit"),
    keeps("H1", "`bash -n` and shellcheck report nothing"),
    keeps("H2", "parts that sh runs are written for sh"),
    keeps("H3", "the head names the file that the script was made from, and no person or machine"),
    keeps("H4", "the log shows nodes, ranks, threads, the MPI of host and image, and the image"),
    keeps("H5", "the image's signature is verified where the Job or the Site requires it"),
    keeps("H6", "the script works in any directory, also with blanks in its name"),
    keeps("H7", "rendering writes the script and nothing else"),
};

} // namespace

std::span<const lint::Rule> invariants() {
    return kInvariants;
}

const lint::Rule* find_invariant(std::string_view id) {
    return lint::find_in(kInvariants, id);
}

} // namespace cybele::schedulers
