// SPDX-License-Identifier: Apache-2.0
#include "pipeline/python_plan.hpp"

#include "pipeline/native_build.hpp"
#include "pipeline/python_imports.hpp"
#include "pipeline/python_packages.hpp"
#include "recipes/forms/requirements.hpp"
#include "recipes/forms/words.hpp"
#include "recipes/import/import.hpp"
#include "recipes/model/recipe.hpp"
#include "support/file.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

/// Files of Python that start no program.
constexpr std::string_view kNoProgram = "setup.py conftest.py noxfile.py test_* *_test.py";
constexpr std::string_view kUsualPrograms[] = {
    "main.py", "run.py", "app.py", "train.py", "__main__.py", "cli.py"};

/// A list of packages as `recipe import` reads it.
Result<recipes::Recipe>
imported_list(const SourceFolder& folder, const Evidence& list, recipes::ImportKind kind) {
    recipes::ImportRequest request;
    CYBELE_TRY(request.text, read_source_text(folder, list.file, std::size_t{1} << 20U));
    request.file = list.file;
    request.kind = kind;
    request.folder_name = "packages";
    request.read = [&folder](const fs::path& path) {
        return read_source_text(folder, path.native());
    };
    CYBELE_TRY(const recipes::Imported imported, recipes::import_recipe(request));
    return recipes::read_recipe(imported.text, "packages.yaml");
}

void take_requirements(const SourceFolder& folder,
                       const Evidence& list,
                       PythonPackages& packages,
                       std::vector<std::string>& assumed) {
    if (list.value == "pyproject") {
        for (const auto& line :
             pyproject_requirements(read_source_text(folder, list.file).value_or(""))) {
            packages.add(line, list.file);
        }
        return;
    }
    const auto recipe = imported_list(folder, list, recipes::ImportKind::kRequirements);
    if (!recipe) {
        assumed.push_back(printable(list.file) + " is not used: " + recipe.error().message() +
                          "; see `cybelectl recipe import`");
        return;
    }
    for (const std::string& line : recipe->packages.pip) {
        packages.add(line, list.file);
    }
}

/// An environment of conda: its packages by pip and Debian where they are known there, since conda
/// itself would have to be installed from an address that no file names.
void take_conda(const SourceFolder& folder,
                const Evidence& list,
                PythonPackages& packages,
                std::vector<std::string>& assumed) {
    const auto recipe = imported_list(folder, list, recipes::ImportKind::kConda);
    if (!recipe) {
        assumed.push_back(printable(list.file) + " is not used: " + recipe.error().message() +
                          "; see `cybelectl recipe import`");
        return;
    }
    for (const std::string& spec : recipe->packages.conda_packages) {
        const std::string name = spec.substr(0, spec.find_first_of(" =<>!"));
        std::string rest = spec.substr(name.size());
        if (name == "python" || name == "pip" || name == "openmpi" || name == "mpich") {
            assumed.push_back(printable(list.file) + ": " + printable(spec) + ": Debian 12's");
            continue;
        }
        if (rest.starts_with('=') && !rest.starts_with("==")) {
            rest = "=" + rest.substr(0, rest.find('=', 1)) + ".*";
        }
        packages.add(name + rest, list.file);
    }
    for (const std::string& line : recipe->packages.pip) {
        packages.add(line, list.file);
    }
    assumed.push_back(printable(list.file) +
                      ": packages of conda are installed from Debian and PyPI; "
                      "`cybelectl recipe import` keeps conda");
}

/// Imports that no table and no list of packages explains: the program would not find them.
void name_unknown_imports(const SourceFolder& folder,
                          const FolderEvidence& evidence,
                          const PythonPackages& packages,
                          std::vector<std::string>& assumed) {
    constexpr std::size_t kMostNamed = 40;
    std::size_t named = 0;
    for (const PythonImport& one : foreign_imports(folder)) {
        if (is_known_module(one.module) || packages.has(recipes::requirement_name(one.module)) ||
            ++named > kMostNamed) {
            continue;
        }
        assumed.push_back(printable(one.file) + ":" + std::to_string(one.line) + ": import " +
                          printable(one.module) + ": " +
                          (evidence.has(Lead::kRequirements)
                               ? "no listed package has this name; if none brings it, add its "
                                 "package to `packages.pip`"
                               : "not in the image, since its package is not known: add it to "
                                 "`packages.pip`"));
    }
}

bool has_main(const SourceFolder& folder, const std::string& file) {
    return read_source_text(folder, file).value_or("").find("__name__ ==") != std::string::npos;
}

/// Files that repo2docker reads, and what to do about those that are not read here.
struct ListedFile {
    std::string_view name;
    std::string_view instead;
};
constexpr ListedFile kListedFiles[] = {
    {"renv.lock", "make a Recipe of it with `cybelectl recipe import renv.lock`"},
    {"DESCRIPTION", "write the installation of the R package into `steps`"},
    {"Project.toml", "write the installation of Julia and its packages into `steps`"},
    {"Pipfile", "export its packages: `pipenv requirements > requirements.txt`"},
    {"start", "write its commands into `setup` of the Job"},
};

/// Files that repo2docker runs at the end of its build, in its order.
constexpr ListedFile kRunFiles[] = {
    {"install.R", "write its installations into `steps`"},
    {"postBuild", "write its commands into `steps`"},
};

/// The file with this name that repo2docker reads: the one in binder/ comes first.
std::string listed_file(const SourceFolder& folder, std::string_view name) {
    for (const std::string& file : {"binder/" + std::string(name), std::string(name)}) {
        if (std::find(folder.files.begin(), folder.files.end(), file) != folder.files.end()) {
            return file;
        }
    }
    return {};
}

/// install.R and postBuild as steps in a copy of the folder, which they may read any file of. The
/// sources of a compiled program are in a stage that the image does not have.
void plan_run_files(const SourceFolder& folder,
                    const std::string& folder_from,
                    recipes::Draft& draft,
                    std::vector<std::string>& assumed) {
    bool has_step = false;
    for (const ListedFile& row : kRunFiles) {
        const std::string file = listed_file(folder, row.name);
        if (file.empty()) {
            continue;
        }
        if (!draft.stages.empty()) {
            assumed.push_back(file + " is not used: " + std::string(row.instead));
            continue;
        }
        recipes::DraftStep step;
        step.workdir = "/opt/" + draft.name;
        step.comments = {"As repo2docker runs " + file + "."};
        if (row.name == "install.R") {
            draft.packages.system.insert(draft.packages.system.end(),
                                         {"r-base-core", "r-base-dev"});
            step.run = "Rscript " + file;
        } else {
            step.run = fmt::format("chmod +x {0} && ./{0}", file);
        }
        draft.steps.push_back(std::move(step));
        assumed.push_back(file + ": a step at the end of the build");
        has_step = true;
    }
    if (has_step) {
        recipes::FileCopy all;
        all.from = recipes::literal(folder_from);
        all.to = "/opt/" + draft.name;
        draft.files = {std::move(all)};
        assumed.emplace_back("the complete folder is copied into the image for these steps; list "
                             "what does not belong there in .dockerignore");
    }
}

/// `python-3.11` is what Debian 12 has.
void plan_runtime(const SourceFolder& folder, std::vector<std::string>& assumed) {
    const std::string file = listed_file(folder, "runtime.txt");
    if (file.empty()) {
        return;
    }
    const std::string version(text::trimmed(read_source_text(folder, file).value_or("")));
    assumed.push_back(
        version == "python-3.11"
            ? file + ": Python 3.11, which Debian 12 has"
            : file + " is not used: the image has Python 3.11 and R 4.2 of Debian 12; for another "
                     "version write the image that has it as `base`");
}

/// The packages of Debian that apt.txt names, without those that they recommend.
void take_apt(const SourceFolder& folder,
              const std::string& file,
              recipes::Draft& draft,
              std::vector<std::string>& assumed) {
    const std::string text = read_source_text(folder, file).value_or("");
    assumed.push_back(printable(file) + ": packages of Debian 12");
    for (const std::string_view line : text::split_terminated(text, '\n')) {
        const std::string name(text::trimmed(line.substr(0, line.find('#'))));
        constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789+-.=:~";
        auto& list = draft.packages.system;
        if (name.empty() || std::find(list.begin(), list.end(), name) != list.end()) {
            continue;
        }
        if (name.find_first_not_of(kCharacters) != std::string::npos || name.front() == '-') {
            assumed.push_back(printable(file) + ": '" + printable(name) +
                              "' is left out: it is not the name of a package");
            continue;
        }
        list.push_back(name);
    }
}

} // namespace

void plan_listed_files(const SourceFolder& folder,
                       const std::string& folder_from,
                       recipes::Draft& draft,
                       std::vector<std::string>& assumed) {
    for (const std::string& file : folder.files) {
        constexpr std::string_view kBinder = "binder/";
        const std::string_view name =
            std::string_view(file).substr(file.starts_with(kBinder) ? kBinder.size() : 0);
        if (name == "apt.txt") {
            take_apt(folder, file, draft, assumed);
        }
        for (const ListedFile& row : kListedFiles) {
            if (name == row.name) {
                assumed.push_back(printable(file) + " is not used: " + std::string(row.instead));
            }
        }
    }
    plan_runtime(folder, assumed);
    plan_run_files(folder, folder_from, draft, assumed);
}

void plan_python_packages(const SourceFolder& folder,
                          const FolderEvidence& evidence,
                          recipes::Draft& draft,
                          std::vector<std::string>& assumed) {
    PythonPackages packages(draft, assumed);
    const bool has_conda =
        std::any_of(evidence.all.begin(), evidence.all.end(), [](const Evidence& one) {
            return one.lead == Lead::kRequirements && one.value == "conda" &&
                   one.file.find('/') == std::string::npos;
        });
    for (const Evidence& one : evidence.all) {
        if (one.lead == Lead::kRequirements && one.value == "conda") {
            take_conda(folder, one, packages, assumed);
        } else if (one.lead == Lead::kRequirements && one.file.find('/') == std::string::npos) {
            if (has_conda) {
                assumed.push_back(printable(one.file) +
                                  " is not used: the environment of conda comes first, as in "
                                  "repo2docker");
                continue;
            }
            take_requirements(folder, one, packages, assumed);
        }
    }
    for (const Evidence& one : evidence.all) {
        if (one.lead == Lead::kPython) {
            packages.add_import(one.value, one.file);
        }
    }
    name_unknown_imports(folder, evidence, packages, assumed);
    if (packages.has("mpi4py")) {
        draft.mpi.family = "openmpi";
    }
    if (draft.packages.system.empty() && draft.packages.pip.empty()) {
        draft.packages.needs.emplace_back("python");
    }
}

std::string main_script(const SourceFolder& folder, const std::string& name) {
    std::vector<std::string> scripts;
    for (const std::string& file : folder.files) {
        const std::string own = fs::path(file).filename().native();
        if (own.ends_with(".py") && !is_named_like(own, kNoProgram) && own != "__init__.py") {
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
    scripts.erase(std::find_if(scripts.begin(),
                               scripts.end(),
                               [&](const auto& file) { return depth(file) > least; }),
                  scripts.end());
    const auto named = [&](std::string_view wanted) {
        return std::find_if(scripts.begin(), scripts.end(), [&](const std::string& file) {
            return fs::path(file).filename().native() == wanted;
        });
    };
    for (const std::string_view usual : kUsualPrograms) {
        if (const auto found = named(usual); found != scripts.end()) {
            return *found;
        }
    }
    if (const auto found = named(name + ".py"); found != scripts.end()) {
        return *found;
    }
    constexpr std::size_t kMostRead = 200;
    for (std::size_t i = 0; i < std::min(scripts.size(), kMostRead); ++i) {
        if (has_main(folder, scripts[i])) {
            return scripts[i];
        }
    }
    return scripts.front();
}

std::string plan_python_program(const SourceFolder& folder,
                                const std::string& folder_from,
                                recipes::Draft& draft,
                                std::vector<std::string>& assumed) {
    const std::string to = "/opt/" + draft.name;
    const auto copies = source_copies(folder, "*.py", folder_from, to, assumed);
    draft.files.insert(draft.files.end(), copies.begin(), copies.end());
    draft.environment["PYTHONNOUSERSITE"] = {recipes::EnvironmentValue::How::kSet, "1"};
    const bool has_source_folder =
        std::any_of(folder.files.begin(), folder.files.end(), [](const std::string& file) {
            return file.starts_with("src/") && file.ends_with("__init__.py");
        });
    if (has_source_folder) {
        draft.environment["PYTHONPATH"] = {recipes::EnvironmentValue::How::kPrepend, to + "/src"};
    }
    const std::string script = main_script(folder, draft.name);
    assumed.push_back("the program is " + printable(script) + ", as " +
                      printable(to + "/" + script));
    assumed.emplace_back(
        "files that are not Python are not in the image; the program finds them in "
        "the directory where the Job is submitted");
    return to + "/" + script;
}

} // namespace cybele::pipeline
