// SPDX-License-Identifier: Apache-2.0
#include "pipeline/evidence.hpp"

#include "pipeline/r_imports.hpp"
#include "support/find.hpp"
#include "support/name.hpp"
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
    Lead lead;
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
    {"*.def", Match::kStart, "Bootstrap:", Lead::kDefinition},
    {"*.def", Match::kStart, "bootstrap:", Lead::kDefinition},
    {"Singularity Singularity.*", Match::kName, "", Lead::kDefinition},
    {"Dockerfile Containerfile Dockerfile.* *.dockerfile", Match::kName, "", Lead::kDockerfile},
    {"requirements*.txt", Match::kName, "", Lead::kRequirements, "requirements"},
    {"pyproject.toml", Match::kName, "", Lead::kRequirements, "pyproject"},
    {"environment.yml environment.yaml", Match::kName, "", Lead::kRequirements, "conda"},
    {"Pipfile", Match::kName, "", Lead::kRequirements, "pipfile"},
    {"Pipfile.lock", Match::kName, "", Lead::kRequirements, "pipfile-lock"},
    {"setup.py", Match::kAnywhere, "install_requires", Lead::kRequirements, "setup.py"},
    {"setup.cfg", Match::kStart, "install_requires", Lead::kRequirements, "setup.cfg"},
    {"DESCRIPTION", Match::kStart, "Package:", Lead::kRequirements, "description"},
    {"renv.lock", Match::kName, "", Lead::kRequirements, "renv"},
    {kBatchFiles, Match::kStart, "#SBATCH", Lead::kBatch, "Slurm"},
    {kBatchFiles, Match::kStart, "#PBS", Lead::kBatch, "PBS"},

    {kCmakeFiles, Match::kCall, "project", Lead::kCmake},
    {kCmakeFiles, Match::kCall, "find_package MPI", Lead::kMpi},
    {kCmakeFiles, Match::kCall, "find_package OpenMP", Lead::kOpenmp},
    {kCmakeFiles, Match::kWord, "Fortran", Lead::kFortran},
    {kCmakeFiles, Match::kCall, "find_package Boost", Lead::kNeed, "boost"},
    {kCmakeFiles, Match::kCall, "find_package Eigen3", Lead::kNeed, "eigen"},
    {kCmakeFiles, Match::kCall, "find_package HDF5", Lead::kNeed, "hdf5"},
    {kCmakeFiles, Match::kCall, "find_package NetCDF", Lead::kNeed, "netcdf"},
    {kCmakeFiles, Match::kCall, "find_package GSL", Lead::kNeed, "gsl"},
    {kCmakeFiles, Match::kCall, "find_package FFTW", Lead::kNeed, "fftw"},
    {kCmakeFiles, Match::kCall, "find_package FFTW3", Lead::kNeed, "fftw"},
    {kCmakeFiles, Match::kCall, "find_package BLAS", Lead::kNeed, "openblas"},
    {kCmakeFiles, Match::kCall, "find_package LAPACK", Lead::kNeed, "openblas"},
    {kCmakeFiles, Match::kCall, "find_package TBB", Lead::kNeed, "tbb"},
    {kCmakeFiles, Match::kCall, "find_package ZLIB", Lead::kNeed, "zlib"},
    {kCmakeFiles, Match::kCall, "find_package OpenSSL", Lead::kNeed, "openssl"},
    {kCmakeFiles, Match::kCall, "find_package CURL", Lead::kNeed, "libcurl"},
    {kCmakeFiles, Match::kCall, "find_package LibXml2", Lead::kNeed, "libxml2"},
    {kCmakeFiles, Match::kCall, "find_package SQLite3", Lead::kNeed, "sqlite"},
    {kCmakeFiles, Match::kCall, "find_package GDAL", Lead::kNeed, "gdal"},
    {kCmakeFiles, Match::kCall, "find_package yaml-cpp", Lead::kNeed, "yaml-cpp"},
    {kCmakeFiles, Match::kCall, "find_package METIS", Lead::kNeed, "metis"},
    {kCmakeFiles, Match::kCall, "find_package PkgConfig", Lead::kNeed, "pkg-config"},

    {kMakeFiles, Match::kName, "", Lead::kMake},
    {kMakeFiles, Match::kWord, "mpicc", Lead::kMpi},
    {kMakeFiles, Match::kWord, "mpicxx", Lead::kMpi},
    {kMakeFiles, Match::kWord, "mpic++", Lead::kMpi},
    {kMakeFiles, Match::kWord, "mpif90", Lead::kMpi},
    {kMakeFiles, Match::kWord, "mpif77", Lead::kMpi},
    {kMakeFiles, Match::kWord, "mpifort", Lead::kMpi},
    {kMakeFiles, Match::kWord, "-fopenmp", Lead::kOpenmp},
    {kMakeFiles, Match::kWord, "gfortran", Lead::kFortran},
    {kMakeFiles, Match::kWord, "mpif90", Lead::kFortran},
    {kMakeFiles, Match::kWord, "mpifort", Lead::kFortran},
    {kMakeFiles, Match::kWord, "-lfftw3", Lead::kNeed, "fftw"},
    {kMakeFiles, Match::kWord, "-lhdf5", Lead::kNeed, "hdf5"},
    {kMakeFiles, Match::kWord, "-lnetcdf", Lead::kNeed, "netcdf"},
    {kMakeFiles, Match::kWord, "-lgsl", Lead::kNeed, "gsl"},
    {kMakeFiles, Match::kWord, "-lblas", Lead::kNeed, "openblas"},
    {kMakeFiles, Match::kWord, "-llapack", Lead::kNeed, "openblas"},
    {kMakeFiles, Match::kWord, "-lopenblas", Lead::kNeed, "openblas"},
    {kMakeFiles, Match::kWord, "-lz", Lead::kNeed, "zlib"},

    {kNativeFiles, Match::kAnywhere, "<mpi.h>", Lead::kMpi},
    {kNativeFiles, Match::kAnywhere, "\"mpi.h\"", Lead::kMpi},
    {kNativeFiles, Match::kAnywhere, "<fftw3.h>", Lead::kNeed, "fftw"},
    {kNativeFiles, Match::kAnywhere, "\"fftw3.h\"", Lead::kNeed, "fftw"},
    {kNativeFiles, Match::kAnywhere, "<fftw3-mpi.h>", Lead::kNeed, "fftw-mpi"},
    {kNativeFiles, Match::kAnywhere, "<gsl/gsl_", Lead::kNeed, "gsl"},
    {kNativeFiles, Match::kAnywhere, "<netcdf.h>", Lead::kNeed, "netcdf"},
    {kNativeFiles, Match::kAnywhere, "<cblas.h>", Lead::kNeed, "openblas"},
    {kNativeFiles, Match::kAnywhere, "<zlib.h>", Lead::kNeed, "zlib"},
    {kNativeFiles, Match::kStart, "#pragma omp", Lead::kOpenmp},
    {kNativeFiles, Match::kAnywhere, "<omp.h>", Lead::kOpenmp},
    {kFortranFiles, Match::kStart, "use mpi", Lead::kMpi},
    {kFortranFiles, Match::kAnywhere, "mpif.h", Lead::kMpi},
    {kFortranFiles, Match::kStart, "!$omp", Lead::kOpenmp},
    {kFortranFiles, Match::kName, "", Lead::kFortran},
    {"*.c", Match::kWord, "main(", Lead::kCompile, "c"},
    {"*.cc *.cpp *.cxx *.C", Match::kWord, "main(", Lead::kCompile, "c++"},
    {kFortranFiles, Match::kStart, "program ", Lead::kCompile, "fortran"},

    {kRFiles, Match::kName, "", Lead::kRScript},
    {kRFiles, Match::kPackage, "Rmpi", Lead::kMpi},
    {kRFiles, Match::kPackage, "pbdMPI", Lead::kMpi},
    {kPythonFiles, Match::kName, "", Lead::kScript},
    {kPythonFiles, Match::kModule, "mpi4py", Lead::kMpi},
    {kPythonFiles, Match::kModule, "torch", Lead::kTorch},
    {kPythonFiles, Match::kModule, "pyspark", Lead::kSpark},
    {kPythonFiles, Match::kModule, "PIL", Lead::kPython, "pillow"},
    {kPythonFiles, Match::kModule, "click", Lead::kPython, "click"},
    {kPythonFiles, Match::kModule, "dask", Lead::kPython, "dask"},
    {kPythonFiles, Match::kModule, "h5py", Lead::kPython, "h5py"},
    {kPythonFiles, Match::kModule, "jinja2", Lead::kPython, "jinja2"},
    {kPythonFiles, Match::kModule, "matplotlib", Lead::kPython, "matplotlib"},
    {kPythonFiles, Match::kModule, "mpi4py", Lead::kPython, "mpi4py"},
    {kPythonFiles, Match::kModule, "mpl_toolkits", Lead::kPython, "matplotlib"},
    {kPythonFiles, Match::kModule, "netCDF4", Lead::kPython, "netcdf4"},
    {kPythonFiles, Match::kModule, "networkx", Lead::kPython, "networkx"},
    {kPythonFiles, Match::kModule, "numba", Lead::kPython, "numba"},
    {kPythonFiles, Match::kModule, "numpy", Lead::kPython, "numpy"},
    {kPythonFiles, Match::kModule, "pandas", Lead::kPython, "pandas"},
    {kPythonFiles, Match::kModule, "psutil", Lead::kPython, "psutil"},
    {kPythonFiles, Match::kModule, "pyspark", Lead::kPython, "pyspark"},
    {kPythonFiles, Match::kModule, "requests", Lead::kPython, "requests"},
    {kPythonFiles, Match::kModule, "scipy", Lead::kPython, "scipy"},
    {kPythonFiles, Match::kModule, "sklearn", Lead::kPython, "scikit-learn"},
    {kPythonFiles, Match::kModule, "sympy", Lead::kPython, "sympy"},
    {kPythonFiles, Match::kModule, "tensorflow", Lead::kPython, "tensorflow"},
    {kPythonFiles, Match::kModule, "torch", Lead::kPython, "torch"},
    {kPythonFiles, Match::kModule, "tqdm", Lead::kPython, "tqdm"},
    {kPythonFiles, Match::kModule, "xarray", Lead::kPython, "xarray"},
    {kPythonFiles, Match::kModule, "yaml", Lead::kPython, "pyyaml"},
    {kPythonFiles, Match::kModule, "zarr", Lead::kPython, "zarr"},
};

/// What each lead becomes; `{}` is the value.
struct ConsequenceRow {
    Lead lead;
    std::string_view text;
};
constexpr ConsequenceRow kConsequences[] = {
    {Lead::kMpi, "uses MPI: `mpi: openmpi` in the Recipe, `launch: mpi` in the Job"},
    {Lead::kOpenmp, "uses OpenMP: its library in the image, several cores in the Job"},
    {Lead::kTorch, "uses PyTorch: `launch: torch` in the Job"},
    {Lead::kSpark, "uses Spark: Java in the image, `launch: spark` in the Job"},
    {Lead::kNeed, "`{}` in `packages.needs`"},
    {Lead::kFortran, "is Fortran: its compiler and run-time library"},
    {Lead::kPython, "the Python package {}"},
    {Lead::kCmake, "is compiled by CMake in a stage of its own"},
    {Lead::kMake, "is compiled by make in a stage of its own"},
    {Lead::kCompile, "is compiled as {}"},
    {Lead::kScript, "is a program in Python"},
    {Lead::kRScript, "is a program in R"},
    {Lead::kRequirements, "names packages"},
    {Lead::kDockerfile, "the Recipe is made from it"},
    {Lead::kDefinition, "the image is built from it"},
    {Lead::kBatch, "the Job is made from its {} directives"},
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
            const bool is_same = known.lead == row.lead && known.value == row.value;
            const bool is_of_file = row.lead == Lead::kBatch || row.lead == Lead::kRequirements ||
                                    row.lead == Lead::kDockerfile || row.lead == Lead::kDefinition;
            if (is_same && (known.file == file || !is_of_file)) {
                known.more += known.file == file ? 0U : 1U;
                return;
            }
        }
        into_.all.push_back({file, line, seen_text(row), row.lead, std::string(row.value), 0});
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
    if (evidence.has(Lead::kCmake) || evidence.has(Lead::kMake)) {
        auto& all = evidence.all;
        all.erase(std::remove_if(all.begin(),
                                 all.end(),
                                 [](const Evidence& one) { return one.lead == Lead::kCompile; }),
                  all.end());
    }
}

} // namespace

const Evidence* FolderEvidence::first(Lead lead) const {
    return find_row(all, lead, &Evidence::lead);
}

bool FolderEvidence::has(Lead lead, std::string_view value) const {
    return std::ranges::any_of(
        all, [&](const Evidence& one) { return one.lead == lead && one.value == value; });
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
    const auto* const row = std::ranges::find(kConsequences, evidence.lead, &ConsequenceRow::lead);
    std::string text(row->text);
    if (const std::size_t at = text.find("{}"); at != std::string::npos) {
        text.replace(at, 2, evidence.value);
    }
    return text;
}

} // namespace cybele::pipeline
