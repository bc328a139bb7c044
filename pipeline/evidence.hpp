// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/source_folder.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// What a line or a file of somebody's source leads to in the Recipe or the Job.
enum class EvidenceKind {
    kMpi,          ///< `mpi` in the Recipe, `launch: mpi`
    kOpenmp,       ///< the run-time library, `launch: openmp`
    kTorch,        ///< `launch: torch`
    kSpark,        ///< `launch: spark`
    kNeed,         ///< `packages.needs`, value: the generic name
    kFortran,      ///< a compiler, and its run-time library
    kPython,       ///< a module of Python, value: the package's name on PyPI
    kCmake,        ///< compiled by CMake
    kMake,         ///< compiled by make
    kCompile,      ///< a source without either, compiled alone
    kScript,       ///< a program in Python
    kRScript,      ///< a program in R
    kRequirements, ///< packages, value: how the file is read
    kDockerfile,   ///< the Recipe is made from it
    kDefinition,   ///< the image is built from it
    kBatch,        ///< the Job is made from it
};

/// One finding with its place.
struct Evidence {
    std::string file;
    std::size_t line = 0; ///< 0: the file's name says it
    std::string saw;      ///< "find_package(MPI)"
    EvidenceKind kind = EvidenceKind::kScript;
    std::string value;
    std::size_t more = 0; ///< further files that say the same
};

/// What a folder shows, by the table in evidence.cpp: sorted by file and line. Findings that
/// kind to the same are reported once, at the first file.
struct FolderEvidence {
    std::vector<Evidence> all;
    std::vector<std::string> skipped; ///< files that were not read, with the reason

    [[nodiscard]] const Evidence* first(EvidenceKind kind) const;
    [[nodiscard]] bool has(EvidenceKind kind) const {
        return first(kind) != nullptr;
    }
    [[nodiscard]] bool has(EvidenceKind kind, std::string_view value) const;
};

[[nodiscard]] FolderEvidence find_evidence(const SourceFolder& folder);

/// Whether a name is one of the blank-separated patterns of `patterns`: `*` stands for anything,
/// at a pattern's start or end.
[[nodiscard]] bool is_named_like(std::string_view name, std::string_view patterns);

/// Whether the table says which package has this module of Python.
[[nodiscard]] bool is_known_module(std::string_view module);

/// "`mpi: openmpi` in the Recipe, `launch: mpi` in the Job": what a finding leads to.
[[nodiscard]] std::string consequence_of(const Evidence& evidence);

} // namespace cybele::pipeline
