// SPDX-License-Identifier: Apache-2.0
#include "recipes/packages/packages.hpp"
#include "recipes/packages/repositories.hpp"
#include "recipes/stage/compilers.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

/// Packages that are not what their name makes one think.
struct TrapRow {
    std::string_view manager;
    std::string_view package;
    std::string_view because;
    std::string_view help;
};
constexpr TrapRow kTraps[] = {
    {"apt", "slurm", "there it is a network monitor", "write `needs: [slurm-client]`"},
    {"apk", "slurm", "there it is a network monitor", "install Slurm's client another way"},
};

/// "debian, ubuntu, rocky:8": the releases whose column a test accepts, whole distributions first.
template <class Accepts>
std::string releases_where(Accepts accepts) {
    std::string list;
    std::string_view before;
    for (const auto& row : distributions()) {
        if (!accepts(row)) {
            continue;
        }
        const bool is_whole = std::ranges::all_of(distributions(), [&](const auto& other) {
            return other.name() != row.name() || accepts(other);
        });
        const std::string_view word = is_whole ? row.name() : row.id;
        if (word != before) {
            list += (list.empty() ? "" : ", ") + std::string(word);
            before = word;
        }
    }
    return list;
}

class PackageCheck {
public:
    PackageCheck(const StageContext& context, Faults& faults)
        : context_(context), faults_(faults) {}

    void all(Checksums checksums) {
        if (context_.is_last || context_.fields->base) {
            base();
        }
        gpu();
        compilers();
        check_repositories(context_, faults_);
        needs();
        traps();
        installers();
        if (checksums == Checksums::kRequired) {
            pip();
        }
    }

private:
    void base() {
        const Base& own = base_of(*context_.recipe, *context_.fields);
        if (own.arch != "amd64") {
            tell(field("base"),
                 problem("arch-unsupported", "images for '" + own.arch + "' are not supported yet"),
                 "this version builds for the machine's own processors",
                 "write `arch: amd64`");
        }
        if (!own.image.empty()) {
            image(own.image);
        } else if (context_.base.row == nullptr) {
            std::vector<std::string_view> known;
            std::string list;
            for (const auto& row : distributions()) {
                known.push_back(row.id);
                list += (list.empty() ? "" : ", ") + std::string(row.id);
            }
            const std::string near = nearest_release(own.distribution, known);
            tell(field("base"),
                 problem("distribution-unknown",
                         "no distribution '" + printable(own.distribution) + "'"),
                 "known are " + list,
                 near.empty() ? "choose one of them, or name an image as `{image: …}`"
                              : "did you mean `" + near + "`?");
        }
    }

    static std::string nearest_release(const std::string& wanted,
                                       const std::vector<std::string_view>& known) {
        const std::string name = wanted.substr(0, wanted.find(':'));
        for (const auto& row : distributions()) {
            const bool is_suite = !row.suite.empty() && row.name() == name &&
                                  wanted == name + ":" + std::string(row.suite);
            if (is_suite || wanted.starts_with(std::string(row.id) + ".")) {
                return std::string(row.id);
            }
        }
        for (const auto& row : distributions()) { // `ubuntu:22`
            if (wanted.find(':') != std::string::npos && row.id.starts_with(wanted + ".")) {
                return std::string(row.id);
            }
        }
        for (auto row = distributions().rbegin(); row != distributions().rend(); ++row) {
            const bool is_moving = row->id == "debian:sid";
            if (!is_moving && (row->name() == name || row->image.ends_with(name))) {
                return std::string(row->id);
            }
        }
        return nearest(wanted, known);
    }

    void image(const std::string& image) {
        if (image.find_first_of("#\\{ ") != std::string::npos) {
            tell(field("base"),
                 problem("image-name-not-expressible",
                         "the image's name cannot be written into a definition file"),
                 "a header's value ends at `#`",
                 "rename the file");
        }
    }

    void gpu() {
        const StageFields& own = *context_.fields;
        const WantedGpu wanted = gpu_of(*context_.recipe, own);
        if (wanted.vendor.empty() || (wanted.field == "gpu" && !context_.is_last)) {
            return; // told at the top level, if anything is wrong
        }
        const std::string at = field("gpu");
        if (!base_of(*context_.recipe, own).image.empty()) {
            tell(at,
                 problem("gpu-with-image-base", "'gpu' and an image as base"),
                 "`gpu` chooses the image that has the tool kit",
                 "leave `gpu` out, or name a distribution as base");
            return;
        }
        if (context_.base.gpu != nullptr || context_.base.row == nullptr) {
            return;
        }
        std::string known;
        for (const auto& row : gpus()) {
            if (row.vendor == wanted.vendor && (context_.is_last || row.flavour == "devel")) {
                known += (known.empty() ? "" : "; ") + std::string(row.version) + " on " +
                         std::string(row.release);
            }
        }
        tell(at,
             problem("gpu-image-unknown",
                     "no image of " + wanted.vendor +
                         (wanted.version.empty() ? "" : " " + wanted.version) + " on " +
                         std::string(context_.base.row->id) + " is known"),
             "tags are not made up; seen are " + known,
             "choose one of them, or write `base: {image: docker://…@sha256:…}`");
    }

    void compilers() {
        const WantedCompilers wanted = compilers_of(context_);
        if (wanted.family.empty() || !context_.is_building()) {
            return;
        }
        const std::string at = wanted.is_own ? field("compilers") : "compilers";
        if (wanted.family != "gnu") {
            tell(at + ".family",
                 problem("compiler-unknown",
                         "no compilers '" + printable(wanted.family) + "' are known"),
                 "the tables know what `gnu` is called on each distribution",
                 "use `gnu`, or install them with `packages.system` and name them in `steps`");
            return;
        }
        const DistributionRow* row = context_.base.row;
        if (row == nullptr) {
            return;
        }
        const TargetRow* target = find_target(wanted.target);
        if (target == nullptr) {
            unknown_target(at, wanted.target);
        }
        if (!row->gcc.is_known()) {
            tell(at,
                 problem("gcc-unknown", "which GCC " + std::string(row->id) + " has is not known"),
                 "so neither version nor target can be promised",
                 "leave `compilers` out, or use another base");
            return;
        }
        if (!wanted.version.empty() && major_of(wanted.version) != major_of(row->gcc.text)) {
            tell(at + ".version",
                 problem("gcc-version",
                         std::string(row->id) + " has GCC " + std::string(row->gcc.text) +
                             ", not " + printable(wanted.version)),
                 "compilers come from the distribution",
                 base_with_gcc(wanted.version));
        }
        if (target != nullptr && major_of(row->gcc.text) < target->since) {
            tell(at + ".target",
                 problem("gcc-target",
                         "GCC " + std::string(row->gcc.text) + " of " + std::string(row->id) +
                             " does not know " + std::string(target->word)),
                 "GCC knows it from " + std::to_string(target->since) + " on",
                 "choose an older target or a newer base");
        }
    }

    static std::string base_with_gcc(const std::string& version) {
        for (const auto& row : distributions()) {
            if (row.gcc.is_known() && major_of(row.gcc.text) == major_of(version)) {
                return "`base: " + std::string(row.id) + "` has it";
            }
        }
        return "leave the version out";
    }

    void unknown_target(const std::string& at, const std::string& target) {
        std::vector<std::string_view> words;
        std::string list;
        for (const auto& row : targets()) {
            words.push_back(row.word);
            list += (list.empty() ? "" : ", ") + std::string(row.word);
        }
        const std::string near = nearest(target, words);
        tell(at + ".target",
             problem("target-unknown", "no target '" + printable(target) + "'"),
             target == "native" ? "an image that fits the builder alone runs nowhere else"
                                : "known are " + list,
             near.empty() ? "choose one of: " + list : "did you mean `" + near + "`?");
    }

    void needs() {
        const DistributionRow* row = context_.base.row;
        const Packages& packages = context_.fields->packages;
        const auto wanted = wanted_needs(context_);
        if (row == nullptr) {
            const bool is_image = !base_of(*context_.recipe, *context_.fields).image.empty();
            const bool has_system = !packages.system.empty() && packages.manager.empty();
            if (is_image && (has_system || !wanted.empty())) {
                const std::string at = has_system ? field("packages.system") : wanted.front().field;
                // What the build of an MPI needs is written nowhere else.
                tell(is_written(at)             ? at
                     : is_written(field("mpi")) ? field("mpi")
                                                : "mpi",
                     problem("package-manager-unknown",
                             "which package manager the image has is not known"),
                     "its name does not show its distribution",
                     has_system ? "name it: `packages: {manager: apt}`"
                                : "install the packages in `steps`, or name an image such as "
                                  "`docker://debian:12@sha256:…`");
            }
            return;
        }
        for (const auto& one : wanted) {
            const NeedCell* cell = find_need(row->column, one.need);
            if (cell != nullptr) {
                need(*row, one, *cell);
            }
        }
    }

    void need(const DistributionRow& row, const WantedNeed& wanted, const NeedCell& cell) {
        const std::string known = "known for " + releases_where([&](const DistributionRow& other) {
                                      const NeedCell* own = find_need(other.column, wanted.need);
                                      return own != nullptr && !own->packages.empty();
                                  });
        if (cell.mark == Mark::kUnknown) {
            tell(wanted.field,
                 problem("need-name-unknown",
                         "what '" + wanted.need + "' is called on " + std::string(row.id) +
                             " is not known"),
                 known + (cell.candidate.empty()
                              ? ""
                              : "; `" + std::string(cell.candidate) + "` would be a guess"),
                 "name the packages in `system`, or use another base");
        } else if (cell.is_absent()) {
            tell(wanted.field,
                 problem("need-not-available",
                         std::string(row.id) + " has no '" + wanted.need + "'"),
                 known,
                 "build it from `source`, or use another base");
        } else if (const auto* missing = missing_repository(row, cell)) {
            tell(wanted.field,
                 problem("need-repository-missing",
                         "'" + wanted.need + "' of " + std::string(row.id) + " is in '" +
                             std::string(*missing) + "'"),
                 "the base has only its main packages",
                 "build it from `source`, or use another base");
        }
    }

    static const std::string_view* missing_repository(const DistributionRow& row,
                                                      const NeedCell& cell) {
        const RepositoryRow* own = find_repository(row.column);
        for (const auto& name : cell.repositories) {
            if (own == nullptr || own->repositories.find(name) == std::string_view::npos) {
                return &name;
            }
        }
        return nullptr;
    }

    void traps() {
        const auto& system = context_.fields->packages.system;
        for (std::size_t i = 0; i < system.size() && context_.base.row != nullptr; ++i) {
            for (const auto& row : kTraps) {
                if (row.manager == context_.base.row->manager &&
                    row.package == std::string_view(system[i]).substr(0, system[i].find('='))) {
                    tell(field("packages.system") + "[" + std::to_string(i) + "]",
                         problem("package-misleading",
                                 "'" + std::string(row.package) + "' is not what it seems"),
                         std::string(row.because),
                         std::string(row.help));
                }
            }
        }
    }

    void installers() {
        const StageFields& own = *context_.fields;
        const std::string& image = base_of(*context_.recipe, own).image;
        const Packages& packages = own.packages;
        const bool has_mamba =
            has_source(own, "micromamba") || image.find("micromamba") != std::string::npos;
        if (!packages.conda_packages.empty() && !has_mamba) {
            tell(field("packages.conda"),
                 problem("conda-installer-missing", "what installs conda packages is missing"),
                 "its archive must be known by its SHA-256, as every other",
                 "add micromamba to `source`: {name: micromamba, url: …, sha256: …, build: script, "
                 "script: …}");
        }
        if (!packages.conda_packages.empty() && packages.conda_channels.empty()) {
            tell(field("packages.conda"),
                 problem("conda-channels-missing", "'channels' is missing"),
                 "a default channel differs from place to place",
                 "add `channels: [conda-forge]`");
        }
        if (!packages.spack.empty() && !has_source(own, "spack")) {
            tell(field("packages.spack"),
                 problem("spack-missing", "Spack itself is missing"),
                 "its commit decides what a spec means",
                 "add it to `source`: {name: spack, git: …, commit: …, build: script, script: "
                 "'cp -a . \"$PREFIX\"'}");
        }
    }

    void pip() {
        if (context_.lock != nullptr && context_.lock->packages.contains("pip")) {
            return;
        }
        const auto& lines = context_.fields->packages.pip;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (!has_hash(lines[i])) {
                tell(field("packages.pip") + "[" + std::to_string(i) + "]",
                     problem("requirement-without-checksum",
                             "'" + printable(lines[i]) + "' has no checksum"),
                     "what is downloaded must be known",
                     "run `cybelectl recipe lock " + shell_quote(context_.recipe->source.file()) +
                         "`, or add `--hash=sha256:…`");
            }
        }
    }

    /// Whether the Recipe has the field, or one around it.
    [[nodiscard]] bool is_written(const std::string& name) const {
        const auto& marks = context_.recipe->marks;
        for (auto end = name.size(); end != std::string::npos && end != 0;
             end = name.find_last_of(".[", end - 1)) {
            if (marks.contains(name.substr(0, end))) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] std::string field(const std::string& name) const {
        return context_.prefix + name;
    }

    void tell(const std::string& at, Problem problem, std::string because, std::string help) {
        faults_.add(
            context_.recipe->fault_at(at, std::move(problem), std::move(because), std::move(help)));
    }

    const StageContext& context_;
    Faults& faults_;
};

} // namespace

void check_packages(const StageContext& context, Checksums checksums, Faults& faults) {
    PackageCheck(context, faults).all(checksums);
}

} // namespace cybele::recipes
