// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/source_folder.hpp"
#include "recipes/import/draft.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The files by which repo2docker describes the environment of a folder, and its order.
namespace cybele::pipeline {

/// Which folder has them: "binder/", ".binder/", or "" for the top; only one counts. kInput where
/// both have some, which repo2docker refuses, too.
[[nodiscard]] Result<std::string> config_folder(const SourceFolder& folder);

/// Its runtime.txt: "python", "3.11" and no date. All empty: there is none.
struct RuntimeFile {
    std::string name;
    std::string version;
    std::string date;
};
[[nodiscard]] RuntimeFile read_runtime(const SourceFolder& folder);

/// How a program gets its packages, as far as these files depend on it.
struct ConfigUse {
    bool is_r = false;           ///< the program is in R, whose package the folder may be
    bool has_debian = true;      ///< the image is Debian 12
    bool installs_own_r = false; ///< the folder is a package of R that is installed
};

/// The packages of Debian that apt.txt names, install.R, the folder's own package of R and
/// postBuild as steps, and what to do about files that repo2docker reads and this program does not.
void plan_config_files(const SourceFolder& folder,
                       const std::string& folder_from,
                       const ConfigUse& use,
                       recipes::Draft& draft,
                       std::vector<std::string>& assumed);

} // namespace cybele::pipeline
