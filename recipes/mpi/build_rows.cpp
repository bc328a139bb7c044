// SPDX-License-Identifier: Apache-2.0
#include "recipes/mpi/build_rows.hpp"

namespace cybele::recipes {
namespace {

// What configure knows was read in its source (Open MPI 3.1.6, 4.0.5, 4.1.6, 5.0.7); 4.1.4 was
// built here. MPICH's and its relatives' options are documented.
constexpr SeriesRow kSeries[] = {
    {"openmpi",
     {"3.1", "3.1"},
     "openmpi-{v}.tar.bz2",
     "pmix 2.2.3",
     "pmix 2.2.3 pmi2",
     "--disable-static",
     "perl"},
    {"openmpi",
     {"4.0", "4.0"},
     "openmpi-{v}.tar.bz2",
     "pmix 3.1.5",
     "pmix 3.1.5 pmi2",
     "--disable-static",
     "perl"},
    {"openmpi",
     {"4.1", "4.1"},
     "openmpi-{v}.tar.bz2",
     "pmix 3.2.5",
     "pmix 3.2.5 pmi2",
     "--disable-static",
     "perl"},
    {"openmpi",
     {"5.0", "5.0"},
     "openmpi-{v}.tar.bz2",
     "pmix 4.2.0",
     {},
     "--disable-static --with-prrte=internal",
     "perl"},
    {"mpich", {"3.4", "3.4"}, "mpich-{v}.tar.gz", "pmi2", "pmi2", "--disable-static", {}},
    {"mpich", {"4", "4"}, "mpich-{v}.tar.gz", "pmi2", "pmi2", "--disable-static", {}},
};

// Of the releases' own files.
constexpr ReleaseRow kReleases[] = {
    {"openmpi", "3.1.6", "50131d982ec2a516564d74d5616383178361c2f08fdd7d1202b80bdf66a0d279"},
    {"openmpi", "4.1.4", "92912e175fd1234368c8730c03f4996fe5942e7479bb1d10059405e7f2b3930d"},
    {"openmpi", "4.1.8", "466f68e3132a1dc02710cc2011fafced8336d98359fa2dae4dddcfd5719f12a9"},
    {"openmpi", "5.0.7", "119f2009936a403334d0df3c0d74d5595a32d99497f9b1d41e90019fee2fc2dd"},
    {"mpich", "3.4.3", "8154d89f3051903181018166678018155f4c2b6f04a9bb6fe9515656452c4fd7"},
    {"mpich", "4.3.2", "47d774587a7156a53752218c811c852e70ac44db9c502dc3f399b4cb817e3818"},
};

constexpr compatibility::VersionRange kAll{};
constexpr std::string_view kExternal =
    "--with-pmix={pmix} --with-libevent=external --with-hwloc=external";
constexpr std::string_view kInternal =
    "--with-pmix=internal --with-libevent=internal --with-hwloc=internal";

constexpr FeatureRow kFeatures[] = {
    {"openmpi", kAll, "fortran", {}, "--enable-mpi-fortran=no", {}, {}, {}},
    {"openmpi", kAll, "ucx", "--with-ucx", "--without-ucx", {}, {}, {}},
    {"openmpi", {"3.1", "3.1"}, "libfabric", "--with-libfabric", "--without-libfabric", {}, {}, {}},
    {"openmpi",
     {"4.0", "4.0"},
     "libfabric",
     {},
     {},
     {},
     "how to configure Open MPI 4.0 with libfabric is not known",
     "use `ucx`, or Open MPI 4.1"},
    {"openmpi", {"4.1", "5.0"}, "libfabric", "--with-ofi", "--without-ofi", {}, {}, {}},
    {"openmpi", {"3.1", "3.1"}, "verbs", "--with-verbs", "--without-verbs", {}, {}, {}},
    // From 4.0 on InfiniBand goes through UCX; 5.0 knows no such option.
    {"openmpi", {"4.0", "4.1"}, "verbs", "--without-verbs", "--without-verbs", {}, {}, {}},
    {"openmpi", {"3.1", "3.1"}, "pmix-devel", "--with-pmix={pmix}", {}, "libevent", {}, {}},
    {"openmpi", {"4.0", "5.0"}, "pmix-devel", kExternal, kInternal, "hwloc libevent", {}, {}},
    {"openmpi", {"3.1", "4.1"}, "slurm-pmi2-devel", "--with-pmi", {}, {}, {}, {}},
    {"openmpi",
     {"5.0", "5.0"},
     "slurm-pmi2-devel",
     {},
     {},
     {},
     "Open MPI 5 has no PMI-1 and PMI-2: its configure stops at `--with-pmi`",
     "leave `slurm-pmi2-devel` out and start the ranks with pmix, or use Open MPI 4.1"},
    {"mpich", kAll, "fortran", {}, "--disable-fortran", {}, {}, {}},
    {"mpich", kAll, "ucx", "--with-device=ch4:ucx", {}, {}, {}, {}},
    {"mpich", kAll, "libfabric", "--with-device=ch4:ofi", {}, {}, {}, {}},
    {"mpich",
     {"4", "4"},
     "pmix-devel",
     "--with-pm=none --with-pmi=pmix",
     "--with-pm=hydra",
     {},
     {},
     {}},
    {"mpich",
     {"3.4", "3.4"},
     "pmix-devel",
     {},
     "--with-pm=hydra",
     {},
     "that MPICH 3.4 speaks PMIx is not known",
     "leave `pmix-devel` out, or use MPICH 4"},
};

constexpr PmixRangeRow kPmixRanges[] = {
    {"openmpi", {"3.1", "3.1"}, {"1.2", "2"}},
    {"openmpi", {"4.0", "4.0"}, {"1.2", "3"}},
    {"openmpi", {"4.1", "4.1"}, {"3", "4.2"}},
    {"openmpi", {"5.0", "5.0"}, {"4.2", {}}},
};

// Debian's were seen, the others read or documented.
constexpr FabricRow kFabricRows[] = {
    {"debian:11", "4.0.0", "1.10.0", "1.11.0"},
    {"debian:12", "4.2.2", "1.13.1", "1.17.0"},
    {"debian:13", "5.0.7", "1.18.1", "2.1.0"},
    {"debian:sid", "7.0.0rc1", "1.23.0", "2.1.0"},
    {"ubuntu:22.04", "4.1.2", "1.12.1", "1.11.0"},
    {"ubuntu:24.04", "5.0.1", "1.16.0", "1.17.0"},
    {"ubuntu:26.04", "5.0.9", {}, {}},
    {"rocky:8", "2.2.5", "1.14.1", "1.18.0"},
    {"rocky:9", "3.2.3", "1.14.1", "1.18.0"},
    {"rocky:10", "4.2.8", "1.17.0", "1.22.0"},
    {"almalinux:8", "2.2.5", "1.14.1", "1.18.0"},
    {"almalinux:9", "3.2.3", "1.14.1", "1.18.0"},
    {"almalinux:10", "4.2.8", "1.17.0", "1.22.0"},
    {"fedora:43", "5.0.7", "1.18.1", "2.1.0"},
    {"fedora:44", "5.0.7", "1.19.0", "2.3.1"},
    {"fedora:45", "5.0.7", "1.19.0", "2.5.1"},
    {"opensuse-leap:15.6", {}, "1.15.0", {}},
};

// Of ucx alone the RPMs carry no InfiniBand.
constexpr ExtraRow kExtras[] = {
    {"verbs", "apt", {}, "ibverbs-providers"},
    {"ucx", "el8", {}, "ucx ucx-ib ucx-rdmacm"},
    {"ucx", "el9", {}, "ucx ucx-ib ucx-rdmacm"},
    {"ucx", "el10", {}, "ucx ucx-ib ucx-rdmacm"},
    {"ucx", "fedora", {}, "ucx ucx-ib ucx-rdmacm"},
};

} // namespace

std::span<const SeriesRow> series_rows() {
    return kSeries;
}
std::span<const ReleaseRow> release_rows() {
    return kReleases;
}
std::span<const FeatureRow> feature_rows() {
    return kFeatures;
}
std::span<const PmixRangeRow> pmix_ranges() {
    return kPmixRanges;
}
std::span<const FabricRow> fabric_rows() {
    return kFabricRows;
}
std::span<const ExtraRow> extra_rows() {
    return kExtras;
}

const SeriesRow* find_series(std::string_view family, std::string_view version) {
    for (const SeriesRow& row : kSeries) {
        if (row.family == family && row.versions.holds(compatibility::parse_version(version))) {
            return &row;
        }
    }
    return nullptr;
}

const ReleaseRow* find_release(std::string_view family, std::string_view version) {
    for (const ReleaseRow& row : kReleases) {
        if (row.family == family && row.version == version) {
            return &row;
        }
    }
    return nullptr;
}

} // namespace cybele::recipes
