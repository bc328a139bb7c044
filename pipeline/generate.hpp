// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cybele::pipeline {

/// A file that a project's documents ask for, with its head that names their digests.
struct GeneratedFile {
    std::filesystem::path path; ///< relative to the project's folder
    std::string text;
    bool is_script = false; ///< written as a program
};

struct Generation {
    std::filesystem::path folder;
    std::vector<GeneratedFile> files;             ///< by path
    std::vector<std::filesystem::path> left_over; ///< of ours, no longer asked for; relative
    std::vector<Fault> notes;
};

/// Renders everything that a project asks for (docs/reference/generate.md): a definition for each
/// variant of a Recipe, a script for each Job and Site, an object where the Site has a bridge and
/// the Job may go there. Pure: the same documents give the same bytes, whether images are there or
/// not. Stale Locks, and two files of one name, are kInput; all faults of all documents at once.
[[nodiscard]] Result<Generation> generate(const std::filesystem::path& folder);

/// How a file on disk differs from what it should be.
struct StaleFile {
    std::filesystem::path path;
    std::string diff; ///< unified
};

/// What `generate --check` tells; nothing is written.
[[nodiscard]] Result<std::vector<StaleFile>> find_stale(const Generation& generation);

/// Writes the files that differ and removes those left over; gives the paths of both.
[[nodiscard]] Result<std::vector<std::filesystem::path>>
write_generation(const Generation& generation);

} // namespace cybele::pipeline
