// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cybele::pipeline {

struct FromFolderRequest {
    std::filesystem::path from;   ///< a folder with somebody's source
    std::filesystem::path output; ///< where the documents are written; empty: `from`
    bool replaces = false;        ///< write over existing documents
    bool is_of_root = false;      ///< root makes them
};

/// The documents for a folder of source, with what they are based on.
struct FromFolder {
    std::string name;
    std::filesystem::path folder;                                         ///< of the documents
    std::vector<std::pair<std::filesystem::path, std::string>> documents; ///< file, text
    std::vector<std::string> saw;     ///< "main.py:1: import mpi4py: uses MPI: …"
    std::vector<std::string> assumed; ///< what no file says
    std::vector<std::string> next;    ///< commands, in order
};

/// Reads the folder and plans a Recipe and a Job; writes nothing. Equal folders give equal bytes.
/// kInput where nothing says how the program is built or started.
[[nodiscard]] Result<FromFolder> plan_from_folder(const FromFolderRequest& request);

} // namespace cybele::pipeline
