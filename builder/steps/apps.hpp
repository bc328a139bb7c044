// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/grammar/definition.hpp"
#include "definitions/grammar/lines.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

/// SCIF applications: programs of an image with a folder, an environment and a runscript of their
/// own below /scif. Files and their texts are those of Apptainer (internal/pkg/build/apps).
namespace cybele::builder {

struct App {
    std::string name;
    /// By name, in the order of the file: of several with one name, all count.
    std::multimap<std::string, const definitions::Section*> sections;

    /// The body of "appinstall", "apprun" …; "" where there is none.
    [[nodiscard]] std::string text(const std::string& section) const;
};

/// The applications of a stage in the order in which they are first named. kInput for a name that
/// would lead out of /scif/apps.
[[nodiscard]] Result<std::vector<App>> find_apps(const definitions::Stage& stage,
                                                 const std::string& definition_file);

/// The lines of all %appfiles, their destinations inside the image.
[[nodiscard]] std::vector<definitions::FileLine> app_files(const std::vector<App>& apps);

/// All that write_apps() and the installation depend on.
[[nodiscard]] std::string app_texts(const std::vector<App>& apps);

/// What is run behind %post: each %appinstall in its application's folder.
[[nodiscard]] std::string install_script(const std::vector<App>& apps);

/// Makes the applications' folders, scripts and labels, and the environment file that names them;
/// links of the tree lead nowhere outside of it.
[[nodiscard]] Result<void> write_apps(const std::vector<App>& apps,
                                      const std::filesystem::path& path);

} // namespace cybele::builder
