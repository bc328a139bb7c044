// SPDX-License-Identifier: Apache-2.0
#include "pipeline/package_lists.hpp"

#include "pipeline/config_files.hpp"
#include "pipeline/setup_files.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <filesystem>
#include <optional>

namespace cybele::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLock = std::size_t{16} << 20U;

/// Takes the lists that count, and names the others.
class PythonLists {
public:
    PythonLists(const SourceFolder& folder,
                PythonPackages& packages,
                std::vector<std::string>& assumed)
        : folder_(folder), packages_(packages), assumed_(assumed) {}

    void take(const FolderEvidence& evidence, FolderLanguage language) {
        const bool is_r = language == FolderLanguage::kR;
        for (const Evidence& one : evidence.all) {
            if (one.kind == EvidenceKind::kRequirements && one.value != "description" &&
                one.value != "renv") {
                sort_in(one);
            }
        }
        const std::string runtime = read_runtime(folder_).name;
        const bool has_python = !is_r && (runtime.empty() || runtime == "python");
        if (const std::string conda = first_of({"environment.yml", "environment.yaml"});
            !conda.empty()) {
            use(conda);
            take_conda(conda);
            if (is_r) {
                requirements();
            }
            refuse_others("the environment of conda comes first, as in repo2docker");
        } else if (const std::string pipfile = first_of({"Pipfile", "Pipfile.lock"});
                   has_python && !pipfile.empty()) {
            use(folder_.config + "Pipfile");
            use(folder_.config + "Pipfile.lock");
            take_lines(pipfile,
                       pipfile.ends_with(".lock") ? recipes::ImportKind::kPipfileLock
                                                  : recipes::ImportKind::kPipfile);
            refuse_others("Pipfile comes first, as in repo2docker");
        } else {
            requirements();
            project();
            refuse_others(has_python ? "requirements.txt counts, as in repo2docker"
                                     : "repo2docker does not read it for R");
        }
    }

private:
    /// Lists of subfolders do not count.
    void sort_in(const Evidence& one) {
        const fs::path path(one.file);
        if (path.filename() == "requirements3.txt") {
            return; // of Python 2, and named with the other files that are not used
        }
        if (folder_.config + path.filename().native() == one.file) {
            here_.push_back(one.file);
            return;
        }
        constexpr std::size_t kMostNamed = 10;
        const bool is_top = !path.has_parent_path(); // named by the files that hide it
        if (!is_top && ++elsewhere_ <= kMostNamed) {
            assumed_.push_back(
                printable(one.file) + " is not used: only the lists " +
                (folder_.config.empty() ? "at the top of the folder" : "in " + folder_.config) +
                " count, as in repo2docker");
        }
    }

    [[nodiscard]] std::string first_of(std::initializer_list<std::string_view> names) const {
        for (const std::string_view name : names) {
            std::string file = folder_.config + std::string(name);
            if (contains(here_, file)) {
                return file;
            }
        }
        return {};
    }

    void use(const std::string& file) {
        std::erase(here_, file);
    }

    void refuse_others(const std::string& because) {
        for (const std::string& file : here_) {
            assumed_.push_back(printable(file) + " is not used: " + because);
        }
        here_.clear();
    }

    /// requirements.txt, else the lists with longer names (requirements-dev.txt).
    void requirements() {
        const std::string file = first_of({"requirements.txt"});
        if (!file.empty()) {
            use(file);
            take_lines(file, recipes::ImportKind::kRequirements);
            return;
        }
        if (!first_of({"pyproject.toml", "setup.py", "setup.cfg"}).empty()) {
            return;
        }
        const std::vector<std::string> files = here_;
        for (const std::string& own : files) {
            if (own.ends_with(".txt")) {
                use(own);
                take_lines(own, recipes::ImportKind::kRequirements);
            }
        }
    }

    /// What the folder's own package asks for; of several files setuptools prefers the first.
    void project() {
        bool is_known = false;
        for (const char* file : {"pyproject.toml", "setup.py", "setup.cfg"}) {
            if (first_of({file}).empty()) {
                continue;
            }
            use(file);
            if (is_known) {
                assumed_.push_back(std::string(file) +
                                   " is not used: another file names the same packages");
                continue;
            }
            const std::string_view name = file;
            if (name == "pyproject.toml" &&
                (folder_.has("uv.lock") || folder_.has("poetry.lock"))) {
                is_known = true;
                take_lines(file, recipes::ImportKind::kPyproject);
                continue;
            }
            const std::string text = read_source_text(folder_, file).value_or("");
            if (text.find("[tool.poetry.dependencies]") != std::string::npos) {
                assumed_.emplace_back("pyproject.toml: packages of `[tool.poetry]` are used from "
                                      "their lock alone: run `poetry lock`");
            }
            const auto lines = name == "setup.py"    ? setup_py_requirements(text)
                               : name == "setup.cfg" ? setup_cfg_requirements(text)
                                                     : std::optional(pyproject_requirements(text));
            if (!lines) {
                assumed_.push_back(std::string(file) +
                                   " is not used: its `install_requires` is not a list of texts; "
                                   "write the packages into requirements.txt");
                continue;
            }
            is_known = !lines->empty();
            if (is_known && name != "pyproject.toml") {
                assumed_.push_back(std::string(file) +
                                   ": the package of this folder is not installed; its modules "
                                   "are next to the program");
            }
            for (const std::string& line : *lines) {
                packages_.add(line, file);
            }
        }
    }

    void take_lines(const std::string& file, recipes::ImportKind kind) {
        const auto recipe = imported_list(folder_, file, kind, assumed_);
        if (!recipe) {
            refuse(file, recipe.error());
            return;
        }
        for (const std::string& line : recipe->packages.pip) {
            packages_.add(line, file);
        }
    }

    /// An environment of conda: its packages by pip and Debian where they are known there, since
    /// conda itself would have to be installed from an address that no file names.
    void take_conda(const std::string& file) {
        const auto recipe = imported_list(folder_, file, recipes::ImportKind::kConda, assumed_);
        if (!recipe) {
            refuse(file, recipe.error());
            return;
        }
        for (const std::string& spec : recipe->packages.conda_packages) {
            const std::string name = spec.substr(0, spec.find_first_of(" =<>!"));
            std::string rest = spec.substr(name.size());
            if (name == "python" || name == "pip" || name == "openmpi" || name == "mpich") {
                assumed_.push_back(printable(file) + ": " + printable(spec) + ": Debian 12's");
                continue;
            }
            if (rest.starts_with('=') && !rest.starts_with("==")) {
                rest = "=" + rest.substr(0, rest.find('=', 1)) + ".*";
            }
            if (name.starts_with("r-") || name.starts_with("bioconductor-")) {
                packages_.add_r(name, rest, file);
                continue;
            }
            packages_.add(name + rest, file);
        }
        for (const std::string& line : recipe->packages.pip) {
            packages_.add(line, file);
        }
        assumed_.push_back(printable(file) +
                           ": packages of conda are installed from Debian and PyPI; "
                           "`cybelectl recipe import` keeps conda");
    }

    void refuse(const std::string& file, const Error& error) {
        assumed_.push_back(printable(file) + " is not used: " + error.message() +
                           "; see `cybelectl recipe import`");
    }

    const SourceFolder& folder_;
    PythonPackages& packages_;
    std::vector<std::string>& assumed_;
    std::vector<std::string> here_; ///< lists of the folder that counts, not decided yet
    std::size_t elsewhere_ = 0;
};

} // namespace

Result<recipes::Recipe> imported_list(const SourceFolder& folder,
                                      const std::string& file,
                                      recipes::ImportKind kind,
                                      std::vector<std::string>& assumed) {
    const auto read = [&folder](const fs::path& path) {
        const bool is_lock = path.extension() == ".lock";
        return read_source_text(
            folder, path.native(), is_lock ? kLongestLock : std::size_t{1} << 20U);
    };
    recipes::ImportRequest request;
    CYBELE_TRY(request.text, read(file));
    request.file = file;
    request.kind = kind;
    request.folder_name = "packages";
    request.read = read;
    request.look = [&folder](const fs::path& path) {
        return folder.has(path.native()) ? recipes::PathKind::kFile : recipes::PathKind::kUnknown;
    };
    CYBELE_TRY(const recipes::Imported imported, recipes::import_recipe(request));
    constexpr std::size_t kMostNotes = 20;
    std::size_t count = 0;
    // What else these say is of an index that only a build can name.
    const bool names_indexes = kind == recipes::ImportKind::kPyproject ||
                               kind == recipes::ImportKind::kPipfile ||
                               kind == recipes::ImportKind::kPipfileLock;
    for (const Fault& note : imported.notes) {
        if ((note.id == recipes::kNotCarried || names_indexes) && ++count <= kMostNotes) {
            assumed.push_back(printable(note.where ? note.where->file : file) + ": " +
                              note.message + (note.because.empty() ? "" : ": " + note.because));
        }
    }
    return recipes::read_recipe(imported.text, "packages.yaml");
}

void take_python_lists(const SourceFolder& folder,
                       const FolderEvidence& evidence,
                       FolderLanguage language,
                       PythonPackages& packages,
                       std::vector<std::string>& assumed) {
    PythonLists(folder, packages, assumed).take(evidence, language);
}

} // namespace cybele::pipeline
