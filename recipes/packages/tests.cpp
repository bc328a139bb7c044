// SPDX-License-Identifier: Apache-2.0
#include "recipes/packages/tests.hpp"

#include "recipes/forms/requirements.hpp"
#include "recipes/packages/packages.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <set>

namespace cybele::recipes {
namespace {

constexpr TestRow kTests[] = {
    {"cmake", "cmake --version"},
    {"curl", "curl --version"},
    {"gdal", "gdalinfo --version"},
    {"git", "git --version"},
    {"java-headless", "java -version"},
    {"make", "make --version"},
    {"mpi4py", "python3 -c 'import mpi4py'"},
    {"ninja", "ninja --version"},
    {"numpy-scipy", "python3 -c 'import numpy, scipy'"},
    {"perl", "perl -v"},
    {"python", "python3 --version"},
    {"python-gdal", "python3 -c 'import osgeo.gdal'"},
    {"python-pip", "python3 -m pip --version"},
    {"r", "R --version"},
    {"wget", "wget --version"},
};

constexpr ImportRow kImports[] = {
    {"absl-py", "absl"},
    {"antspyx", "ants"},
    {"attrs", "attr"},
    {"beautifulsoup4", "bs4"},
    {"biopython", "Bio"},
    {"crypto", "Crypto"},
    {"dm-haiku", "haiku"},
    {"dm-tree", "tree"},
    {"dnspython", "dns"},
    {"faiss-cpu", "faiss"},
    {"faiss-gpu", "faiss"},
    {"ffmpeg-python", "ffmpeg"},
    {"gdal", "osgeo.gdal"},
    {"gitpython", "git"},
    {"google-pasta", "pasta"},
    {"grpcio", "grpc"},
    {"htseq", "HTSeq"},
    {"imbalanced-learn", "imblearn"},
    {"ipython", "IPython"},
    {"levenshtein", "Levenshtein"},
    {"libclang", "clang"},
    {"macs2", "MACS2"},
    {"macs3", "MACS3"},
    {"markdown-it-py", "markdown_it"},
    {"mpltoolkits.basemap", "mpl_toolkits.basemap"},
    {"mysqlclient", "MySQLdb"},
    {"mysqldb", "MySQLdb"},
    {"netcdf4", "netCDF4"},
    {"onnxruntime-gpu", "onnxruntime"},
    {"opencv", "cv2"},
    {"opencv-contrib-python", "cv2"},
    {"opencv-contrib-python-headless", "cv2"},
    {"opencv-python", "cv2"},
    {"opencv-python-headless", "cv2"},
    {"opengl", "OpenGL"},
    {"openssl", "OpenSSL"},
    {"pil", "PIL"},
    {"pillow", "PIL"},
    {"protobuf", "google.protobuf"},
    {"psycopg2-binary", "psycopg2"},
    {"pycryptodome", "Crypto"},
    {"pyjwt", "jwt"},
    {"pymupdf", "fitz"},
    {"pyopengl", "OpenGL"},
    {"pyopenssl", "OpenSSL"},
    {"pyqt5", "PyQt5"},
    {"pyqt6", "PyQt6"},
    {"pyserial", "serial"},
    {"pyside6", "PySide6"},
    {"pyspark", "pyspark"},
    {"pytest-xdist", "xdist"},
    {"python-dateutil", "dateutil"},
    {"python-dotenv", "dotenv"},
    {"python-igraph", "igraph"},
    {"python-levenshtein", "Levenshtein"},
    {"python-magic", "magic"},
    {"pywavelets", "pywt"},
    {"pyyaml", "yaml"},
    {"pyzmq", "zmq"},
    {"ruamel-yaml", "ruamel.yaml"},
    {"scikit-bio", "skbio"},
    {"scikit-image", "skimage"},
    {"scikit-learn", "sklearn"},
    {"scikit-optimize", "skopt"},
    {"simpleitk", "SimpleITK"},
    {"sklearn", "sklearn"},
    {"software-properties", "softwareproperties"},
    {"tensorflow-cpu", "tensorflow"},
    {"tensorflow-gpu", "tensorflow"},
    {"tk", "tkinter"},
    {"umap-learn", "umap"},
    {"vtk9", "vtk"},
    {"wxpython", "wx"},
    {"xlib", "Xlib"},
    {"yaml", "yaml"},
};

/// Packages of the names below are libraries or programs, not modules.
constexpr std::string_view kNoModule[] = {
    "all", "dev", "distutils", "full", "gi-cairo", "minimal", "pip", "venv"};
/// The module of packages with such names is not known: `python3-pyqt5.qtsvg`, `-h5py-mpi`.
constexpr std::string_view kNoModuleEnds[] = {"-dbg", "-dev", "-doc", "-mpi", "-serial", "-whl"};

/// Packages of pip that bring libraries or types for other packages, and no module to import.
constexpr std::string_view kNoModuleStarts[] = {"nvidia-", "types-"};

bool has_module(std::string_view pip_package) {
    return std::ranges::none_of(
        kNoModuleStarts, [&](std::string_view start) { return pip_package.starts_with(start); });
}

std::string module_of(std::string_view package) {
    for (const auto& row : kImports) {
        if (row.package == package) {
            return std::string(row.module);
        }
    }
    std::string module(package);
    std::replace(module.begin(), module.end(), '-', '_');
    return module;
}

void add_unique(std::vector<std::string>& lines, std::string line) {
    if (!contains(lines, line)) {
        lines.push_back(std::move(line));
    }
}

bool has_debian_module(std::string_view rest) {
    const bool has_end = std::ranges::any_of(
        kNoModuleEnds, [&](std::string_view end) { return rest.ends_with(end); });
    return !has_end && !rest.starts_with("pyqt5.") && !rest.starts_with("pyside2.") &&
           !contains(kNoModule, rest);
}

/// `python3-X` of Debian's packages.
void add_debian_modules(const Packages& packages, std::vector<std::string>& lines) {
    constexpr std::string_view kPrefix = "python3-";
    for (const auto& package : packages.system) {
        const std::string_view name = std::string_view(package).substr(0, package.find('='));
        if (!name.starts_with(kPrefix)) {
            continue;
        }
        const std::string_view rest = name.substr(kPrefix.size());
        if (has_debian_module(rest)) {
            add_unique(lines, "python3 -c 'import " + module_of(rest) + "'");
        }
    }
}

} // namespace

std::span<const TestRow> test_rows() {
    return kTests;
}

std::span<const ImportRow> import_rows() {
    return kImports;
}

std::string test_lines(const StageContext& context) {
    const Packages& packages = context.fields->packages;
    std::vector<std::string> lines;
    for (const auto& need : packages.needs) {
        for (const auto& row : kTests) {
            if (row.need == need) {
                add_unique(lines, std::string(row.command));
            }
        }
    }
    if (context.base.row != nullptr && context.base.row->manager == "apt") {
        add_debian_modules(packages, lines);
    }
    if (!packages.pip.empty()) {
        add_unique(lines, "/opt/venv/bin/python3 -m pip check");
        for (const auto& line : packages.pip) {
            if (const std::string name = requirement_name(line); has_module(name)) {
                add_unique(lines, "/opt/venv/bin/python3 -c 'import " + module_of(name) + "'");
            }
        }
    }
    std::string text;
    for (const auto& line : lines) {
        text += line + " > /dev/null\n";
    }
    return text;
}

std::string help_lines(const StageContext& context, const MpiRow* mpi) {
    const Recipe& recipe = *context.recipe;
    std::string text = recipe.help.empty() ? "" : recipe.help + "\n";
    text += recipe.name + " " + recipe.version;
    if (context.base.row != nullptr) {
        text += ", " + std::string(context.base.row->id);
    }
    text += "\n";
    if (mpi != nullptr) {
        text += "MPI: " + std::string(mpi->family) + " " + std::string(mpi->version) + "\n";
    }
    if (context.base.gpu != nullptr) {
        text += "GPU: " + std::string(context.base.gpu->vendor) + " " +
                std::string(context.base.gpu->version) + "\n";
    }
    std::set<std::string> inside;
    for (const auto& source : recipe.packages.source) {
        inside.insert(source.name);
    }
    for (const auto& line : requirement_lines(context)) {
        inside.insert(line.substr(0, line.find(' ')));
    }
    for (const auto& spec : recipe.packages.conda_packages) {
        inside.insert(spec);
    }
    for (const auto& spec : recipe.packages.spack) {
        inside.insert(spec);
    }
    std::string list;
    for (const auto& name : inside) {
        list += (list.empty() ? "" : ", ") + name;
    }
    text += list.empty() ? "" : "with " + list + "\n";
    for (const auto& [name, app] : recipe.apps) {
        text += "app " + name + (app.help.empty() ? "" : ": " + app.help) + "\n";
    }
    return text + "made from /opt/cybelectl/recipe.yaml in this image\n";
}

} // namespace cybele::recipes
