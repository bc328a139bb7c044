// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cybele::builder {

/// What the loader asks of a 64-bit ELF file.
struct ElfFile {
    std::vector<std::string> needed; ///< DT_NEEDED
    std::vector<std::string> rpath;  ///< DT_RPATH, or DT_RUNPATH where there is one
    bool is_runpath = false;         ///< not used for the libraries of a library
};

/// Reads the dynamic section of a file that is open. The file is not trusted: everything has a
/// bound, and a file that is not an ELF file, or contradicts itself, gives nothing.
[[nodiscard]] std::optional<ElfFile> read_elf(int fd);

/// The same where the file is a program, which names a loader (PT_INTERP); of others the first
/// bytes alone are read.
[[nodiscard]] std::optional<ElfFile> read_program(int fd);

} // namespace cybele::builder
