// SPDX-License-Identifier: Apache-2.0
#include "pipeline/python_plan.hpp"

#include "pipeline/native_build.hpp"
#include "pipeline/package_lists.hpp"
#include "pipeline/python_imports.hpp"
#include "pipeline/python_packages.hpp"
#include "recipes/forms/requirements.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <filesystem>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

/// Files of Python that start no program.
constexpr std::string_view kNoProgram = "setup.py conftest.py noxfile.py test_* *_test.py";
constexpr std::string_view kUsualPrograms[] = {
    "main.py", "run.py", "app.py", "train.py", "__main__.py", "cli.py"};

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
                          (evidence.has(EvidenceKind::kRequirements)
                               ? "no listed package has this name; if none brings it, add its "
                                 "package to `packages.pip`"
                               : "not in the image, since its package is not known: add it to "
                                 "`packages.pip`"));
    }
}

bool has_main(const SourceFolder& folder, const std::string& file) {
    return read_source_text(folder, file).value_or("").find("__name__ ==") != std::string::npos;
}

} // namespace

void plan_python_packages(const SourceFolder& folder,
                          const FolderEvidence& evidence,
                          recipes::Draft& draft,
                          std::vector<std::string>& assumed) {
    PythonPackages packages(draft, assumed);
    take_python_lists(folder, evidence, FolderLanguage::kPython, packages, assumed);
    for (const Evidence& one : evidence.all) {
        if (one.kind == EvidenceKind::kPython) {
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
    scripts.erase(
        std::ranges::find_if(scripts, [&](const auto& file) { return depth(file) > least; }),
        scripts.end());
    const auto named = [&](std::string_view wanted) {
        return std::ranges::find_if(scripts, [&](const std::string& file) {
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
    const bool has_source_folder = std::ranges::any_of(folder.files, [](const std::string& file) {
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
