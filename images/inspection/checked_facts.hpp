// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inspection/survey.hpp"
#include "images/squashfs/file_node.hpp"
#include "support/error.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::images {

/// What the files say of a label (documents.md, section 7).
enum class Verdict {
    kAgrees,
    kContradicted, ///< a fault: a launch would believe what is not so
    kUnseen,       ///< a label, and nothing in the files that says anything of it
    kUnlabelled,   ///< found in the files, no label
    kUnknown,      ///< neither
};
[[nodiscard]] std::string_view verdict_name(Verdict verdict);

struct CheckedFact {
    std::string name;  ///< mpi, libc, …: the label without `cybelectl.`
    std::string label; ///< its value; empty: none
    std::string found; ///< "openmpi 4.1.4"; several are joined by ", "; empty: nothing
    std::string path;  ///< of the first file that says so
    Verdict verdict = Verdict::kUnknown;
};

/// Checks every label that a launch believes against the files, and finds what is not labelled.
[[nodiscard]] Result<std::vector<CheckedFact>>
check_facts(const FilePointer& root,
            const Survey& survey,
            const std::map<std::string, std::string>& labels);

} // namespace cybele::images
