// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/rules.hpp"

namespace cybele::compatibility {
namespace {

using enum Outcome;
using enum Source;

constexpr Rule kRules[] = {
    {"machine/architecture",
     kAborts,
     kDoc,
     "the image is made for another architecture than the hosts have (\"Exec format error\")",
     "use an image for the hosts' architecture: pull one (`cybelectl image pull --arch`), or build "
     "it on a machine of that architecture"},
    {"machine/target",
     kAborts,
     kDoc,
     "the image's programs use instructions that the hosts' processors do not have (\"Illegal "
     "instruction\", \"CPU does not support x86-64-v3\")",
     "build with an older `compilers.target`, on a base that asks for no more"},
    {"bind/libc-newer",
     kAborts,
     kDoc,
     "the host's MPI requires a newer glibc than the image has",
     "use the hybrid model, or a base with a glibc as new as the host's"},
    {"bind/musl",
     kAborts,
     kDoc,
     "the host's MPI and the image are of different C libraries (glibc and musl)",
     "use the hybrid model, or a base with glibc"},
    {"bind/libc-unknown",
     kUnknown,
     kDoc,
     "the C library of the host or of the image is not known, and the host's must be no newer",
     "give the Site's node.glibc"},
    {"bind/same-abi",
     kWorks,
     kDoc,
     "the image's program asks for a library of the same name as the host's MPI has",
     {}},
    {"bind/other-abi",
     kAborts,
     kDoc,
     "the image's program asks for a library of another name than the host's MPI has",
     "use the hybrid model, or an MPI of the host's family in the image"},
    {"bind/abi-unknown",
     kUnknown,
     kDoc,
     "which library this MPI has is not known",
     "use the hybrid model, or keep the guard on"},
    {"pair/never-seen", kUnknown, kDoc, "this pair was never measured", "keep the guard on"},
};

// libmpi of Open MPI 5.0 and of 4.0 have the same interface.
constexpr AbiRow kAbis[] = {
    {"openmpi", {"1.7", "1"}, "libmpi.so.12 (Open MPI 1)", kDoc},
    {"openmpi", {"2", "2"}, "libmpi.so.20", kDoc},
    {"openmpi", {"4", "5"}, "libmpi.so.40", kDoc},
    {"mpich", {"3.1", "5"}, "libmpi.so.12", kDoc},
    {"mvapich2", {"2.0", "2"}, "libmpi.so.12", kDoc},
    {"mvapich", {"3", "4"}, "libmpi.so.12", kDoc},
    {"intel", {"5", "2021"}, "libmpi.so.12", kDoc},
};

constexpr TargetRow kTargets[] = {
    {"x86-64", "amd64", 1},
    {"x86-64-v2", "amd64", 2},
    {"x86-64-v3", "amd64", 3},
    {"x86-64-v4", "amd64", 4},
    {"armv8-a", "arm64", 1},
    {"armv8.1-a", "arm64", 2},
    {"armv8.2-a", "arm64", 3},
    {"power8", "ppc64el", 1},
    {"power9", "ppc64el", 2},
};

} // namespace

std::span<const Rule> machine_rules() {
    return kRules;
}

std::span<const AbiRow> abi_rows() {
    return kAbis;
}

std::span<const TargetRow> target_rows() {
    return kTargets;
}

} // namespace cybele::compatibility
