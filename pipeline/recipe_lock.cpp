// SPDX-License-Identifier: Apache-2.0
#include "pipeline/recipe_lock.hpp"

#include "builder/bases/image_base.hpp"
#include "builder/pack/builder.hpp"
#include "builder/request/mirror.hpp"
#include "builder/steps/step_log.hpp"
#include "pipeline/apt_lock.hpp"
#include "recipes/forms/requirements.hpp"
#include "recipes/mpi/mpi.hpp"
#include "recipes/packages/packages.hpp"
#include "support/file.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;
using recipes::LockedPackage;
using recipes::LockVariant;
using recipes::Recipe;
using recipes::StageContext;

/// Platforms that wheels for a glibc may carry, oldest last.
constexpr std::string_view kPlatforms[] = {"manylinux_2_28_x86_64",
                                           "manylinux_2_27_x86_64",
                                           "manylinux2014_x86_64",
                                           "manylinux_2_17_x86_64",
                                           "manylinux2010_x86_64",
                                           "manylinux1_x86_64",
                                           "linux_x86_64"};

class Locking {
public:
    Locking(const LockRequest& request, const Environment& environment)
        : request_(request), environment_(environment) {}

    Result<LockVariant> lock(const Recipe& asked) {
        Faults faults;
        const Recipe recipe = recipes::lower_mpi(asked, faults);
        if (faults.has_errors()) {
            return fail(faults.take());
        }
        LockVariant variant;
        variant.name = recipe.name;
        variant.arch = recipes::base_of(recipe, recipe).arch;
        const StageContext last = recipes::stage_context(recipe, recipe.stages.size());
        if (!recipes::base_of(recipe, recipe).image.empty()) {
            return lock_image(recipe, std::move(variant));
        }
        CYBELE_CHECK(check(recipe, last));
        CYBELE_CHECK(check_pip(recipe));
        variant.distribution = last.base.row->id;
        const std::string release(last.base.row->suite);
        CYBELE_TRY(const AptSuite* suite, suite_of(release, {}));
        variant.release = suite->release();
        variant.epoch = suite->epoch();
        for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
            const StageContext context = recipes::stage_context(recipe, i);
            if (!image_of(context).empty()) {
                CYBELE_CHECK(add_image(context, variant));
                continue;
            }
            const auto& further = context.fields->packages.repositories;
            CYBELE_TRY(const AptSuite* own, suite_of(release, further));
            auto& listed = variant.packages["repository"];
            listed.insert(listed.end(), own->repositories().begin(), own->repositories().end());
            auto resolved = own->resolve(recipes::system_packages(context));
            if (!resolved) {
                return fail(at_packages(context, resolved.error()));
            }
            std::vector<LockedPackage> packages = std::move(*resolved);
            auto& list = variant.packages["system"];
            std::move(packages.begin(), packages.end(), std::back_inserter(list));
            CYBELE_CHECK(add_others(context, variant));
        }
        return variant;
    }

    std::vector<Fault> notes;

private:
    /// Where the Recipe names the packages that do not exist; one that a generic name became has
    /// the place of its stage's packages.
    static Error at_packages(const StageContext& context, const Error& error) {
        const auto& named = context.fields->packages.system;
        Faults faults;
        for (Fault fault : error.faults()) {
            std::string field = context.prefix + "packages";
            for (std::size_t i = 0; i < named.size(); ++i) {
                const std::string name = named[i].substr(0, named[i].find('='));
                if (fault.id == kMissingPackageId && fault.subject == name) {
                    field += ".system[" + std::to_string(i) + "]";
                    break;
                }
            }
            if (fault.id == kMissingPackageId) {
                fault = context.recipe->fault_at(
                    field, problem(fault.id, fault.message), fault.because, fault.help);
            }
            faults.add(std::move(fault));
        }
        return faults.take();
    }

    static Result<void> check(const Recipe& recipe, const StageContext& last) {
        Faults faults;
        for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
            const StageContext context = recipes::stage_context(recipe, i);
            recipes::check_packages(context, recipes::Checksums::kOptional, faults);
            if (!image_of(context).empty()) {
                continue; // its digest is locked
            }
            if (context.base.agent != "debootstrap" || context.base.row != last.base.row) {
                faults.add(recipe.fault_at(
                    context.prefix + "base",
                    problem("lock-base-unsupported", "a Lock for this base is not supported yet"),
                    context.base.agent != "debootstrap"
                        ? "apt alone is asked here, and of Debian's releases"
                        : "all stages of a locked Recipe begin with the same release",
                    "use one Debian release as base, or build with --unlocked"));
            }
        }
        if (faults.has_errors()) {
            return fail(faults.take());
        }
        return {};
    }

    /// A base that is an image: its digest. Its package manager is in it, and cannot be asked.
    Result<LockVariant> lock_image(const Recipe& recipe, LockVariant variant) {
        Faults faults;
        variant.image = recipes::base_of(recipe, recipe).image;
        variant.epoch = static_cast<std::uint64_t>(request_.settings.time.now);
        const StageContext last = recipes::stage_context(recipe, recipe.stages.size());
        for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
            const StageContext context = recipes::stage_context(recipe, i);
            recipes::check_packages(context, recipes::Checksums::kOptional, faults);
            if (image_of(context).empty()) {
                faults.add(recipe.fault_at(
                    context.prefix + "base",
                    problem("lock-image-base", "a Lock for this base is not supported yet"),
                    "the last stage begins with an image, and packages of "
                    "a release are locked with the last stage's",
                    "begin the last stage with the release, too, or "
                    "build with --unlocked"));
            }
        }
        if (faults.has_errors()) {
            return fail(faults.take());
        }
        for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
            CYBELE_CHECK(add_image(recipes::stage_context(recipe, i), variant));
        }
        return variant;
    }

    static const std::string& image_of(const StageContext& context) {
        return recipes::base_of(*context.recipe, *context.fields).image;
    }

    /// The digest of the image that a stage begins with, and what pip installs there.
    Result<void> add_image(const StageContext& context, LockVariant& variant) {
        const std::string& image = image_of(context);
        std::error_code error;
        const fs::path file = context.recipe->folder / image;
        if (context.base.agent == "localimage" && fs::is_directory(file, error)) {
            const std::string shown = shell_quote(file.lexically_normal().native());
            return fail(context.recipe->fault_at(
                context.prefix + "base.image",
                problem("lock-base-is-folder",
                        "'" + printable(image) + "' is a folder, which no Lock can hold"),
                "a Lock has the digest of a file, and a folder changes unseen",
                "make an image of it, and name that: `cybelectl build " + shown + " -o " + shown +
                    ".sif`"));
        }
        if (variant.digest_of(image).empty()) {
            builder::BuildRequest asked;
            asked.bases = request_.settings.bases;
            asked.source.directory = request_.directory;
            asked.time.now = request_.settings.time.now;
            CYBELE_TRY(
                (image == variant.image ? variant.image_digest : variant.images[image]),
                builder::resolve_base(context.base.agent, context.base.from, asked, environment_));
        }
        not_here(context, "system", !recipes::system_packages(context).empty());
        not_here(
            context, "pip", context.base.row == nullptr && !context.fields->packages.pip.empty());
        return context.base.row == nullptr ? Result<void>() : add_others(context, variant);
    }

    Result<const AptSuite*> suite_of(const std::string& suite,
                                     const std::vector<recipes::Repository>& repositories) {
        std::string name = suite;
        for (const recipes::Repository& one : repositories) {
            name += fmt::format("\n{} {} {} {}",
                                one.url,
                                fmt::join(one.suites, " "),
                                fmt::join(one.components, ","),
                                one.key_text);
        }
        if (const auto found = suites_.find(name); found != suites_.end()) {
            return found->second.get();
        }
        std::string mirror = request_.settings.packages.mirror;
        if (mirror.empty()) {
            CYBELE_TRY(mirror, builder::machine_mirror());
        }
        CYBELE_TRY(AptSuite own, AptSuite::open(suite, mirror, environment_, repositories));
        return suites_.emplace(name, std::make_unique<AptSuite>(std::move(own)))
            .first->second.get();
    }

    Result<void> add_others(const StageContext& context, LockVariant& variant) {
        const auto& packages = context.fields->packages;
        for (const auto& source : packages.source) {
            if (!source.url.empty()) {
                variant.packages["source"].push_back(
                    {source.name, source.url, variant.arch, "sha256:" + source.sha256});
            }
        }
        not_here(context, "conda", !add_conda(packages.conda_packages, variant));
        not_here(context, "spack", !packages.spack.empty());
        if (packages.pip.empty()) {
            return {};
        }
        CYBELE_TRY(auto list, ask_pip(context));
        auto& own = variant.packages["pip"];
        std::move(list.begin(), list.end(), std::back_inserter(own));
        return {};
    }

    /// Packages that the Recipe gives with version, build and checksum; false where one lacks them.
    static bool add_conda(const std::vector<std::string>& lines, LockVariant& variant) {
        std::vector<LockedPackage> list;
        for (const auto& line : lines) {
            const recipes::CondaSpec spec = recipes::conda_spec(line);
            const auto version = spec.spec.find('=');
            const auto build =
                version == std::string::npos ? version : spec.spec.find('=', version + 1);
            if (spec.sha256.empty() || build == std::string::npos) {
                return false;
            }
            list.push_back({spec.spec.substr(0, version),
                            spec.spec.substr(version + 1, build - version - 1),
                            spec.spec.substr(build + 1),
                            "sha256:" + spec.sha256});
        }
        auto& own = variant.packages["conda"];
        std::move(list.begin(), list.end(), std::back_inserter(own));
        return true;
    }

    void not_here(const StageContext& context, const std::string& field, bool is_wanted) {
        if (!is_wanted) {
            return;
        }
        Fault note = context.recipe->fault_at(
            context.prefix + "packages." + field,
            problem("lock-packages-unsupported", "packages of " + field + " are not locked here"),
            "this machine cannot ask for their versions",
            "pin their versions in the Recipe");
        note.is_warning = true;
        notes.push_back(std::move(note));
    }

    Result<std::vector<LockedPackage>> ask_pip(const StageContext& context) {
        CYBELE_TRY(const TempDirectory folder,
                   TempDirectory::make(environment_.temporary_directory(), "cybelectl-pip."));
        std::string text;
        for (const auto& line : context.fields->packages.pip) {
            text += line + "\n";
        }
        CYBELE_CHECK(write_file(folder.path() / "list", text));
        Command command;
        const std::string report = (folder.path() / "report").native();
        const std::string_view version = context.base.row->python.text;
        command.argv = {"python3",
                        "-m",
                        "pip",
                        "install",
                        "--dry-run",
                        "--ignore-installed",
                        "--no-input",
                        "--quiet",
                        "--disable-pip-version-check",
                        "--only-binary=:all:",
                        "--target",
                        (folder.path() / "target").native(),
                        "--python-version",
                        std::string(version.substr(0, version.find('.', version.find('.') + 1))),
                        "--report",
                        report,
                        "-r",
                        (folder.path() / "list").native()};
        for (const auto platform : kPlatforms) {
            command.argv.insert(command.argv.end(), {"--platform", std::string(platform)});
        }
        if (!request_.settings.packages.pip_index.empty()) {
            command.argv.insert(command.argv.end(),
                                {"--index-url", request_.settings.packages.pip_index});
        }
        command.environment = environment_.all();
        command.input = "";
        CYBELE_TRY(const Outcome outcome, run_process(command));
        if (!outcome.ok()) {
            return fail(pip_fault(context, outcome.errors));
        }
        CYBELE_TRY(const std::string json, read_file(report));
        return read_report(context, json);
    }

    /// Before apt is asked, which may take minutes.
    Result<void> check_pip(const Recipe& recipe) {
        for (std::size_t i = 0; i <= recipe.stages.size(); ++i) {
            const StageContext context = recipes::stage_context(recipe, i);
            if (context.fields->packages.pip.empty()) {
                continue;
            }
            Command command;
            command.argv = {"python3", "-m", "pip", "--version"};
            command.environment = environment_.all();
            command.input = "";
            CYBELE_TRY(const Outcome outcome, run_process(command));
            return outcome.ok() ? Result<void>() : fail(pip_fault(context, outcome.errors));
        }
        return {};
    }

    static Fault pip_fault(const StageContext& context, const std::string& said) {
        const bool is_missing = said.find("No module named pip") != std::string::npos;
        const bool is_network = builder::is_network_fault(said);
        Fault fault = context.recipe->fault_at(
            context.prefix + "packages.pip",
            problem(is_network ? "packages-without-network" : "pip-failed",
                    is_missing ? "this machine has no pip, and pip determines the packages"
                               : "pip cannot determine the packages"),
            builder::output_because("pip said", builder::last_lines(said, 10)),
            is_missing ? "install it: `apt-get install python3-pip`"
                       : "check the requirement lines, the network and the machine's own pip");
        fault.code = ErrorCode::kEnvironment;
        return fault;
    }

    /// A package that comes from a folder, a repository of sources or an index without checksums.
    static Fault
    without_digest(const StageContext& context, const LockedPackage& package, bool is_archive) {
        const auto& lines = context.fields->packages.pip;
        const auto own = std::ranges::find_if(lines, [&](const std::string& line) {
            return recipes::requirement_name(line) == package.name;
        });
        const std::string index =
            own == lines.end() ? "" : fmt::format("[{}]", std::distance(lines.begin(), own));
        Fault fault = context.recipe->fault_at(
            context.prefix + "packages.pip" + index,
            problem("lock-without-checksum",
                    fmt::format("the Python package {} {}{} has no SHA-256 checksum",
                                printable(package.name),
                                printable(package.version),
                                index.empty() ? ", which this list requires," : "")),
            "a Lock has the checksum of each package's file, and pip reports none for " +
                (package.digest.empty() ? "this one" : printable(package.digest)),
            is_archive ? "use an index that states the checksums of its files"
                       : "use a release of an index, or install the package in a step");
        fault.code = ErrorCode::kInput;
        return fault;
    }

    static Result<std::vector<LockedPackage>> read_report(const StageContext& context,
                                                          const std::string& text) {
        const auto document = nlohmann::json::parse(text, nullptr, false);
        std::vector<LockedPackage> list;
        std::vector<Fault> faults;
        if (document.is_object() && document.contains("install")) {
            for (const auto& item : document["install"]) {
                const auto string = [&](const char* pointer) {
                    const nlohmann::json::json_pointer at(pointer);
                    return item.contains(at) && item[at].is_string() ? item[at].get<std::string>()
                                                                     : std::string{};
                };
                const std::string digest = string("/download_info/archive_info/hashes/sha256");
                LockedPackage package{recipes::requirement_name(string("/metadata/name")),
                                      string("/metadata/version"),
                                      "amd64",
                                      "sha256:" + digest};
                if (digest.empty()) {
                    package.digest = string("/download_info/url");
                    const nlohmann::json::json_pointer archive("/download_info/archive_info");
                    faults.push_back(without_digest(context, package, item.contains(archive)));
                } else {
                    list.push_back(std::move(package));
                }
            }
        }
        if (!list.empty() && !faults.empty()) {
            return fail(Error(std::move(faults)));
        }
        if (list.empty()) {
            return fail(ErrorCode::kEnvironment,
                        problem("pip-report-empty", "pip's report names no packages"),
                        "this pip is older than 23, or the index gives no digests",
                        "use a newer pip");
        }
        return list;
    }

    const LockRequest& request_;
    const Environment& environment_;
    std::map<std::string, std::unique_ptr<AptSuite>> suites_;
};

} // namespace

fs::path lock_path(const fs::path& recipe) {
    return recipe.parent_path() / (recipe.stem().native() + ".lock.yaml");
}

Result<MadeLock> make_lock(const std::vector<Recipe>& variants,
                           const LockRequest& request,
                           const Environment& environment) {
    Locking locking(request, environment);
    std::vector<LockVariant> list;
    MadeLock made;
    for (const auto& recipe : variants) {
        CYBELE_TRY(LockVariant variant, locking.lock(recipe));
        list.push_back(std::move(variant));
    }
    made.text = recipes::print_lock(variants.front(), list);
    for (const LockVariant& variant : list) {
        for (const auto& [kind, packages] : variant.packages) {
            std::set<std::string> lines;
            for (const LockedPackage& package : packages) {
                lines.insert(package.name + " " + package.version);
            }
            made.packages += lines.size();
        }
    }
    made.notes = std::move(locking.notes);
    return made;
}

Result<std::optional<LockVariant>> find_lock(const Recipe& recipe, const fs::path& file) {
    std::error_code error;
    const fs::path path = lock_path(file);
    if (!fs::exists(path, error)) {
        return std::optional<LockVariant>();
    }
    CYBELE_TRY(std::string text, read_file(path).map_error(during("reading the Lock")));
    CYBELE_TRY(const recipes::Lock lock,
               recipes::read_lock(std::move(text), path).map_error([&file](const Error& wrong) {
                   // A Lock is not written by hand, so the remedy is to make it again.
                   std::vector<Fault> faults = wrong.faults();
                   for (Fault& fault : faults) {
                       fault.help = "make the Lock again: `cybelectl recipe lock " +
                                    shell_quote(file.native()) + "`";
                   }
                   return Error(std::move(faults));
               }));
    auto variant = recipes::locked_variant(lock, recipe);
    if (!variant) {
        // An error of the Recipe is reported, too: with it no new Lock would be made.
        recipes::RenderOptions unlocked;
        unlocked.may_be_unverified = true;
        const auto rendered = recipes::render_definition(recipe, unlocked);
        std::vector<Fault> faults = rendered ? std::vector<Fault>() : rendered.error().faults();
        const auto& stale = variant.error().faults();
        faults.insert(faults.end(), stale.begin(), stale.end());
        return fail(Error(std::move(faults)));
    }
    return std::optional<LockVariant>(std::move(*variant));
}

} // namespace cybele::pipeline
