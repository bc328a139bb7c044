// SPDX-License-Identifier: Apache-2.0
#include "pipeline/evidence.hpp"

#include "pipeline/r_imports.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>

namespace cybele::pipeline {
namespace {

/// How a row's text is looked for in a line.
enum class Match {
    kName,    ///< the file's name is enough
    kCall,    ///< of CMake: `find_package MPI` is find_package(MPI …, in any case of letters
    kWord,    ///< as it stands, with no letter, digit, `-` or `_` on either side
    kStart,   ///< the line begins with it, after blanks
    kModule,  ///< `import X`, `import X.y`, `from X import`
    kPackage, ///< of R: `library(X)`, `X::y`
    kAnywhere ///< as it stands
};

struct EvidenceRow {
    std::string_view files; ///< patterns of the file's name
    Match match;
    std::string_view text;
    EvidenceKind kind;
    std::string_view value{};
};

constexpr std::string_view kCmakeFiles = "CMakeLists.txt";
constexpr std::string_view kMakeFiles = "Makefile makefile GNUmakefile";
constexpr std::string_view kNativeFiles = "*.c *.cc *.cpp *.cxx *.C *.h *.hpp *.hh *.cu";
constexpr std::string_view kFortranFiles = "*.f *.f90 *.F *.F90 *.f95 *.f03 *.f08";
constexpr std::string_view kPythonFiles = "*.py";
constexpr std::string_view kRFiles = "*.R *.r";
constexpr std::string_view kBatchFiles =
    "*.sh *.slurm *.sbatch *.pbs *.job *.qsub *.batch *.csh *.bash";

/// The table of evidence: pattern, finding, what it leads to.
constexpr EvidenceRow kEvidence[] = {
    {"*.def", Match::kStart, "Bootstrap:", EvidenceKind::kDefinition},
    {"*.def", Match::kStart, "bootstrap:", EvidenceKind::kDefinition},
    {"Singularity Singularity.*", Match::kName, "", EvidenceKind::kDefinition},
    {"Dockerfile Containerfile Dockerfile.* *.dockerfile",
     Match::kName,
     "",
     EvidenceKind::kDockerfile},
    {"requirements*.txt", Match::kName, "", EvidenceKind::kRequirements, "requirements"},
    {"pyproject.toml", Match::kName, "", EvidenceKind::kRequirements, "pyproject"},
    {"environment.yml environment.yaml", Match::kName, "", EvidenceKind::kRequirements, "conda"},
    {"Pipfile", Match::kName, "", EvidenceKind::kRequirements, "pipfile"},
    {"Pipfile.lock", Match::kName, "", EvidenceKind::kRequirements, "pipfile-lock"},
    {"setup.py", Match::kAnywhere, "install_requires", EvidenceKind::kRequirements, "setup.py"},
    {"setup.cfg", Match::kStart, "install_requires", EvidenceKind::kRequirements, "setup.cfg"},
    {"DESCRIPTION", Match::kStart, "Package:", EvidenceKind::kRequirements, "description"},
    {"renv.lock", Match::kName, "", EvidenceKind::kRequirements, "renv"},
    {kBatchFiles, Match::kStart, "#SBATCH", EvidenceKind::kBatch, "Slurm"},
    {kBatchFiles, Match::kStart, "#PBS", EvidenceKind::kBatch, "PBS"},

    {kCmakeFiles, Match::kCall, "project", EvidenceKind::kCmake},
    {kCmakeFiles, Match::kCall, "find_package MPI", EvidenceKind::kMpi},
    {kCmakeFiles, Match::kCall, "find_package OpenMP", EvidenceKind::kOpenmp},
    {kCmakeFiles, Match::kWord, "Fortran", EvidenceKind::kFortran},
    {kCmakeFiles, Match::kCall, "find_package Boost", EvidenceKind::kNeed, "boost"},
    {kCmakeFiles, Match::kCall, "find_package Eigen3", EvidenceKind::kNeed, "eigen"},
    {kCmakeFiles, Match::kCall, "find_package HDF5", EvidenceKind::kNeed, "hdf5"},
    {kCmakeFiles, Match::kCall, "find_package NetCDF", EvidenceKind::kNeed, "netcdf"},
    {kCmakeFiles, Match::kCall, "find_package GSL", EvidenceKind::kNeed, "gsl"},
    {kCmakeFiles, Match::kCall, "find_package FFTW", EvidenceKind::kNeed, "fftw"},
    {kCmakeFiles, Match::kCall, "find_package FFTW3", EvidenceKind::kNeed, "fftw"},
    {kCmakeFiles, Match::kCall, "find_package BLAS", EvidenceKind::kNeed, "openblas"},
    {kCmakeFiles, Match::kCall, "find_package LAPACK", EvidenceKind::kNeed, "openblas"},
    {kCmakeFiles, Match::kCall, "find_package TBB", EvidenceKind::kNeed, "tbb"},
    {kCmakeFiles, Match::kCall, "find_package ZLIB", EvidenceKind::kNeed, "zlib"},
    {kCmakeFiles, Match::kCall, "find_package OpenSSL", EvidenceKind::kNeed, "openssl"},
    {kCmakeFiles, Match::kCall, "find_package CURL", EvidenceKind::kNeed, "libcurl"},
    {kCmakeFiles, Match::kCall, "find_package LibXml2", EvidenceKind::kNeed, "libxml2"},
    {kCmakeFiles, Match::kCall, "find_package SQLite3", EvidenceKind::kNeed, "sqlite"},
    {kCmakeFiles, Match::kCall, "find_package GDAL", EvidenceKind::kNeed, "gdal"},
    {kCmakeFiles, Match::kCall, "find_package yaml-cpp", EvidenceKind::kNeed, "yaml-cpp"},
    {kCmakeFiles, Match::kCall, "find_package METIS", EvidenceKind::kNeed, "metis"},
    {kCmakeFiles, Match::kCall, "find_package PkgConfig", EvidenceKind::kNeed, "pkg-config"},

    {kMakeFiles, Match::kName, "", EvidenceKind::kMake},
    {kMakeFiles, Match::kWord, "mpicc", EvidenceKind::kMpi},
    {kMakeFiles, Match::kWord, "mpicxx", EvidenceKind::kMpi},
    {kMakeFiles, Match::kWord, "mpic++", EvidenceKind::kMpi},
    {kMakeFiles, Match::kWord, "mpif90", EvidenceKind::kMpi},
    {kMakeFiles, Match::kWord, "mpif77", EvidenceKind::kMpi},
    {kMakeFiles, Match::kWord, "mpifort", EvidenceKind::kMpi},
    {kMakeFiles, Match::kWord, "-fopenmp", EvidenceKind::kOpenmp},
    {kMakeFiles, Match::kWord, "gfortran", EvidenceKind::kFortran},
    {kMakeFiles, Match::kWord, "mpif90", EvidenceKind::kFortran},
    {kMakeFiles, Match::kWord, "mpifort", EvidenceKind::kFortran},
    {kMakeFiles, Match::kWord, "-lfftw3", EvidenceKind::kNeed, "fftw"},
    {kMakeFiles, Match::kWord, "-lhdf5", EvidenceKind::kNeed, "hdf5"},
    {kMakeFiles, Match::kWord, "-lnetcdf", EvidenceKind::kNeed, "netcdf"},
    {kMakeFiles, Match::kWord, "-lgsl", EvidenceKind::kNeed, "gsl"},
    {kMakeFiles, Match::kWord, "-lblas", EvidenceKind::kNeed, "openblas"},
    {kMakeFiles, Match::kWord, "-llapack", EvidenceKind::kNeed, "openblas"},
    {kMakeFiles, Match::kWord, "-lopenblas", EvidenceKind::kNeed, "openblas"},
    {kMakeFiles, Match::kWord, "-lz", EvidenceKind::kNeed, "zlib"},

    {kNativeFiles, Match::kAnywhere, "<mpi.h>", EvidenceKind::kMpi},
    {kNativeFiles, Match::kAnywhere, "\"mpi.h\"", EvidenceKind::kMpi},
    {kNativeFiles, Match::kAnywhere, "<fftw3.h>", EvidenceKind::kNeed, "fftw"},
    {kNativeFiles, Match::kAnywhere, "\"fftw3.h\"", EvidenceKind::kNeed, "fftw"},
    {kNativeFiles, Match::kAnywhere, "<fftw3-mpi.h>", EvidenceKind::kNeed, "fftw-mpi"},
    {kNativeFiles, Match::kAnywhere, "<gsl/gsl_", EvidenceKind::kNeed, "gsl"},
    {kNativeFiles, Match::kAnywhere, "<netcdf.h>", EvidenceKind::kNeed, "netcdf"},
    {kNativeFiles, Match::kAnywhere, "<cblas.h>", EvidenceKind::kNeed, "openblas"},
    {kNativeFiles, Match::kAnywhere, "<zlib.h>", EvidenceKind::kNeed, "zlib"},
    {kNativeFiles, Match::kStart, "#pragma omp", EvidenceKind::kOpenmp},
    {kNativeFiles, Match::kAnywhere, "<omp.h>", EvidenceKind::kOpenmp},
    {kFortranFiles, Match::kStart, "use mpi", EvidenceKind::kMpi},
    {kFortranFiles, Match::kAnywhere, "mpif.h", EvidenceKind::kMpi},
    {kFortranFiles, Match::kStart, "!$omp", EvidenceKind::kOpenmp},
    {kFortranFiles, Match::kName, "", EvidenceKind::kFortran},
    {"*.c", Match::kWord, "main(", EvidenceKind::kCompile, "c"},
    {"*.cc *.cpp *.cxx *.C", Match::kWord, "main(", EvidenceKind::kCompile, "c++"},
    {kFortranFiles, Match::kStart, "program ", EvidenceKind::kCompile, "fortran"},

    {kRFiles, Match::kName, "", EvidenceKind::kRScript},
    {kRFiles, Match::kPackage, "Rmpi", EvidenceKind::kMpi},
    {kRFiles, Match::kPackage, "pbdMPI", EvidenceKind::kMpi},
    {kPythonFiles, Match::kName, "", EvidenceKind::kScript},
    {kPythonFiles, Match::kModule, "mpi4py", EvidenceKind::kMpi},
    {kPythonFiles, Match::kModule, "torch", EvidenceKind::kTorch},
    {kPythonFiles, Match::kModule, "pyspark", EvidenceKind::kSpark},
    {kPythonFiles, Match::kModule, "PIL", EvidenceKind::kPython, "pillow"},
    {kPythonFiles, Match::kModule, "click", EvidenceKind::kPython, "click"},
    {kPythonFiles, Match::kModule, "dask", EvidenceKind::kPython, "dask"},
    {kPythonFiles, Match::kModule, "h5py", EvidenceKind::kPython, "h5py"},
    {kPythonFiles, Match::kModule, "jinja2", EvidenceKind::kPython, "jinja2"},
    {kPythonFiles, Match::kModule, "matplotlib", EvidenceKind::kPython, "matplotlib"},
    {kPythonFiles, Match::kModule, "mpi4py", EvidenceKind::kPython, "mpi4py"},
    {kPythonFiles, Match::kModule, "mpl_toolkits", EvidenceKind::kPython, "matplotlib"},
    {kPythonFiles, Match::kModule, "netCDF4", EvidenceKind::kPython, "netcdf4"},
    {kPythonFiles, Match::kModule, "networkx", EvidenceKind::kPython, "networkx"},
    {kPythonFiles, Match::kModule, "numba", EvidenceKind::kPython, "numba"},
    {kPythonFiles, Match::kModule, "numpy", EvidenceKind::kPython, "numpy"},
    {kPythonFiles, Match::kModule, "pandas", EvidenceKind::kPython, "pandas"},
    {kPythonFiles, Match::kModule, "psutil", EvidenceKind::kPython, "psutil"},
    {kPythonFiles, Match::kModule, "pyspark", EvidenceKind::kPython, "pyspark"},
    {kPythonFiles, Match::kModule, "requests", EvidenceKind::kPython, "requests"},
    {kPythonFiles, Match::kModule, "scipy", EvidenceKind::kPython, "scipy"},
    {kPythonFiles, Match::kModule, "sklearn", EvidenceKind::kPython, "scikit-learn"},
    {kPythonFiles, Match::kModule, "sympy", EvidenceKind::kPython, "sympy"},
    {kPythonFiles, Match::kModule, "tensorflow", EvidenceKind::kPython, "tensorflow"},
    {kPythonFiles, Match::kModule, "torch", EvidenceKind::kPython, "torch"},
    {kPythonFiles, Match::kModule, "tqdm", EvidenceKind::kPython, "tqdm"},
    {kPythonFiles, Match::kModule, "xarray", EvidenceKind::kPython, "xarray"},
    {kPythonFiles, Match::kModule, "yaml", EvidenceKind::kPython, "pyyaml"},
    {kPythonFiles, Match::kModule, "zarr", EvidenceKind::kPython, "zarr"},
};

/// What each kind becomes; `{}` is the value.
struct ConsequenceRow {
    EvidenceKind kind;
    std::string_view text;
};
constexpr ConsequenceRow kConsequences[] = {
    {EvidenceKind::kMpi, "uses MPI: `mpi: openmpi` in the Recipe, `launch: mpi` in the Job"},
    {EvidenceKind::kOpenmp, "uses OpenMP: its library in the image, several cores in the Job"},
    {EvidenceKind::kTorch, "uses PyTorch: `launch: torch` in the Job"},
    {EvidenceKind::kSpark, "uses Spark: Java in the image, `launch: spark` in the Job"},
    {EvidenceKind::kNeed, "`{}` in `packages.needs`"},
    {EvidenceKind::kFortran, "is Fortran: its compiler and run-time library"},
    {EvidenceKind::kPython, "the Python package {}"},
    {EvidenceKind::kCmake, "is compiled by CMake in a stage of its own"},
    {EvidenceKind::kMake, "is compiled by make in a stage of its own"},
    {EvidenceKind::kCompile, "is compiled as {}"},
    {EvidenceKind::kScript, "is a program in Python"},
    {EvidenceKind::kRScript, "is a program in R"},
    {EvidenceKind::kRequirements, "names packages"},
    {EvidenceKind::kDockerfile, "the Recipe is made from it"},
    {EvidenceKind::kDefinition, "the image is built from it"},
    {EvidenceKind::kBatch, "the Job is made from its {} directives"},
};

std::string_view without_indent(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

/// `find_package( MPI` for `find_package MPI`; CMake's commands have no case, packages have.
bool has_call(std::string_view line, std::string_view text) {
    const std::size_t blank = text.find(' ');
    const std::string_view command = text.substr(0, blank);
    line = without_indent(line);
    if (text::lowered(line.substr(0, command.size())) != command) {
        return false;
    }
    line = without_indent(line.substr(command.size()));
    if (!line.starts_with('(')) {
        return false;
    }
    if (blank == std::string_view::npos) {
        return true;
    }
    line = without_indent(line.substr(1));
    const std::string_view argument = text.substr(blank + 1);
    const std::size_t end = line.find_first_of(" \t)");
    return line.substr(0, end) == argument;
}

bool is_joined(char c) {
    return is_word_character(c) || c == '-';
}

bool has_word(std::string_view line, std::string_view text) {
    for (std::size_t at = line.find(text); at != std::string_view::npos;
         at = line.find(text, at + 1)) {
        const std::size_t end = at + text.size();
        const bool is_start = at == 0 || !is_joined(line[at - 1]);
        if (is_start && (end >= line.size() || text.ends_with('(') || !is_joined(line[end]))) {
            return true;
        }
    }
    return false;
}

bool has_module(std::string_view line, std::string_view module) {
    line = without_indent(line);
    for (const std::string_view start : {"import ", "from "}) {
        if (!line.starts_with(start)) {
            continue;
        }
        std::string_view rest = line.substr(start.size());
        rest = rest.substr(0, start == "from " ? rest.find(" import") : rest.find('#'));
        while (!rest.empty()) { // import a, b as c
            const std::string_view name = without_indent(rest.substr(0, rest.find(',')));
            if (name.substr(0, name.find_first_of(". ;\r")) == module) {
                return true;
            }
            rest.remove_prefix(std::min(rest.size(), rest.find(',')));
            rest.remove_prefix(rest.empty() ? 0 : 1);
        }
    }
    return false;
}

bool loads_package(std::string_view line, std::string_view package) {
    const auto uses = packages_loaded(line, {});
    return contains(uses, package, &RUse::package);
}

bool has_comment_only(std::string_view line) {
    line = without_indent(line);
    return line.starts_with("//") ||
           (line.starts_with('#') && !line.starts_with("#pragma") &&
            !line.starts_with("#include") && !line.starts_with("#SBATCH") &&
            !line.starts_with("#PBS") && !line.starts_with("# include"));
}

bool fits(const EvidenceRow& row, std::string_view line) {
    switch (row.match) {
    case Match::kName:
        return true;
    case Match::kCall:
        return has_call(line, row.text);
    case Match::kWord:
        return !has_comment_only(line) && has_word(line, row.text);
    case Match::kStart:
        return text::lowered(without_indent(line).substr(0, row.text.size())) ==
               text::lowered(row.text);
    case Match::kModule:
        return has_module(line, row.text);
    case Match::kPackage:
        return loads_package(line, row.text);
    case Match::kAnywhere:
        return !has_comment_only(line) && line.find(row.text) != std::string_view::npos;
    }
    return false;
}

/// What the user sees of a match.
std::string seen_text(const EvidenceRow& row) {
    const std::size_t blank = row.text.find(' ');
    if (row.match == Match::kCall) {
        return std::string(row.text.substr(0, blank)) + "(" +
               std::string(blank == std::string_view::npos ? "" : row.text.substr(blank + 1)) + ")";
    }
    if (row.match == Match::kModule) {
        return "import " + std::string(row.text);
    }
    if (row.match == Match::kPackage) {
        return "library(" + std::string(row.text) + ")";
    }
    return std::string(row.text.substr(0, row.text.find(':')));
}

class Collector {
public:
    explicit Collector(FolderEvidence& into) : into_(into) {}

    void look(const SourceFolder& folder, const std::string& file) {
        const std::string name = std::filesystem::path(file).filename().native();
        std::vector<const EvidenceRow*> rows;
        for (const EvidenceRow& row : kEvidence) {
            if (is_named_like(name, row.files)) {
                rows.push_back(&row);
            }
        }
        if (rows.empty()) {
            return;
        }
        constexpr std::size_t kMostBytes = std::size_t{128} << 20U;
        const auto text = read_ > kMostBytes
                              ? Result<std::string>(fail(
                                    ErrorCode::kInput,
                                    problem("folder-file-skipped", printable(file) + ": not read"),
                                    "the files before it are more than 128 MiB"))
                              : read_source_text(folder, file);
        if (!text) {
            note(text.error());
            return;
        }
        read_ += text->size();
        for (const EvidenceRow* row : rows) {
            look(*row, file, *text);
        }
    }

private:
    void look(const EvidenceRow& row, const std::string& file, std::string_view text) {
        if (row.match == Match::kName) {
            add(row, file, 0);
            return;
        }
        for (std::size_t line = 1; !text.empty(); ++line) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            if (fits(row, text.substr(0, end))) {
                add(row, file, line);
                return;
            }
            text.remove_prefix(std::min(end + 1, text.size()));
        }
    }

    void add(const EvidenceRow& row, const std::string& file, std::size_t line) {
        for (Evidence& known : into_.all) {
            const bool is_same = known.kind == row.kind && known.value == row.value;
            const bool is_of_file =
                row.kind == EvidenceKind::kBatch || row.kind == EvidenceKind::kRequirements ||
                row.kind == EvidenceKind::kDockerfile || row.kind == EvidenceKind::kDefinition;
            if (is_same && (known.file == file || !is_of_file)) {
                known.more += known.file == file ? 0U : 1U;
                return;
            }
        }
        into_.all.push_back({file, line, seen_text(row), row.kind, std::string(row.value), 0});
    }

    void note(const Error& error) {
        constexpr std::size_t kMostNotes = 40;
        if (into_.skipped.size() < kMostNotes) {
            into_.skipped.push_back(error.message() + ", " + error.faults().front().because);
        }
    }

    FolderEvidence& into_;
    std::size_t read_ = 0;
};

/// What a build file compiles is not compiled alone.
void drop_compiled_alone(FolderEvidence& evidence) {
    if (evidence.has(EvidenceKind::kCmake) || evidence.has(EvidenceKind::kMake)) {
        auto& all = evidence.all;
        all.erase(
            std::remove_if(all.begin(),
                           all.end(),
                           [](const Evidence& one) { return one.kind == EvidenceKind::kCompile; }),
            all.end());
    }
}

} // namespace

const Evidence* FolderEvidence::first(EvidenceKind kind) const {
    return find_row(all, kind, &Evidence::kind);
}

bool FolderEvidence::has(EvidenceKind kind, std::string_view value) const {
    return std::ranges::any_of(
        all, [&](const Evidence& one) { return one.kind == kind && one.value == value; });
}

bool is_named_like(std::string_view name, std::string_view patterns) {
    for (const std::string_view pattern : text::split_terminated(patterns, ' ')) {
        const bool is_end = pattern.starts_with('*');
        const bool is_start = pattern.ends_with('*');
        const std::size_t star = pattern.find('*');
        const bool fits = star == std::string_view::npos ? name == pattern
                          : is_end                       ? name.ends_with(pattern.substr(1))
                          : is_start                     ? name.starts_with(pattern.substr(0, star))
                                                         : name.size() + 1 >= pattern.size() &&
                                           name.starts_with(pattern.substr(0, star)) &&
                                           name.ends_with(pattern.substr(star + 1));
        if (fits) {
            return true;
        }
    }
    return false;
}

bool is_known_module(std::string_view module) {
    return std::ranges::any_of(kEvidence, [&](const EvidenceRow& row) {
        return row.match == Match::kModule && row.text == module;
    });
}

FolderEvidence find_evidence(const SourceFolder& folder) {
    FolderEvidence evidence;
    evidence.skipped = folder.skipped;
    Collector collector(evidence);
    // Files of the folder itself come first: a subfolder may hold another program's.
    for (const bool is_top : {true, false}) {
        for (const std::string& file : folder.files) {
            if ((file.find('/') == std::string::npos) == is_top) {
                collector.look(folder, file);
            }
        }
    }
    drop_compiled_alone(evidence);
    return evidence;
}

std::string consequence_of(const Evidence& evidence) {
    const auto* const row = std::ranges::find(kConsequences, evidence.kind, &ConsequenceRow::kind);
    std::string text(row->text);
    if (const std::size_t at = text.find("{}"); at != std::string::npos) {
        text.replace(at, 2, evidence.value);
    }
    return text;
}

} // namespace cybele::pipeline
