// SPDX-License-Identifier: Apache-2.0
#include "recipes/mpi/build_rows.hpp"
#include "recipes/mpi/mpi.hpp"
#include "recipes/stage/base.hpp"
#include "support/find.hpp"

#include <set>

namespace cybele::recipes {
namespace {

using compatibility::parse_version;

/// Debian's name for an architecture's libraries.
struct MultiarchRow {
    std::string_view arch;
    std::string_view name;
};
constexpr MultiarchRow kMultiarchs[] = {
    {"amd64", "x86_64-linux-gnu"},
    {"arm64", "aarch64-linux-gnu"},
    {"ppc64el", "powerpc64le-linux-gnu"},
    {"riscv64", "riscv64-linux-gnu"},
    {"s390x", "s390x-linux-gnu"},
};

/// Where a program from source lies: /opt/NAME.
struct PlaceRow {
    std::string_view family;
    std::string_view prefix;
    std::string_view compiler;
};
constexpr PlaceRow kPlaces[] = {
    {"openmpi", "/opt/openmpi", "/opt/openmpi/bin/mpicc"},
    {"mpich", "/opt/mpich", "/opt/mpich/bin/mpicc"},
};

const SourcePackage* find_source(const Packages& packages, std::string_view name) {
    for (const auto& source : packages.source) {
        if (source.name == name) {
            return &source;
        }
    }
    return nullptr;
}

/// Where the stage's PMIx lies, as `--with-pmix=` wants it: Debian keeps several beside each other.
std::string pmix_place(const Recipe& recipe, const StageContext& stage) {
    const bool is_debian = stage.base.row != nullptr && stage.base.row->column == "apt";
    if (!is_debian || parse_version(recipe.mpi.version).major() >= 5) {
        return "external";
    }
    for (const auto& row : kMultiarchs) {
        if (row.arch == base_of(recipe, *stage.fields).arch) {
            return "/usr/lib/" + std::string(row.name) + "/pmix2";
        }
    }
    return "external";
}

/// A release's own MPI: Debian's rows were seen, the others read.
std::optional<MpiRow> packaged(const DistributionRow& release, std::string_view family) {
    if (const MpiRow* row = find_mpi(release.id, family)) {
        return *row;
    }
    for (const PackagedRow& row : packaged_rows()) {
        if (row.release != release.id || row.family != family) {
            continue;
        }
        for (const LayoutRow& layout : layout_rows()) {
            const bool is_column = layout.column == release.column ||
                                   (layout.column == "el" && release.column.starts_with("el"));
            if (is_column && layout.family == family) {
                return MpiRow{release.id,
                              row.family,
                              row.version,
                              row.pmi,
                              layout.prefix,
                              layout.compiler,
                              layout.run,
                              layout.devel};
            }
        }
    }
    return std::nullopt;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    const auto at = text.find(what);
    return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

/// Whether the stage's PMIx is one that this MPI can be built on.
void check_pmix(const Recipe& recipe,
                const StageContext& stage,
                const std::string& path,
                Faults& faults) {
    const auto version = parse_version(recipe.mpi.version);
    std::string_view packaged;
    for (const FabricRow& row : fabric_rows()) {
        if (stage.base.row != nullptr && row.release == stage.base.row->id) {
            packaged = row.pmix;
        }
    }
    for (const PmixRangeRow& row : pmix_ranges()) {
        if (row.family != recipe.mpi.family || !row.versions.holds(version)) {
            continue;
        }
        const std::string takes =
            "Open MPI " + recipe.mpi.version + " supports PMIx " + std::string(row.pmix.first) +
            (row.pmix.last.empty() ? " and later" : " to " + std::string(row.pmix.last));
        if (!row.pmix.holds(parse_version(packaged))) {
            faults.add(recipe.fault_at(
                path,
                problem("base-pmix",
                        packaged.empty()
                            ? "which PMIx the base has is not known"
                            : "the base's PMIx " + std::string(packaged) + " does not fit"),
                takes,
                "leave `pmix-devel` out: " + recipe.mpi.family + " brings its own"));
        }
    }
}

class Builder {
public:
    Builder(const Recipe& recipe, const StageContext& stage, std::string path, Faults& faults)
        : recipe_(recipe), stage_(stage), path_(std::move(path)), faults_(faults) {
        const auto& needs = stage.fields->packages.needs;
        wanted_.insert(needs.begin(), needs.end());
    }

    MpiBuild build(const SeriesRow& series) {
        append(build_.options, series.options);
        append(build_.needs, series.needs);
        for (const FeatureRow& row : feature_rows()) {
            if (row.family == recipe_.mpi.family &&
                row.versions.holds(parse_version(recipe_.mpi.version))) {
                feature(row);
            }
        }
        for (const ExtraRow& row : extra_rows()) {
            const bool is_wanted = wanted_.contains(row.what) || contains(build_.needs, row.what);
            if (is_wanted && stage_.base.row != nullptr && row.column == stage_.base.row->column) {
                append(build_.system, row.build);
                append(build_.run, row.run);
            }
        }
        build_.pmi = pmi(series);
        return build_;
    }

private:
    void feature(const FeatureRow& row) {
        // A program from source of that name stands for the distribution's package.
        const std::string name(row.need.substr(0, row.need.find("-devel")));
        const bool is_source = find_source(stage_.fields->packages, name) != nullptr;
        if (!is_source && !wanted_.contains(row.need)) {
            append(build_.options, row.without);
            return;
        }
        if (!row.refusal.empty()) {
            refuse(problem("mpi-need-conflict",
                           "'" + std::string(row.need) + "' with " + recipe_.mpi.family + " " +
                               recipe_.mpi.version),
                   std::string(row.refusal),
                   std::string(row.help));
            return;
        }
        const bool is_device = row.with.starts_with("--with-device=");
        if (is_device && has_device_) {
            refuse(problem("mpi-need-and-ucx", "'" + std::string(row.need) + "' with `ucx`"),
                   "MPICH is built for one of them",
                   "leave one of them out");
            return;
        }
        has_device_ = has_device_ || is_device;
        std::string options(row.with);
        if (is_source) {
            options = options == "--with-" + name ? options + "=/opt/" + name
                                                  : replaced(options, "{pmix}", "/opt/pmix");
        } else if (row.need == "pmix-devel") {
            check_pmix(recipe_, stage_, path_, faults_);
        }
        append(build_.options, replaced(options, "{pmix}", pmix_place(recipe_, stage_)));
        append(build_.needs, row.more);
    }

    /// What it speaks: its own PMIx or the one from outside, and Slurm's PMI-2 where asked for.
    [[nodiscard]] std::string pmi(const SeriesRow& series) const {
        const bool has_pmi2 = wanted_.contains("slurm-pmi2-devel");
        const bool is_source = find_source(stage_.fields->packages, "pmix") != nullptr;
        if (!is_source && !wanted_.contains("pmix-devel")) {
            return std::string(has_pmi2 ? series.with_pmi : series.pmi);
        }
        std::string text = "pmix";
        for (const FabricRow& row : fabric_rows()) {
            if (!is_source && stage_.base.row != nullptr && row.release == stage_.base.row->id) {
                text += " " + std::string(row.pmix);
            }
        }
        return text + (has_pmi2 ? " pmi2" : "");
    }

    void refuse(Problem problem, std::string because, std::string help) {
        faults_.add(
            recipe_.fault_at(path_, std::move(problem), std::move(because), std::move(help)));
    }

    static void append(std::vector<std::string>& list, std::string_view words) {
        for (auto& word : words_of(words)) {
            if (!contains(list, word)) {
                list.push_back(std::move(word));
            }
        }
    }

    const Recipe& recipe_;
    const StageContext& stage_;
    std::string path_;
    Faults& faults_;
    std::set<std::string, std::less<>> wanted_;
    bool has_device_ = false;
    MpiBuild build_;
};

} // namespace

std::string mpi_prefix(const RecipeMpi& mpi) {
    return "/opt/" + mpi.family;
}

MpiBuild mpi_build(const Recipe& recipe,
                   const StageContext& stage,
                   const std::string& path,
                   Faults& faults) {
    const SeriesRow* series = find_series(recipe.mpi.family, recipe.mpi.version);
    return series == nullptr ? MpiBuild{} : Builder(recipe, stage, path, faults).build(*series);
}

std::optional<MpiRow> mpi_row_of(const RecipeMpi& mpi, const DistributionRow* release) {
    if (mpi.family.empty()) {
        return std::nullopt;
    }
    if (mpi.from == "distribution") {
        return release != nullptr ? packaged(*release, mpi.family) : std::nullopt;
    }
    MpiRow row{};
    row.family = mpi.family;
    row.version = mpi.version;
    if (mpi.from == "base") {
        row.compiler = "mpicc";
        return mpi.version.empty() ? std::nullopt : std::optional(row);
    }
    const SeriesRow* series = find_series(mpi.family, mpi.version);
    if (series == nullptr) {
        return std::nullopt;
    }
    row.pmi = mpi.pmi.empty() ? series->pmi : std::string_view(mpi.pmi);
    for (const PlaceRow& place : kPlaces) {
        if (place.family == mpi.family) {
            row.prefix = place.prefix;
            row.compiler = place.compiler;
        }
    }
    return row;
}

void check_mpi(const Recipe& recipe, const StageContext& stage, Faults& faults) {
    const RecipeMpi& mpi = stage.fields->mpi;
    const std::string path = stage.prefix + "mpi";
    const bool is_base_unknown =
        stage.base.row == nullptr && base_of(recipe, *stage.fields).image.empty();
    if (mpi.family.empty() || is_base_unknown) {
        return; // a base that is unknown is refused already
    }
    const auto add = [&](const std::string& field,
                         Problem problem,
                         std::string because,
                         std::string help) {
        faults.add(recipe.fault_at(field, std::move(problem), std::move(because), std::move(help)));
    };
    const std::string release(stage.base.row != nullptr ? stage.base.row->id : "the base");
    if (mpi.from == "source" && !stage.is_last) {
        add(path + ".from",
            problem("mpi-source-stage", "an MPI from source in a stage of its own"),
            "the image's own is built in the stages with its base",
            "write it at the top level, or build it by `packages.source`");
        return;
    }
    const auto row = mpi_row_of(mpi, stage.base.row);
    if (!row && mpi.from == "base") {
        add(path,
            problem("base-mpi-version", "the version of the base's MPI is not said"),
            "launches are checked against it",
            "write `mpi: {family: " + mpi.family + ", version: …, from: base}`");
    } else if (!row && mpi.from == "distribution") {
        for (const BrokenRow& broken : broken_rows()) {
            if (broken.release == release && broken.family == mpi.family) {
                add(path,
                    problem("mpi-packages-broken", "no " + mpi.family + " from " + release),
                    std::string(broken.because),
                    std::string(broken.help));
                return;
            }
        }
        add(path,
            problem("mpi-packages-unknown", "no " + mpi.family + " from " + release),
            "which packages it would be is not known",
            "use openmpi or mpich on debian:12, or an image that has it: `from: base`");
    } else if (row && mpi.from == "distribution" && !mpi.version.empty() &&
               mpi.version != row->version) {
        std::string other = "remove `version`, or write `from: source`";
        for (const auto& candidate : mpis()) {
            if (candidate.family == mpi.family && candidate.version == mpi.version) {
                other = "`base: " + std::string(candidate.distribution) + "` has it";
            }
        }
        add(path + ".version",
            problem("mpi-version",
                    release + " has " + mpi.family + " " + std::string(row->version) + ", not " +
                        mpi.version),
            "`from: distribution` installs the distribution's package",
            other);
    }
}

std::string mpi_test_lines(const MpiRow& row) {
    struct Teller {
        std::string_view family;
        std::string_view command;
    };
    // Not run where the image has the library alone: run packages of a distribution bring no
    // teller.
    constexpr Teller kTellers[] = {
        {"openmpi", "ompi_info --version"},
        {"mpich", "mpichversion"},
        {"mvapich2", "mpichversion"},
    };
    for (const Teller& teller : kTellers) {
        if (teller.family == row.family && !row.prefix.empty()) {
            return "'" + std::string(row.prefix) + "'/bin/" + std::string(teller.command) +
                   " | grep -F -- '" + std::string(row.version) + "' >/dev/null\n";
        }
    }
    return {};
}

} // namespace cybele::recipes
