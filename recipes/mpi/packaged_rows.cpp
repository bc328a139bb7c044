// SPDX-License-Identifier: Apache-2.0
#include "recipes/mpi/build_rows.hpp"

namespace cybele::recipes {
namespace {

// Debian's own are in tables.cpp. A release that is not here: nobody looked, or it has none.
constexpr PackagedRow kPackaged[] = {
    {"ubuntu:22.04", "openmpi", "4.1.2", "pmix 4.1.2"},
    {"ubuntu:22.04", "mpich", "4.0", "pmi2"},
    {"ubuntu:24.04", "openmpi", "4.1.6", "pmix 5.0.1"},
    {"ubuntu:26.04", "openmpi", "5.0.10", "pmix 5.0.9"},
    {"ubuntu:26.04", "mpich", "4.3.2", "pmi2"},
    {"rocky:8", "openmpi", "4.1.1", "pmix 2.2.5"},
    {"rocky:9", "openmpi", "4.1.1", "pmix 3.2.3"},
    {"rocky:10", "openmpi", "5.0.2", "pmix 4.2.8"},
    {"almalinux:8", "openmpi", "4.1.1", "pmix 2.2.5"},
    {"almalinux:9", "openmpi", "4.1.1", "pmix 3.2.3"},
    {"almalinux:10", "openmpi", "5.0.2", "pmix 4.2.8"},
    {"rocky:8", "mpich", "4.1.1", "pmi2"},
    {"rocky:9", "mpich", "4.1.1", "pmi2"},
    {"rocky:10", "mpich", "4.1.2", "pmi2"},
    {"almalinux:8", "mpich", "4.1.1", "pmi2"},
    {"almalinux:9", "mpich", "4.1.1", "pmi2"},
    {"almalinux:10", "mpich", "4.1.2", "pmi2"},
    {"rocky:8", "mvapich2", "2.3.7.1", "pmi2"},
    {"rocky:9", "mvapich2", "2.3.7.1", "pmi2"},
    {"almalinux:8", "mvapich2", "2.3.7.1", "pmi2"},
    {"almalinux:9", "mvapich2", "2.3.7.1", "pmi2"},
    {"fedora:43", "openmpi", "5.0.8", "pmix 5.0.7"},
    {"fedora:44", "openmpi", "5.0.9", "pmix 5.0.7"},
    {"fedora:45", "openmpi", "5.0.10", "pmix 5.0.7"},
    {"fedora:43", "mpich", "4.2.2", "pmi2"},
    {"fedora:44", "mpich", "4.2.2", "pmi2"},
    {"fedora:45", "mpich", "4.2.2", "pmi2"},
    {"opensuse-leap:15.6", "openmpi", "4.1.6", "pmix"},
    {"alpine:3.22", "openmpi", "4.1.6", "pmix 3.2.5"},
    {"alpine:3.23", "openmpi", "4.1.6", "pmix 3.2.5"},
    {"alpine:3.24", "openmpi", "4.1.6", "pmix 3.2.5"},
};

constexpr LayoutRow kLayouts[] = {
    {"apt",
     "openmpi",
     "/usr",
     "mpicc.openmpi",
     "openmpi-bin",
     "gcc libc6-dev libopenmpi-dev openmpi-bin"},
    {"apt", "mpich", "/usr", "mpicc.mpich", "mpich", "gcc libc6-dev libmpich-dev mpich"},
    {"el",
     "openmpi",
     "/usr/lib64/openmpi",
     "/usr/lib64/openmpi/bin/mpicc",
     "openmpi",
     "gcc openmpi-devel"},
    {"el", "mpich", "/usr/lib64/mpich", "/usr/lib64/mpich/bin/mpicc", "mpich", "gcc mpich-devel"},
    {"el",
     "mvapich2",
     "/usr/lib64/mvapich2",
     "/usr/lib64/mvapich2/bin/mpicc",
     "mvapich2",
     "gcc mvapich2-devel"},
    {"fedora",
     "openmpi",
     "/usr/lib64/openmpi",
     "/usr/lib64/openmpi/bin/mpicc",
     "openmpi",
     "gcc openmpi-devel"},
    {"fedora",
     "mpich",
     "/usr/lib64/mpich",
     "/usr/lib64/mpich/bin/mpicc",
     "mpich",
     "gcc mpich-devel"},
    {"leap15",
     "openmpi",
     "/usr/lib64/mpi/gcc/openmpi4",
     "/usr/lib64/mpi/gcc/openmpi4/bin/mpicc",
     "openmpi4",
     "gcc openmpi4-devel"},
    {"apk", "openmpi", "/usr", "mpicc", "openmpi", "build-base openmpi-dev"},
};

// Looked for and not fit: told instead of "not known".
constexpr BrokenRow kBroken[] = {
    {"ubuntu:24.04",
     "mpich",
     "Ubuntu 24.04's MPICH 4.2.0 is broken (Launchpad 2072338)",
     "write `openmpi`, or use ubuntu:26.04"},
    {"rocky:10", "mvapich2", "EL 10 has no MVAPICH2", "use rocky:9, or mpich"},
    {"almalinux:10", "mvapich2", "EL 10 has no MVAPICH2", "use rocky:9, or mpich"},
    {"alpine:3.22", "mpich", "Alpine has no MPICH", "use openmpi, or another base"},
    {"alpine:3.23", "mpich", "Alpine has no MPICH", "use openmpi, or another base"},
    {"alpine:3.24", "mpich", "Alpine has no MPICH", "use openmpi, or another base"},
};

} // namespace

std::span<const PackagedRow> packaged_rows() {
    return kPackaged;
}
std::span<const LayoutRow> layout_rows() {
    return kLayouts;
}
std::span<const BrokenRow> broken_rows() {
    return kBroken;
}

} // namespace cybele::recipes
