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

struct Package {
    std::string manager; ///< dpkg, rpm, apk, pip, conda
    std::string name;
    std::string version;      ///< as the manager writes it, with epoch and release
    std::string architecture; ///< as the manager writes it; empty: not said
    /// What else its package URL says: of conda `build`, `channel` and `type`.
    std::map<std::string, std::string> qualifiers{};

    auto operator<=>(const Package&) const = default;
};

/// What os-release(5) says; empty: not said.
struct Release {
    std::string distribution; ///< ID: debian
    std::string release;      ///< VERSION_ID: 12
    std::string name;         ///< PRETTY_NAME
};
[[nodiscard]] Release parse_release(std::string_view text);

struct PackageList : Release {
    std::vector<Package> packages;  ///< ordered by manager, name, version; each once
    std::vector<std::string> notes; ///< what could not be read, and why
};

/// The packages that their managers have recorded as installed. Nothing is run. A record that
/// cannot be read (rpm's old kinds of database, a damaged file) is told in the notes.
[[nodiscard]] Result<PackageList> read_packages(const FilePointer& root, const Survey& survey);

// The managers' own files, each on its text; what cannot be read of it is left out.

/// /var/lib/dpkg/status
[[nodiscard]] std::vector<Package> parse_dpkg_status(std::string_view text);
/// /lib/apk/db/installed
[[nodiscard]] std::vector<Package> parse_apk_installed(std::string_view text);
/// METADATA of a *.dist-info, or PKG-INFO
[[nodiscard]] std::vector<Package> parse_python_metadata(std::string_view text);
/// NAME.json of conda-meta
[[nodiscard]] std::vector<Package> parse_conda_record(std::string_view text);
/// The header of one package, as rpm's databases keep it.
[[nodiscard]] std::vector<Package> parse_rpm_header(std::string_view bytes);
/// rpmdb.sqlite, whole. kInput when it is no such database.
[[nodiscard]] Result<std::vector<Package>> parse_rpm_sqlite(std::string database);

} // namespace cybele::images
