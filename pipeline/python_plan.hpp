// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/evidence.hpp"
#include "pipeline/source_folder.hpp"
#include "recipes/import/draft.hpp"

#include <string>
#include <vector>

namespace cybele::pipeline {

/// The packages that the folder's lists and imports name (package_lists.hpp, `import`). What cannot
/// be read is added to `assumed` with the reason.
void plan_python_packages(const SourceFolder& folder,
                          const FolderEvidence& evidence,
                          recipes::Draft& draft,
                          std::vector<std::string>& assumed);

/// Copies the program in Python into the image; gives its path there.
[[nodiscard]] std::string plan_python_program(const SourceFolder& folder,
                                              const std::string& folder_from,
                                              recipes::Draft& draft,
                                              std::vector<std::string>& assumed);

/// The file that starts the program: the only one, `main.py` and its like, or the first with
/// `if __name__ == "__main__"`. Empty: there is none.
[[nodiscard]] std::string main_script(const SourceFolder& folder, const std::string& name);

} // namespace cybele::pipeline
