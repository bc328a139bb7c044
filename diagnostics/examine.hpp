// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "diagnostics/doctor.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// The groups of findings, in the order in which doctor tells them.
namespace cybele::diagnostics {

using Findings = std::vector<Finding>;

[[nodiscard]] Finding works(std::string subject, std::string what);
[[nodiscard]] Finding
lacks(std::string subject, std::string what, std::string follows, std::string help);
/// The same, without which the main job cannot work.
[[nodiscard]] Finding
fails(std::string subject, std::string what, std::string follows, std::string help);

/// Kernel, user, namespaces, subordinate ids, FUSE, loop devices, how images are mounted.
void examine_kernel(const DoctorInput& input, Findings& findings);
/// What builds, mounts and runs images.
void examine_programs(Findings& findings);
/// MPI, PMI, batch system, interconnect.
void examine_launch(const DoctorInput& input, Findings& findings);
/// The helper for the network, package mirror, registries with their credentials.
void examine_network(const DoctorInput& input, Findings& findings);
/// Home, temporary space, the program's own folders, locale.
void examine_places(const DoctorInput& input, Findings& findings);

/// What a file system is to its user.
struct FileSystem {
    std::string_view name;  ///< "nfs", "tmpfs", …; "" for one of this machine's disks
    bool is_shared = false; ///< other machines see it, too
    bool is_memory = false;
    bool is_read_only = false;
    bool forbids_programs = false; ///< noexec
    std::uint64_t free = 0;        ///< bytes
};
/// Of the folder, or of the nearest one above that is there.
[[nodiscard]] FileSystem file_system_of(const std::filesystem::path& folder);
/// The folder, or the nearest one above that is there.
[[nodiscard]] std::filesystem::path nearest_folder(std::filesystem::path folder);
/// "41.2 GiB", "12.0 MiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// The locale that LC_ALL, LC_CTYPE or LANG asks for, where the list of `locale -a` does not have
/// it; "" when all is well. Spellings that mean the same (`en_US.UTF-8`, `en_US.utf8`) are one.
[[nodiscard]] std::string missing_locale(const Environment& environment,
                                         std::string_view installed);

} // namespace cybele::diagnostics
