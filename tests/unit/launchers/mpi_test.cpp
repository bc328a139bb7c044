// SPDX-License-Identifier: Apache-2.0
#include "launchers/mpi/judge.hpp"
#include "tests/unit/support/document_golden.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <rapidcheck.h>

namespace cybele::compatibility {
namespace {

using enum MpiLauncher;
using enum Outcome;

Image image_of(std::string_view mpi, std::string pmi = {}) {
    Image image;
    image.mpi = parse_mpi(mpi);
    image.pmi = std::move(pmi);
    return image;
}

Host host_of(MpiLauncher launcher, bool has_several_nodes = false) {
    Host host;
    host.launcher = launcher;
    host.has_several_nodes = has_several_nodes;
    if (launcher == kMpirunOpenmpi) {
        host.mpi = parse_mpi("openmpi 4.1.4");
        host.pmix = "4.2.2";
    } else if (launcher == kSrunPmix) {
        host.pmix = "pmix_v4";
        host.slurm = "22.05.8";
    }
    return host;
}

struct Measured {
    std::string container;
    std::string pmi;
    MpiLauncher launcher;
    Outcome one_node;
    Outcome two_nodes;
};

template <class T, std::size_t N>
T word_of(const std::array<std::pair<std::string_view, T>, N>& words, const std::string& word) {
    for (const auto& [text, value] : words) {
        if (text == word) {
            return value;
        }
    }
    FAIL("pairs.tsv: " << word);
    return words.front().second;
}

// The matrix that was measured, cell by cell; the suites of pairs measure it again.
std::vector<Measured> read_matrix() {
    constexpr std::array<std::pair<std::string_view, MpiLauncher>, 5> kLaunchers{
        {{"mpirun", kMpirunOpenmpi},
         {"hydra", kMpirunMpich},
         {"srun-pmix", kSrunPmix},
         {"srun-pmi2", kSrunPmi2},
         {"srun-none", kSrunNone}}};
    constexpr std::array<std::pair<std::string_view, Outcome>, 4> kOutcomes{
        {{"works", kWorks},
         {"options", kWorksWithOptions},
         {"singletons", kSingletons},
         {"aborts", kAborts}}};
    std::ifstream file(std::string(CYBELE_TESTS_DIR) + "/cases/pairs.tsv");
    std::vector<Measured> cells;
    for (std::string line; std::getline(file, line);) {
        std::array<std::string, 5> fields;
        std::istringstream stream(line);
        for (std::string& field : fields) {
            std::getline(stream, field, '\t');
        }
        if (!line.starts_with('#')) {
            cells.push_back({fields[0],
                             fields[1] == "-" ? "" : fields[1],
                             word_of(kLaunchers, fields[2]),
                             word_of(kOutcomes, fields[3]),
                             word_of(kOutcomes, fields[4])});
        }
    }
    return cells;
}

const std::vector<Measured>& matrix() {
    static const std::vector<Measured> cells = read_matrix();
    return cells;
}

// Everything else that the tables say, row by row: by the id of the rule that decides.
struct Told {
    const char* container;
    const char* pmi;
    MpiLauncher launcher;
    const char* host_mpi; ///< or the PMIx of srun
    const char* rule;
    Outcome outcome;
};
constexpr std::array kTold{
    Told{"openmpi 3.1.6", "", kMpirunOpenmpi, "openmpi 3.1.6", "pair/openmpi-old-pmix", kWorks},
    Told{"openmpi 4.0.5", "", kSrunPmix, "pmix_v3", "pair/openmpi-old-pmix", kWorks},
    Told{"openmpi 4.1.8", "", kMpirunOpenmpi, "openmpi 5.0.7", "pair/openmpi-pmix", kWorks},
    Told{"openmpi 4.1.8", "pmix 3.2.5 pmi2", kSrunPmi2, "", "pair/openmpi-4-with-pmi2", kWorks},
    Told{"openmpi 4.0.5", "", kSrunPmi2, "", "pair/openmpi-3-pmi2", kAborts},
    Told{"openmpi 3.1.6", "", kSrunNone, "", "pair/openmpi-3-none", kAborts},
    Told{"openmpi 5.0.7", "", kMpirunOpenmpi, "openmpi 4.0.5", "pmix/client-newer", kUnknown},
    Told{"openmpi 5.0.7", "pmix 5.0.7", kSrunPmix, "pmix_v3", "pmix/client-newer", kUnknown},
    Told{"openmpi 4.1.8", "pmix 2.0.1", kSrunPmix, "pmix_v4", "pmix/client-before-2.1", kUnknown},
    Told{"openmpi 4.1.8", "pmix 1.2.5", kSrunPmix, "pmix_v4", "pmix/client-1", kAborts},
    Told{"openmpi 4.1.8", "pmix 3.2.5", kSrunPmix, "1.2.5", "pmix/server-before-2.1", kUnknown},
    Told{"openmpi 7.0.0", "pmix 7.0", kSrunPmix, "pmix_v4", "pair/never-seen", kUnknown},
    Told{"openmpi 2.1.1", "", kMpirunOpenmpi, "openmpi 4.1.4", "pair/never-seen", kUnknown},
    Told{"mpich 4.3.2", "pmix 4.2.9", kSrunPmix, "pmix_v4", "pair/mpich-with-pmix", kWorks},
    Told{"mpich 4.3.2", "pmix 4.2.9", kSrunPmi2, "", "pair/mpich-only-pmix", kSingletons},
    Told{"mpich 4.3.2",
         "pmix 4.2.9",
         kMpirunMpich,
         "mpich 4.0.2",
         "pair/mpich-only-pmix",
         kSingletons},
    Told{"mpich 3.4.3", "", kMpirunMpich, "intel 2021.13", "pair/mpich-hydra", kWorks},
    Told{"mpich 6.0", "", kMpirunMpich, "mpich 6.0", "pair/never-seen", kUnknown},
    Told{"mvapich2 2.3.7-1", "pmi2", kSrunPmi2, "", "pair/relative-pmi2", kWorks},
    Told{"mvapich2 2.3.7-1", "pmi1", kSrunPmi2, "", "pair/mvapich2-pmi1", kUnknown},
    Told{"mvapich2 2.3.7-1", "pmi1", kSrunNone, "", "pair/mvapich2-pmi1", kUnknown},
    Told{"mvapich2 2.3.7-1", "pmi2", kSrunNone, "", "pair/relative-none", kSingletons},
    Told{"mvapich2 2.3.7-1", "", kMpirunMpich, "mvapich2 2.3", "pair/relative-hydra", kWorks},
    Told{
        "mvapich2 2.3.7-1", "", kMpirunOpenmpi, "openmpi 4.1.4", "pair/relative-pmix", kSingletons},
    Told{"mvapich2 2.3.7-1", "pmi2", kSrunPmix, "pmix_v4", "pair/relative-pmix", kSingletons},
    Told{"mvapich2 2.3.7-1", "pmix 4.2.9", kSrunPmix, "pmix_v4", "pair/mpich-with-pmix", kWorks},
    Told{"mvapich 4.1", "", kMpirunMpich, "mpich 4.1.1", "pair/relative-hydra", kWorks},
    Told{"mvapich 4.1", "", kSrunPmi2, "", "pair/relative-pmi2", kWorks},
    Told{"mvapich 4.1", "", kMpirunOpenmpi, "openmpi 5.0.7", "pair/relative-pmix", kSingletons},
    Told{"mvapich 4.1", "", kSrunPmix, "pmix_v4", "pair/relative-pmix", kSingletons},
    Told{"mvapich 4.1", "", kSrunNone, "", "pair/relative-none", kSingletons},
    Told{"mvapich 4.1", "pmix 4.2.9", kSrunPmix, "pmix_v4", "pair/mpich-with-pmix", kWorks},
    Told{"intel 2021.13", "", kMpirunMpich, "intel 2021.13", "pair/relative-hydra", kWorks},
    Told{"intel 2021.13", "", kSrunPmi2, "", "pair/intel-pmi2", kWorksWithOptions},
    Told{"intel 2021.13", "", kMpirunOpenmpi, "openmpi 4.1.4", "pair/relative-pmix", kSingletons},
    Told{"intel 2021.13", "", kSrunPmix, "pmix_v4", "pair/relative-pmix", kSingletons},
    Told{"intel 2021.13", "", kSrunNone, "", "pair/relative-none", kSingletons},
    Told{"openmpi 4.1.4", "", kNoLauncher, "", "pair/no-launcher", kSingletons},
    Told{"", "", kSrunPmix, "", "pair/never-seen", kUnknown},
};

std::set<std::string_view>& seen_rules() {
    static std::set<std::string_view> seen;
    return seen;
}

Judgement ask(const Image& image, const Host& host) {
    Judgement judgement = judge(image, host);
    REQUIRE_FALSE(judgement.rules.empty());
    for (const Rule* rule : judgement.rules) {
        seen_rules().insert(rule->id);
    }
    return judgement;
}

struct Seen {
    Circumstance circumstance;
    const char* mpi;
    MpiLauncher launcher;
    Outcome outcome;
    const char* variable;
};
constexpr std::array kSeen{
    Seen{Circumstance::kOwnUserNamespace,
         "openmpi 4.1.4",
         kMpirunOpenmpi,
         kWorksWithOptions,
         "OMPI_MCA_btl_vader_single_copy_mechanism"},
    Seen{Circumstance::kOwnUserNamespace,
         "openmpi 5.0.7",
         kMpirunOpenmpi,
         kWorksWithOptions,
         "OMPI_MCA_smsc"},
    Seen{Circumstance::kOwnUserNamespace, "mpich 4.0.2", kSrunPmi2, kWorksWithOptions, "UCX_TLS"},
    Seen{Circumstance::kOwnUserNamespace,
         "mpich 5.0.0",
         kSrunPmi2,
         kWorksWithOptions,
         "MPIR_CVAR_CH4_CMA_ENABLE"},
    Seen{Circumstance::kOwnUserNamespace, "mvapich 4.1", kSrunPmi2, kWorksWithOptions, "UCX_TLS"},
    Seen{Circumstance::kOwnPidNamespace, "openmpi 4.1.4", kMpirunOpenmpi, kAborts, ""},
    Seen{Circumstance::kOwnIpcNamespace, "openmpi 4.1.4", kMpirunOpenmpi, kWorks, ""},
    Seen{Circumstance::kOwnNetNamespace, "openmpi 4.1.4", kMpirunOpenmpi, kAborts, ""},
    Seen{Circumstance::kOwnUtsNamespace, "openmpi 4.1.4", kMpirunOpenmpi, kWorks, ""},
    Seen{Circumstance::kPrivateTmp,
         "openmpi 4.1.4",
         kMpirunOpenmpi,
         kWorksWithOptions,
         "PMIX_MCA_gds"},
    Seen{Circumstance::kPrivateShm, "openmpi 4.1.4", kMpirunOpenmpi, kWorks, ""},
    Seen{Circumstance::kClearedEnvironment, "openmpi 4.1.4", kMpirunOpenmpi, kSingletons, ""},
    Seen{Circumstance::kClosedDescriptors, "mpich 4.0.2", kSrunPmi2, kAborts, ""},
    Seen{Circumstance::kMungeDemanded,
         "openmpi 4.1.4",
         kSrunPmix,
         kWorksWithOptions,
         "PMIX_MCA_psec"},
    Seen{Circumstance::kApptainerWithUserns, "mpich 4.0.2", kSrunPmi2, kUnknown, ""},
};

struct Bound {
    const char* image;
    const char* image_libc;
    const char* host;
    const char* host_libc;
    const char* rule;
    Outcome outcome;
};
constexpr std::array kBound{
    Bound{"openmpi 5.0.7", "glibc 2.41", "openmpi 4.1.4", "2.36", "bind/same-abi", kWorks},
    Bound{"mpich 3.4.3", "glibc 2.36", "intel 2021.13", "glibc 2.36", "bind/same-abi", kWorks},
    Bound{"mpich 4.0.2", "glibc 2.36", "mvapich2 2.3.7", "glibc 2.28", "bind/same-abi", kWorks},
    Bound{"mpich 4.0.2", "glibc 2.36", "mvapich 4.1", "glibc 2.34", "bind/same-abi", kWorks},
    Bound{"mpich 4.0.2", "glibc 2.36", "openmpi 4.1.4", "2.36", "bind/other-abi", kAborts},
    Bound{"openmpi 4.1.4", "glibc 2.36", "openmpi 1.10.2", "2.17", "bind/other-abi", kAborts},
    Bound{"openmpi 4.1.4", "glibc 2.36", "openmpi 2.1.1", "2.17", "bind/other-abi", kAborts},
    Bound{"openmpi 4.1.0", "glibc 2.31", "openmpi 4.1.4", "2.36", "bind/libc-newer", kAborts},
    Bound{"openmpi 4.1.6", "musl 1.2.6", "openmpi 4.1.4", "2.36", "bind/musl", kAborts},
    Bound{"openmpi 4.1.4", "", "openmpi 4.1.4", "2.36", "bind/libc-unknown", kUnknown},
    Bound{"openmpi 3.0.0", "glibc 2.36", "openmpi 4.1.4", "2.36", "bind/abi-unknown", kUnknown},
};

bool decides(const Judgement& judgement, std::string_view id) {
    return std::any_of(judgement.rules.begin(), judgement.rules.end(), [&](const Rule* rule) {
        return rule->id == id && rule->outcome == judgement.outcome;
    });
}

} // namespace

TEST_CASE("every measured cell has its verdict, seen on the programs") {
    for (const Measured& cell : matrix()) {
        CAPTURE(cell.container);
        CAPTURE(launcher_text(cell.launcher));
        const Image image = image_of(cell.container, cell.pmi);
        const Judgement one = ask(image, host_of(cell.launcher, false));
        const Judgement two = ask(image, host_of(cell.launcher, true));
        CHECK(one.outcome == cell.one_node);
        CHECK(two.outcome == cell.two_nodes);
        CHECK(one.worst().source == Source::kRan);
        CHECK(two.worst().source == Source::kRan);
        // a Site that says less leads to the same
        Host plain;
        plain.launcher = cell.launcher;
        CHECK(ask(image, plain).outcome == cell.one_node);
    }
}

TEST_CASE("7 of the 20 measured pairs end with exit code 0 and a wrong result") {
    REQUIRE(matrix().size() > 20);
    const auto silent =
        std::count_if(matrix().begin(), matrix().begin() + 20, [](const Measured& cell) {
            return cell.two_nodes == kSingletons;
        });
    CHECK(silent == 7);
}

TEST_CASE("what is documented is told as such, by the rule that says it") {
    for (const Told& row : kTold) {
        CAPTURE(row.container);
        CAPTURE(row.pmi);
        CAPTURE(launcher_text(row.launcher));
        CAPTURE(row.host_mpi);
        Host host;
        host.launcher = row.launcher;
        const bool is_srun = row.launcher == kSrunPmix || row.launcher == kSrunPmi2;
        (is_srun ? host.pmix : host.mpi.family) = row.host_mpi;
        if (!is_srun) {
            host.mpi = parse_mpi(row.host_mpi);
        }
        const Judgement judgement = ask(image_of(row.container, row.pmi), host);
        CHECK(judgement.outcome == row.outcome);
        CHECK_MESSAGE(decides(judgement, row.rule), judgement.text());
    }
}

TEST_CASE("what stands between launcher and ranks counts, with its variable") {
    for (const Seen& row : kSeen) {
        CAPTURE(circumstance_text(row.circumstance));
        CAPTURE(row.mpi);
        Host host = host_of(row.launcher);
        host.circumstances = {row.circumstance};
        const Judgement judgement = ask(image_of(row.mpi), host);
        CHECK(judgement.outcome == row.outcome);
        const std::string wanted = row.variable;
        CHECK((wanted.empty() ? judgement.options.empty()
                              : judgement.options.front().variable == wanted));
    }
}

TEST_CASE("Apptainer's options, as measured") {
    const auto under = [](std::string_view option) {
        Host host = host_of(kMpirunOpenmpi);
        const auto brought = circumstances_of(option);
        host.circumstances.assign(brought.begin(), brought.end());
        return ask(image_of("openmpi 4.1.4", "pmix 4.2.2"), host).outcome;
    };
    CHECK(under("--ipc") == kWorks);
    CHECK(under("--uts") == kWorks);
    CHECK(under("--contain") == kWorksWithOptions);
    CHECK(under("--userns") == kWorksWithOptions);
    CHECK(under("--cleanenv") == kSingletons);
    // --pid alone ends with 139; --containall clears the environment first
    CHECK(under("--pid") == kAborts);
    CHECK(under("--containall") != kWorks);
    CHECK(under("--net") == kAborts);
    CHECK(under("--nv") == kWorks);
}

TEST_CASE("the bind model: library name and C library") {
    for (const Bound& row : kBound) {
        CAPTURE(row.image);
        CAPTURE(row.host);
        Image image = image_of(row.image);
        image.libc = row.image_libc;
        Host host;
        host.model = Model::kBind;
        host.mpi = parse_mpi(row.host);
        host.launcher = mpirun_of(host.mpi.family);
        host.libc = row.host_libc;
        const Judgement judgement = ask(image, host);
        CHECK(judgement.outcome == row.outcome);
        CHECK_MESSAGE(decides(judgement, row.rule), judgement.text());
    }
}

TEST_CASE("an image runs on processors of its own kind and of newer levels") {
    Image image = image_of("openmpi 4.1.4", "pmix 4.2.2");
    Host host = host_of(kMpirunOpenmpi);
    image.architecture = "amd64";
    host.architecture = "arm64";
    CHECK(ask(image, host).worst().id == "machine/architecture");
    host.architecture = "amd64";
    for (const TargetRow& made_for : target_rows()) {
        for (const TargetRow& processor : target_rows()) {
            image.target = made_for.target;
            host.processor = processor.target;
            const bool runs = made_for.architecture == processor.architecture &&
                              made_for.level <= processor.level;
            CHECK((ask(image, host).outcome == kWorks) == runs);
        }
    }
    CHECK(seen_rules().contains("machine/target"));
}

TEST_CASE("every row of every table was asked above, with a reason, a source and a remedy") {
    const auto check = [](const Rule& rule) {
        CAPTURE(rule.id);
        CHECK(seen_rules().contains(rule.id));
        CHECK_FALSE(rule.because.empty());
        CHECK((rule.outcome == kWorks || !rule.help.empty()));
        CHECK((rule.outcome == kWorksWithOptions) == !rule.options[0].variable.empty());
    };
    std::set<std::string_view> families;
    for (const PairRow& row : pair_rows()) {
        check(row.rule);
        families.insert(row.family);
    }
    CHECK(families.size() == 6);
    for (const PmixRow& row : pmix_rows()) {
        check(row.rule);
    }
    for (const CircumstanceRow& row : circumstance_rows()) {
        check(row.rule);
    }
    for (const Rule& rule : machine_rules()) {
        check(rule);
    }
}

TEST_CASE("versions and ranges") {
    CHECK(parse_version("6.0.0rc2") == Version{{6, 0, 0}, true});
    CHECK(parse_version("2.3.7-1") == Version{{2, 3, 7}, true});
    CHECK(parse_version("v5.0") == Version{{5, 0, 0}, true});
    CHECK_FALSE(parse_version("trunk").is_known);
    CHECK(VersionRange{"4.1", "4.1"}.holds(parse_version("4.1.8")));
    CHECK_FALSE(VersionRange{"4.1", "4.1"}.holds(parse_version("4.10.0")));
    CHECK(VersionRange{"3.1", "4"}.holds(parse_version("4.9")));
    CHECK_FALSE(VersionRange{"3.1", "4"}.holds(parse_version("5.0.0")));
    CHECK_FALSE(VersionRange{"3.1", "4"}.holds(parse_version("3.0.6")));
    CHECK_FALSE(VersionRange{"3.1", "4"}.holds(parse_version("")));
    CHECK(VersionRange{}.holds(parse_version("")));
}

TEST_CASE("labels are parsed") {
    CHECK(parse_mpi("openmpi 4.1.4").major == 4);
    CHECK(parse_mpi("openmpi 4.1.4").text() == "openmpi 4.1.4");
    CHECK(parse_mpi("mpich").text() == "mpich");
    CHECK(parse_mpi("").text() == "unknown");
    CHECK(mpirun_of("intel") == kMpirunMpich);
    CHECK(mpirun_of("") == kMpirunOpenmpi);
    const PmiSupport both = pmi_of("pmix 3.2.5 pmi2", parse_mpi("openmpi 4.1.8"));
    CHECK((both.has_pmix && both.has_pmi2 && both.pmix == "3.2.5"));
    CHECK(pmi_of("", parse_mpi("openmpi 3.1.6")).pmix == "2.2.3");
    CHECK(pmi_of("", parse_mpi("mpich 4.0")).has_pmi2);
    CHECK(bundled_pmix(parse_mpi("openmpi 4.0.5")) == "3.1.5");
    CHECK(bundled_pmix(parse_mpi("openmpi 5.0.7")) == "4.2.0");
    CHECK(bundled_pmix(parse_mpi("openmpi 9")).empty());
    CHECK(bundled_pmix(parse_mpi("mpich 4.0")).empty());
    CHECK(launcher_of("", "mpich", "", both) == kMpirunMpich);
    CHECK(launcher_of("srun", "", "", both) == kSrunPmix);
    CHECK(launcher_of("srun", "", "pmix_v4", both) == kSrunPmix);
    CHECK(launcher_of("srun", "", "pmi2", both) == kSrunPmi2);
    CHECK(launcher_of("srun", "", "none", both) == kSrunNone);
    CHECK(launcher_of("none", "", "", both) == kNoLauncher);
    CHECK(launcher_of("", "", "pmix", both) == kSrunPmix);
}

TEST_CASE("more in the way never makes a verdict better") {
    rc::check([] {
        const auto& cell = matrix()[*rc::gen::inRange<std::size_t>(0, matrix().size())];
        Host host = host_of(cell.launcher, *rc::gen::arbitrary<bool>());
        const Image image = image_of(cell.container, cell.pmi);
        const auto before = judge(image, host);
        const auto count = *rc::gen::inRange(1, 5);
        for (int i = 0; i < count; ++i) {
            host.circumstances.push_back(static_cast<Circumstance>(*rc::gen::inRange(0, 11)));
        }
        const auto after = judge(image, host);
        RC_ASSERT(after.rules.size() >= before.rules.size());
        RC_ASSERT(after.outcome != kWorks || before.outcome == kWorks);
    });
}

TEST_CASE("an option of the runtime brings its circumstances, and no others") {
    using Brought = std::vector<Circumstance>;
    using enum Circumstance;
    for (const auto& [option, brought] :
         {std::pair("--userns", Brought{kOwnUserNamespace, kApptainerWithUserns}),
          std::pair("--pid", Brought{kOwnPidNamespace}),
          std::pair("--ipc", Brought{kOwnIpcNamespace}),
          std::pair("--net", Brought{kOwnNetNamespace}),
          std::pair("--uts", Brought{kOwnUtsNamespace}),
          std::pair("--contain", Brought{kPrivateTmp, kPrivateShm}),
          std::pair("--cleanenv", Brought{kClearedEnvironment}),
          std::pair("--containall",
                    Brought{kPrivateTmp, kPrivateShm, kClearedEnvironment, kOwnPidNamespace}),
          std::pair("--nv", Brought{})}) {
        CAPTURE(option);
        CHECK(std::ranges::equal(circumstances_of(option), brought));
    }
}

TEST_CASE("settings of the runtime that would keep ranks from each other, and no others") {
    std::vector<std::string> names;
    for (const std::string prefix : {"APPTAINER_", "SINGULARITY_"}) {
        for (const char* option : {"PID", "NET", "CONTAIN", "CLEANENV", "CONTAINALL"}) {
            names.push_back(prefix + option); // other host names and System V segments do no harm
        }
    }
    CHECK(misleading_settings() == names);
}

TEST_CASE("the reference page holds the tables") {
    test::compare_part(
        std::filesystem::path(CYBELE_SOURCE_DIR) / "docs/reference/mpi.md", "rules", rules_page());
}

} // namespace cybele::compatibility
