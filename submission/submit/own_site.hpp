// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/site.hpp"
#include "support/error.hpp"
#include "support/own_path.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// Who can write a Site decides what jobs of its users run, and whose images they start.
namespace cybele::submission {

/// Where a key or Policy that a document names lies: `~/` in `home`, else in the document's folder.
[[nodiscard]] std::filesystem::path verification_place(const std::string& path,
                                                       const std::filesystem::path& folder,
                                                       const std::filesystem::path& home);

/// Its file and those that it names: templates, and the Policy, keys and certificates of `verify`
/// (`~/` begins at `home`). A Policy that cannot be read adds nothing but itself.
[[nodiscard]] std::vector<std::filesystem::path> files_of_site(const launchers::Site& site,
                                                               const std::filesystem::path& home);

/// What of these files others can have written (kEnvironment, one fault per file). A missing file
/// is for its reader to report.
[[nodiscard]] Faults find_foreign_files(const std::vector<std::filesystem::path>& files,
                                        const OwnPathRules& rules);

/// Whether every user of the machine can write the file, or put another one in its place.
[[nodiscard]] bool is_open_to_all(const std::filesystem::path& file);

/// A Site of settings follows their rule, with all its files; the faults are at `place`, which
/// names the Site.
[[nodiscard]] Result<void> check_site_of_settings(const launchers::Site& site,
                                                  const std::filesystem::path& home,
                                                  const Place& place);

} // namespace cybele::submission
