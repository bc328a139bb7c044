// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/mpi.hpp"

#include "support/find.hpp"

#include <algorithm>
#include <array>

namespace cybele::compatibility {
namespace {

using enum MpiLauncher;

constexpr std::array<std::string_view, 6> kLauncherTexts{"mpirun of Open MPI",
                                                         "mpirun of MPICH (hydra)",
                                                         "srun with pmix",
                                                         "srun with pmi2",
                                                         "srun",
                                                         "no launcher"};
constexpr std::array<std::string_view, 5> kOutcomeTexts{
    "works", "works with options", "starts N jobs of one rank", "aborts", "unknown"};

/// The PMIx in a release's own tarball; distributions put theirs in its place.
struct Bundle {
    VersionRange openmpi;
    std::string_view pmix;
};
// Of 5.0 the least that it takes; its tarballs bring different ones.
constexpr std::array<Bundle, 4> kBundles{{
    {{"3.1", "3.1"}, "2.2.3"},
    {{"4.0", "4.0"}, "3.1.5"},
    {{"4.1", "4.1"}, "3.2.5"},
    {{"5.0", "5"}, "4.2.0"},
}};

/// What a family speaks when it is configured with nothing said.
struct Native {
    std::string_view family;
    std::string_view label;
};
constexpr std::array<Native, 5> kNatives{{
    {"openmpi", "pmix"},
    {"mpich", "pmi2"},
    {"mvapich2", "pmi2"},
    {"mvapich", "pmi2"},
    {"intel", "pmi2"},
}};

} // namespace

std::string MpiVersion::text() const {
    if (!is_known()) {
        return "unknown";
    }
    return version.empty() ? family : family + " " + version;
}

MpiVersion parse_mpi(std::string_view text) {
    MpiVersion mpi;
    const auto blank = text.find(' ');
    mpi.family = text.substr(0, blank);
    if (blank != std::string_view::npos) {
        mpi.version = text.substr(blank + 1);
        mpi.major = parse_version(mpi.version).major();
    }
    return mpi;
}

PmiSupport pmi_of(std::string_view label, const MpiVersion& mpi) {
    PmiSupport support;
    if (label.empty()) {
        const auto* const found = std::ranges::find(kNatives, mpi.family, &Native::family);
        label = found == kNatives.end() ? std::string_view{} : found->label;
    }
    bool is_version = false;
    while (!label.empty()) {
        const auto blank = label.find(' ');
        const auto word = label.substr(0, blank);
        label = blank == std::string_view::npos ? std::string_view{} : label.substr(blank + 1);
        if (is_version && parse_version(word).is_known) {
            support.pmix = word;
        }
        is_version = word == "pmix";
        support.has_pmix = support.has_pmix || is_version;
        support.has_pmi1 = support.has_pmi1 || word == "pmi1";
        support.has_pmi2 = support.has_pmi2 || word == "pmi2";
    }
    if (support.has_pmix && support.pmix.empty()) {
        support.pmix = bundled_pmix(mpi);
    }
    return support;
}

std::string_view bundled_pmix(const MpiVersion& mpi) {
    if (mpi.family != "openmpi") {
        return {};
    }
    const Version version = parse_version(mpi.version);
    for (const Bundle& bundle : kBundles) {
        if (bundle.openmpi.holds(version)) {
            return bundle.pmix;
        }
    }
    return {};
}

std::string_view launcher_text(MpiLauncher launcher) {
    return kLauncherTexts[static_cast<std::size_t>(launcher)];
}

std::string_view outcome_text(Outcome outcome) {
    return kOutcomeTexts[static_cast<std::size_t>(outcome)];
}

MpiLauncher mpirun_of(std::string_view host_family) {
    constexpr std::array<std::string_view, 4> kHydras{"mpich", "mvapich2", "mvapich", "intel"};
    const bool is_hydra = contains(kHydras, host_family);
    return is_hydra ? kMpirunMpich : kMpirunOpenmpi;
}

MpiLauncher launcher_of(std::string_view launcher,
                        std::string_view host_family,
                        std::string_view pmi,
                        const PmiSupport& image) {
    if (launcher == "none") {
        return kNoLauncher;
    }
    if (launcher == "mpirun" || (launcher.empty() && pmi.empty())) {
        return mpirun_of(host_family);
    }
    if (pmi == "none") {
        return kSrunNone;
    }
    if (pmi.empty()) {
        return image.has_pmix ? kSrunPmix : kSrunPmi2;
    }
    return pmi.starts_with("pmix") ? kSrunPmix : kSrunPmi2;
}

} // namespace cybele::compatibility
