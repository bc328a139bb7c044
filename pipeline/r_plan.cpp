// SPDX-License-Identifier: Apache-2.0
#include "pipeline/r_plan.hpp"

#include "pipeline/native_build.hpp"
#include "pipeline/package_lists.hpp"
#include "pipeline/python_packages.hpp"
#include "pipeline/r_imports.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/tables/r_packages.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRPatterns = "*.R *.r";
/// Files of R that start no program.
constexpr std::string_view kNoRProgram = "install.R setup.R test_* test-* test.R *_test.R";
constexpr std::string_view kUsualRPrograms[] = {"main.R", "run.R", "app.R", "analysis.R"};
/// The version of R in Debian 12.
constexpr std::string_view kDebianR = "4.2.2";

bool has_description(const SourceFolder& folder) {
    return folder.config.empty() && folder.has("DESCRIPTION");
}

/// `>= 1.4-5` as numbers between points, as conditions of pip are compared.
std::string with_points(std::string_view text) {
    std::string own(text);
    std::replace(own.begin(), own.end(), '-', '.');
    return own;
}

/// Puts packages of R into a Recipe, each once.
class RPackages {
public:
    RPackages(const SourceFolder& folder, recipes::Draft& draft, std::vector<std::string>& assumed)
        : draft_(draft), assumed_(assumed),
          installer_(folder.has(folder.config + "install.R") ? folder.config + "install.R" : "") {}

    /// `place`: "main.R:3", "DESCRIPTION".
    void add(const std::string& package, const std::string& condition, const std::string& place) {
        if (is_own_package(package) || !known_.insert(package).second) {
            return;
        }
        const auto row = recipes::find_r_package(package);
        const std::string asked = printable(place) + ": " + printable(package) +
                                  (condition.empty() ? "" : " (" + printable(condition) + ")");
        if (row && fulfils(with_points(row->version), with_points(condition))) {
            draft_.packages.system.emplace_back(row->package);
            assumed_.push_back(asked + ": Debian 12's " + std::string(row->package) + " " +
                               std::string(row->version));
            if (package == "Rmpi") {
                draft_.packages.system.emplace_back("libopenmpi-dev");
                assumed_.emplace_back("Rmpi: libopenmpi-dev in the image, since it opens "
                                      "libmpi.so");
            }
            return;
        }
        ++missing_;
        constexpr std::size_t kMostNamed = 40;
        if (missing_ > kMostNamed) {
            return;
        }
        const std::string because =
            row ? "Debian 12 has " + std::string(row->version) : "Debian 12 does not have it";
        assumed_.push_back(
            asked + ": " +
            (installer_.empty()
                 ? "not in the image, since " + because + ": write `install.packages(\"" +
                       printable(package) + "\")` into a file install.R, which becomes a step"
                 : because + "; if " + installer_ + " does not install it, add it there"));
    }

    [[nodiscard]] bool is_complete() const {
        return missing_ == 0;
    }

private:
    recipes::Draft& draft_;
    std::vector<std::string>& assumed_;
    std::string installer_;
    std::set<std::string> known_;
    std::size_t missing_ = 0;
};

/// The image of renv.lock as `recipe import` makes it; false: it cannot be used, which is named.
bool take_renv(const SourceFolder& folder,
               const std::string& folder_from,
               recipes::Draft& draft,
               std::vector<std::string>& assumed) {
    const auto refuse = [&](const std::string& because) {
        assumed.push_back("renv.lock is not used: " + because);
        return false;
    };
    if (!draft.mpi.family.empty()) {
        return refuse("its image is not one for which an MPI is known; packages are Debian's");
    }
    const auto recipe = imported_list(folder, "renv.lock", recipes::ImportKind::kRenvLock, assumed);
    if (!recipe) {
        return refuse(recipe.error().message() + "; see `cybelectl recipe import`");
    }
    recipes::set_base(draft, recipe->base.value_or(recipes::Base()).image);
    for (recipes::FileCopy file : recipe->files) {
        const fs::path from = fs::path(folder_from == "." ? "" : folder_from) / file.from;
        file.from = recipes::literal(from.native());
        draft.files.push_back(std::move(file));
    }
    for (const recipes::Step& step : recipe->steps) {
        recipes::DraftStep own;
        own.run = recipes::literal(step.run);
        own.comments = {"The packages of renv.lock, in the versions that it names."};
        draft.steps.push_back(std::move(own));
    }
    assumed.push_back("renv.lock: its packages are installed by renv on " + draft.image +
                      ", as `cybelectl recipe import renv.lock` does");
    return true;
}

/// What the folder's DESCRIPTION asks for; whether the folder is a package that can be installed.
bool take_description(const SourceFolder& folder,
                      RPackages& packages,
                      std::vector<std::string>& assumed,
                      std::string& own) {
    const RDescription description =
        read_description(read_source_text(folder, "DESCRIPTION").value_or(""));
    own = description.package;
    for (const auto& item : description.items) {
        if (item.package != "R") {
            packages.add(item.package, item.condition, "DESCRIPTION");
        } else if (!fulfils(kDebianR, item.condition)) {
            assumed.push_back("DESCRIPTION: R (" + printable(item.condition) +
                              ") is not met: Debian 12 has R " + std::string(kDebianR) +
                              "; write an image that has it as `base`");
        }
    }
    return !own.empty() && folder.has("NAMESPACE") &&
           std::ranges::any_of(folder.files,
                               [](const std::string& file) { return file.starts_with("R/"); });
}

} // namespace

bool has_r_program(const SourceFolder& folder, const FolderEvidence& evidence) {
    const bool asks_for_r =
        has_description(folder) || folder.has("renv.lock") || read_runtime(folder).name == "r";
    return evidence.has(EvidenceKind::kRScript) &&
           (!evidence.has(EvidenceKind::kScript) || asks_for_r) && !r_program(folder, {}).empty();
}

bool has_native_source(const SourceFolder& folder) {
    constexpr std::string_view kPatterns = "*.c *.cc *.cpp *.cxx *.C *.cu *.f *.f90 *.F *.F90";
    return std::ranges::any_of(folder.files, [&](const std::string& file) {
        return is_named_like(fs::path(file).filename().native(), kPatterns);
    });
}

std::string r_program(const SourceFolder& folder, const std::string& name) {
    std::vector<std::string> scripts;
    for (const std::string& file : folder.files) {
        const bool is_of_package =
            has_description(folder) && is_named_like(file, "R/* tests/* inst/* man/* data-raw/*");
        const std::string own = fs::path(file).filename().native();
        if (is_named_like(own, kRPatterns) && !is_named_like(own, kNoRProgram) && !is_of_package) {
            scripts.push_back(file);
        }
    }
    if (scripts.empty()) {
        return {};
    }
    const auto depth = [](const std::string& file) {
        return std::count(file.begin(), file.end(), '/');
    };
    std::stable_sort(scripts.begin(), scripts.end(), [&](const auto& left, const auto& right) {
        return depth(left) < depth(right);
    });
    const auto least = depth(scripts.front());
    std::vector<std::string> usual(std::begin(kUsualRPrograms), std::end(kUsualRPrograms));
    usual.push_back(name + ".R");
    for (const std::string& wanted : usual) {
        const auto found = std::ranges::find_if(scripts, [&](const auto& file) {
            return depth(file) == least &&
                   text::lowered(fs::path(file).filename().native()) == text::lowered(wanted);
        });
        if (found != scripts.end()) {
            return *found;
        }
    }
    return scripts.front();
}

ConfigUse plan_r_packages(const SourceFolder& folder,
                          const FolderEvidence& evidence,
                          const std::string& folder_from,
                          recipes::Draft& draft,
                          std::vector<std::string>& assumed) {
    ConfigUse use;
    use.is_r = true;
    if (folder.has("renv.lock") && take_renv(folder, folder_from, draft, assumed)) {
        use.has_debian = false;
        if (has_description(folder)) {
            assumed.emplace_back("DESCRIPTION is not used: renv.lock names the packages");
        }
        if (evidence.has(EvidenceKind::kRequirements, "requirements") ||
            evidence.has(EvidenceKind::kRequirements, "conda")) {
            assumed.emplace_back(
                "lists of Python packages are not used: the image of renv.lock has no Python");
        }
        return use;
    }
    draft.packages.system.emplace_back("r-base-core");
    RPackages packages(folder, draft, assumed);
    std::string own;
    const bool is_package =
        has_description(folder) && take_description(folder, packages, assumed, own);
    for (const RUse& one : foreign_packages(folder)) {
        if (one.package != own) {
            packages.add(one.package, {}, one.file + ":" + std::to_string(one.line));
        }
    }
    PythonPackages python(draft, assumed); // which repo2docker installs next to R, too
    take_python_lists(folder, evidence, FolderLanguage::kR, python, assumed);
    use.installs_own_r = is_package && (packages.is_complete() || folder.has("install.R"));
    if (is_package && !use.installs_own_r) {
        assumed.push_back("the package " + printable(own) +
                          " of this folder is not installed, since packages that it needs are not "
                          "in the image");
    }
    return use;
}

std::string plan_r_program(const SourceFolder& folder,
                           const std::string& folder_from,
                           recipes::Draft& draft,
                           std::vector<std::string>& assumed) {
    using How = recipes::EnvironmentValue::How;
    const std::string to = "/opt/" + draft.name;
    const auto copies = source_copies(folder, kRPatterns, folder_from, to, assumed);
    draft.files.insert(draft.files.end(), copies.begin(), copies.end());
    // R of the image, whatever a user has in the home directory or a project in its .Rprofile.
    draft.environment["LC_ALL"] = {How::kSet, "C.UTF-8"};
    draft.environment["R_ENVIRON_USER"] = {How::kSet, "/dev/null"};
    draft.environment["R_LIBS_USER"] = {How::kSet, "/nonexistent"};
    draft.environment["R_PROFILE_USER"] = {How::kSet, "/dev/null"};
    const std::string script = r_program(folder, draft.name);
    assumed.push_back("the program is " + printable(script) + ", as " +
                      printable(to + "/" + script));
    assumed.emplace_back("the program finds data, and files that it names with source(), in the "
                         "directory where the Job is submitted");
    return to + "/" + script;
}

} // namespace cybele::pipeline
