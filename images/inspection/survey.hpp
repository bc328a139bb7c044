// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/squashfs/file_node.hpp"
#include "support/error.hpp"

#include <map>
#include <string>
#include <vector>

namespace cybele::images {

/// What a file's name says that it may be.
enum class Evidence {
    kGlibc,
    kMusl,
    kMpi,
    kPmix,
    kCuda,
    kPython,
    kJava,
    kSpark,
    kPipPackage, ///< METADATA of a *.dist-info, PKG-INFO of an *.egg-info, or a file *.egg-info
    kCondaPackage,
};

struct FoundFile {
    std::string path; ///< begins with a slash
    FilePointer node;
};
using Survey = std::map<Evidence, std::vector<FoundFile>>;

/// Goes through all names once and keeps the regular files that are a clue, in the order of
/// walk_files(). Of a kind at most 10,000.
[[nodiscard]] Result<Survey> survey_files(const FilePointer& root);

} // namespace cybele::images
