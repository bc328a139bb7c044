// SPDX-License-Identifier: Apache-2.0
#include "recipes/mpi/build_rows.hpp"
#include "recipes/mpi/mpi.hpp"
#include "recipes/stage/render_text.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <charconv>

namespace cybele::recipes {
namespace {

using How = EnvironmentValue::How;

/// What an MPI is built on: programs of these names come before it.
constexpr std::string_view kFabricPackages[] = {
    "hwloc", "libevent", "libfabric", "numactl", "pmix", "prrte", "rdma-core", "ucx", "xpmem"};

bool is_fabric(const SourcePackage& source) {
    return contains(kFabricPackages, source.name);
}

std::string file_of(const SeriesRow& series, const std::string& version) {
    std::string file(series.file);
    return file.replace(file.find("{v}"), 3, version);
}

/// Which packages hold the libraries that the programs of some folders ask for, one a line. Names
/// of run packages differ from release to release, so they are asked, not written.
struct OwnerRow {
    std::string_view manager;
    std::string_view command; ///< reads a library's path, `$1`
    std::string_view install; ///< reads names from standard input
};
constexpr OwnerRow kOwners[] = {
    {"apt",
     // merged /usr: a package may hold it under the other name
     "{ dpkg-query -S \"$1\" || dpkg-query -S \"/usr$1\"; } 2>/dev/null | sed -n '1s/[:,].*//p'",
     "apt-get update\nxargs -r apt-get install -y --no-install-recommends <{list}\napt-get "
     "clean\nrm -rf /var/lib/apt/lists/*\n"},
    {"dnf",
     "rpm -qf --qf '%{NAME}\\n' \"$1\"",
     "xargs -r dnf install -y --setopt=install_weak_deps=False --nodocs <{list}\ndnf clean all\nrm "
     "-rf /var/cache/dnf\n"},
    {"zypper",
     "rpm -qf --qf '%{NAME}\\n' \"$1\"",
     "xargs -r zypper --non-interactive install --no-recommends <{list}\nzypper clean --all\n"},
    {"apk", "apk info -q -W \"$1\"", "xargs -r apk add --no-cache <{list}\n"},
};

const OwnerRow* owner_of(const StageContext& stage) {
    for (const OwnerRow& row : kOwners) {
        if (stage.base.row != nullptr && row.manager == stage.base.row->manager) {
            return &row;
        }
    }
    return nullptr;
}

std::string list_of(const RecipeMpi& mpi) {
    return mpi_prefix(mpi) + "/share/cybelectl/run-packages";
}

/// A step of the stage that builds: writes the list of run packages beside the MPI.
Step list_step(const RecipeMpi& mpi, const std::string& folders, const OwnerRow& owner) {
    Step step;
    step.workdir = "/";
    step.run = "mkdir -p " + mpi_prefix(mpi) + "/share/cybelectl\n" + "owner() {\n    " +
               std::string(owner.command) + "\n}\n" + "find " + folders +
               " -type f \\( -name '*.so*' -o -path '*/bin/*' \\) -exec ldd {} + 2>/dev/null |\n" +
               "    awk '$2 == \"=>\" && $3 ~ /^\\// && $3 !~ /^\\/opt\\// { print $3 }' | sort -u "
               "|\n" +
               "    while read -r library; do\n        owner \"$library\"\n    done | sort -u >" +
               list_of(mpi) + "\n" + "test -s " + list_of(mpi) + "\n";
    return step;
}

/// A step of the stage that runs: installs that list, and tells the loader of the folders.
Step run_step(const RecipeMpi& mpi,
              const std::vector<std::string>& folders,
              const OwnerRow& owner) {
    Step step;
    step.workdir = "/";
    if (owner.manager == "apt") {
        step.run = "export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8\n";
    }
    std::string install(owner.install);
    install.replace(install.find("{list}"), 6, list_of(mpi));
    step.run += install;
    if (owner.manager != "apk") {
        step.run += "printf '%s\\n'";
        for (const auto& folder : folders) {
            step.run += " " + folder + "/lib";
        }
        step.run += " >/etc/ld.so.conf.d/cybelectl-mpi.conf\nldconfig\n";
    }
    return step;
}

/// Moves the marks of `list[i]`, i >= from, one up: an item is put in before them.
void shift_marks(Recipe& recipe, const std::string& list, std::size_t from) {
    std::map<std::string, yaml::Mark> moved;
    for (const auto& [field, mark] : recipe.marks) {
        std::string name = field;
        const std::string begin = list + "[";
        if (field.starts_with(begin)) {
            std::size_t index = 0;
            const char* const end = field.data() + field.size();
            const auto [rest, error] = std::from_chars(field.data() + begin.size(), end, index);
            if (error == std::errc() && index >= from) {
                name = begin + std::to_string(index + 1) + std::string(rest, end);
            }
        }
        moved.emplace(std::move(name), mark);
    }
    recipe.marks = std::move(moved);
}

class Lowering {
public:
    Lowering(const Recipe& recipe, Faults& faults) : result_(recipe), faults_(faults) {}

    Recipe run() {
        complete_version();
        const SeriesRow* series = find_series(result_.mpi.family, result_.mpi.version);
        if (series == nullptr) {
            refuse_version();
            return std::move(result_);
        }
        const std::size_t home = home_stage();
        if (!put_source(home, *series)) {
            return std::move(result_);
        }
        for (std::size_t i = home + 1; i <= result_.stages.size(); ++i) {
            if (has_this_mpi(i)) {
                copy_to(i);
            }
        }
        return std::move(result_);
    }

private:
    StageFields& fields_of(std::size_t index) {
        return index < result_.stages.size() ? static_cast<StageFields&>(result_.stages[index])
                                             : result_;
    }

    /// `4.1` is the newest release of that series whose sum is known.
    void complete_version() {
        for (const ReleaseRow& row : release_rows()) {
            const bool is_of_series =
                result_.mpi.version.empty() ||
                std::string(row.version).starts_with(result_.mpi.version + ".");
            if (row.family == result_.mpi.family && is_of_series &&
                find_release(result_.mpi.family, result_.mpi.version) == nullptr) {
                complete_ = row.version;
            }
        }
        if (!complete_.empty()) {
            result_.mpi.version = complete_;
        }
    }

    void refuse_version() {
        std::string known;
        for (const SeriesRow& row : series_rows()) {
            if (row.family == result_.mpi.family) {
                known += (known.empty() ? "" : ", ") + std::string(row.versions.first) +
                         (row.versions.first == row.versions.last
                              ? ""
                              : " to " + std::string(row.versions.last));
            }
        }
        if (result_.mpi.family.starts_with("mvapich")) {
            faults_.add(result_.fault_at(
                "mpi.from",
                problem("mvapich-not-built", "MVAPICH is not built from source any more"),
                "no network that needs it was available to test its builds",
                "write `family: mpich`, which has the same ABI, or `from: "
                "base` over an image that has MVAPICH"));
            return;
        }
        faults_.add(
            known.empty()
                ? result_.fault_at("mpi.from",
                                   problem("mpi-not-built",
                                           "'" + result_.mpi.family + "' is not built from source"),
                                   "it is published as programs alone",
                                   "write `from: base` over an image that has it")
                : result_.fault_at("mpi.version",
                                   problem("mpi-build-unknown",
                                           "how to build " + result_.mpi.family + " " +
                                               result_.mpi.version + " is not known"),
                                   "the table has " + known,
                                   "choose one of these"));
    }

    bool has_this_mpi(std::size_t index) {
        const StageContext own = stage_context(result_, index);
        const StageContext last = stage_context(result_, result_.stages.size());
        return own.base.row == last.base.row && own.base.agent == last.base.agent &&
               own.base.from == last.base.from &&
               mpi_of(result_, *own.fields).family == result_.mpi.family;
    }

    /// The stage that builds it: the first with the same base, or a new one behind the others.
    std::size_t home_stage() {
        for (std::size_t i = 0; i < result_.stages.size(); ++i) {
            if (has_this_mpi(i)) {
                return i;
            }
        }
        RecipeStage stage;
        stage.name = kMpiStage;
        stage.packages.needs = fabric_needs(result_.packages.needs);
        result_.stages.push_back(std::move(stage));
        return result_.stages.size() - 1;
    }

    /// Of the last stage's needs those that change how the MPI is built.
    static std::vector<std::string> fabric_needs(const std::vector<std::string>& needs) {
        std::vector<std::string> list;
        for (const auto& need : needs) {
            const auto rows = feature_rows();
            if (contains(rows, need, &FeatureRow::need)) {
                list.push_back(need);
            }
        }
        return list;
    }

    bool put_source(std::size_t home, const SeriesRow& series) {
        const bool is_own = result_.stages[home].name == kMpiStage;
        const std::string prefix = is_own ? "" : "stages[" + std::to_string(home) + "].";
        const std::string path = is_own ? "mpi" : prefix + "packages.needs";
        MpiBuild build = mpi_build(result_, stage_context(result_, home), path, faults_);
        result_.mpi.pmi = build.pmi;
        Packages& packages = result_.stages[home].packages;
        packages.needs.insert(packages.needs.end(), build.needs.begin(), build.needs.end());
        packages.system.insert(packages.system.end(), build.system.begin(), build.system.end());
        result_.packages.system.insert(
            result_.packages.system.end(), build.run.begin(), build.run.end());
        auto own = std::ranges::find(packages.source, result_.mpi.family, &SourcePackage::name);
        if (own == packages.source.end()) {
            SourcePackage source;
            if (!release(series, source)) {
                return false;
            }
            const auto last =
                std::find_if(packages.source.rbegin(), packages.source.rend(), is_fabric);
            const auto at = packages.source.rend() - last;
            shift_marks(result_, prefix + "packages.source", static_cast<std::size_t>(at));
            own = packages.source.insert(packages.source.begin() + at, std::move(source));
        }
        // the Recipe's own options come last: configure takes the last one
        own->options.insert(own->options.begin(), build.options.begin(), build.options.end());
        folders_ = {mpi_prefix(result_.mpi)};
        for (const auto& source : packages.source) {
            if (is_fabric(source)) {
                folders_.push_back("/opt/" + source.name);
            }
        }
        if (const OwnerRow* owner = owner_of(stage_context(result_, home))) {
            std::string all;
            for (const auto& folder : folders_) {
                all += (all.empty() ? "" : " ") + folder;
            }
            auto& steps = result_.stages[home].steps;
            steps.insert(steps.begin(), list_step(result_.mpi, all, *owner));
            shift_marks(result_, prefix + "steps", 0);
        }
        source_stage_ = result_.stages[home].name;
        return true;
    }

    /// The release's file below the address that the argument `sources` gives.
    bool release(const SeriesRow& series, SourcePackage& source) {
        const ReleaseRow* row = find_release(result_.mpi.family, result_.mpi.version);
        const std::string file = file_of(series, result_.mpi.version);
        const auto address = result_.args.find("sources");
        if (row == nullptr) {
            faults_.add(result_.fault_at(
                "mpi.version",
                problem("mpi-digest-unknown", "the SHA-256 of " + file + " is not known"),
                "what is downloaded must be known",
                "give it: `packages.source: [{name: " + result_.mpi.family +
                    ", url: …, sha256: …}]`"));
            return false;
        }
        if (address == result_.args.end() || address->second.empty()) {
            faults_.add(result_.fault_at(
                "mpi.from",
                problem("mpi-address-missing", "no address is given for " + file),
                "addresses are inputs, never part of the tables",
                "add `args: {sources: URL}` with the address of the folder that has it, or "
                "`packages.source: [{name: " +
                    result_.mpi.family + ", url: …, sha256: …}]`"));
            return false;
        }
        source.name = result_.mpi.family;
        source.url = address->second + (address->second.ends_with('/') ? "" : "/") + file;
        source.sha256 = row->sha256;
        return true;
    }

    void copy_to(std::size_t index) {
        StageFields& fields = fields_of(index);
        std::vector<FileCopy> copies;
        copies.reserve(folders_.size());
        for (const auto& folder : folders_) {
            copies.push_back({folder, folder, {}, source_stage_, {}});
        }
        const bool is_last = index == result_.stages.size();
        const std::string prefix = is_last ? "" : "stages[" + std::to_string(index) + "].";
        fields.files.insert(fields.files.begin(), copies.begin(), copies.end());
        for (std::size_t i = 0; i < copies.size(); ++i) {
            shift_marks(result_, prefix + "files", 0);
        }
        if (const OwnerRow* owner = owner_of(stage_context(result_, index))) {
            fields.steps.insert(fields.steps.begin(), run_step(result_.mpi, folders_, *owner));
            shift_marks(result_, prefix + "steps", 0);
        }
        std::vector<std::pair<std::string, EnvironmentValue>> environment;
        environment.emplace_back("PATH",
                                 EnvironmentValue{How::kPrepend, folders_.front() + "/bin"});
        const auto* row = stage_context(result_, index).base.row;
        if (row == nullptr || row->manager == "apk") {
            // no ld.so.conf there
            for (const auto& folder : folders_) {
                environment.emplace_back("LD_LIBRARY_PATH",
                                         EnvironmentValue{How::kPrepend, folder + "/lib"});
            }
        }
        fields.environment.insert(
            fields.environment.begin(), environment.begin(), environment.end());
    }

    Recipe result_;
    Faults& faults_;
    std::string complete_;
    std::string source_stage_;
    std::vector<std::string> folders_;
};

} // namespace

Recipe lower_mpi(const Recipe& recipe, Faults& faults) {
    if (recipe.mpi.family.empty() || recipe.mpi.from == "base") {
        return recipe;
    }
    if (recipe.mpi.from == "source") {
        return Lowering(recipe, faults).run();
    }
    Recipe result = recipe;
    for (std::size_t i = 0; i <= result.stages.size(); ++i) {
        StageFields& fields =
            i < result.stages.size() ? static_cast<StageFields&>(result.stages[i]) : result;
        const StageContext own = stage_context(recipe, i);
        const auto row = mpi_row_of(mpi_of(recipe, *own.fields), own.base.row);
        if (row && row->prefix != "/usr") {
            const std::string prefix(row->prefix);
            const std::string lib = own.base.row->manager == "zypper" ? "/lib64" : "/lib";
            const std::vector<std::pair<std::string, EnvironmentValue>> places{
                {"PATH", {How::kPrepend, prefix + "/bin"}},
                {"LD_LIBRARY_PATH", {How::kPrepend, prefix + lib}}};
            fields.environment.insert(fields.environment.begin(), places.begin(), places.end());
        }
    }
    return result;
}

} // namespace cybele::recipes
