// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::builder {

/// A library that a program of an image asks for and the image lacks.
struct MissingLibrary {
    std::string program; ///< inside the image
    std::string library; ///< "libgomp.so.1"
    std::string by;      ///< the library that asks for it; empty: the program itself
    std::string package; ///< of Debian; empty: not known
};

/// Looks at the programs that %files brought in: each library that they and their libraries ask
/// for is looked for as the loader of glibc does, by RPATH and RUNPATH, `library_path`, ld.so.conf
/// and the usual folders. Libraries of GPU drivers are not missing, since the host brings them.
/// `targets` are destinations of %files; nothing outside of `root` is looked at.
[[nodiscard]] std::vector<MissingLibrary>
find_missing_libraries(const std::filesystem::path& root,
                       const std::vector<std::string>& targets,
                       const std::vector<std::string>& library_path);

/// The folders of LD_LIBRARY_PATH that a section %environment sets.
[[nodiscard]] std::vector<std::string> library_path_of(std::string_view environment);

/// "warning: /opt/x/bin/x cannot start: …; add libgomp1 to …", in one line.
[[nodiscard]] std::string warning_of(const MissingLibrary& missing);

} // namespace cybele::builder
