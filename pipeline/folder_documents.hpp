// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/from_folder.hpp"

namespace cybele::pipeline {

/// A document that was replaced, and the copy of what it was.
struct KeptDocument {
    std::filesystem::path file;
    std::filesystem::path copy; ///< "job.yaml.old"
};

/// Writes the documents, all or none, and the schemas for editors. kInput where one of them exists
/// and `replaces` is off. Of an existing document with other bytes a copy is kept.
[[nodiscard]] Result<std::vector<KeptDocument>> write_from_folder(const FromFolder& plan,
                                                                  bool replaces);

} // namespace cybele::pipeline
