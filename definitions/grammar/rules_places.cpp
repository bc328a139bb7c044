// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/rules.hpp"

#include <array>

namespace cybele::definitions {
namespace {

constexpr std::array kPlaceRules = {
    Rule{"CD401",
         Severity::kError,
         "comment after the source of a %files line",
         "only # at the beginning of a line is a comment; after one word it is the destination",
         "put the comment on a line of its own",
         "1.7, T23"},
    Rule{"CD402",
         Severity::kError,
         "several files to one name",
         "without a slash at the end the last one wins",
         "end the destination with /",
         "1.7, T23"},
    Rule{"CD403",
         Severity::kWarning,
         "repeated %files line",
         "a directory that is copied again lands inside the first copy",
         "remove one of them",
         "1.7, T23"},
    Rule{"CD404",
         Severity::kError,
         "~ or $ in a destination",
         "it is used literally",
         "write the path",
         "1.7, T23"},
    Rule{"CD405",
         Severity::kError,
         "source that is not there",
         "the build stops",
         "make it, or correct the path",
         "9"},
    Rule{"CD501",
         Severity::kWarning,
         "place that is hidden at run time",
         "/root, /home, /tmp and others are mounted over when the container starts",
         "use /opt",
         "T33"},
    Rule{"CD502",
         Severity::kWarning,
         "two MPIs in one stage",
         "mpicc and mpirun of one shadow the other's",
         "install one of them",
         "9"},
    Rule{"CD504",
         Severity::kError,
         "Open MPI 5 with --with-pmi",
         "its configure stops: PMI-1 and PMI-2 are gone",
         "remove it; srun --mpi=pmix starts it",
         "4.1, 9"},
    Rule{"CD505",
         Severity::kError,
         "Open MPI 4.0 with PMIx 4 or later",
         "its component for an external PMIx accepts release 3 at most",
         "use Open MPI 4.1, or the PMIx inside it",
         "4.1, 9"},
    Rule{"CD506",
         Severity::kWarning,
         "launch settings fixed in the image",
         "the launcher knows the allocation, the image does not",
         "leave them to the job",
         "5.2, 9"},
    Rule{
        "CD507",
        Severity::kWarning,
        "script that runs on the host",
        "%pre and %setup need the tools and files of the machine that builds, so the definition is "
        "not portable",
        "use %files for files and %post for commands",
        "T32"},
};

} // namespace

std::span<const Rule> places_rules() {
    return kPlaceRules;
}

} // namespace cybele::definitions
