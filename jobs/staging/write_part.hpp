// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

/// Writing NAME.part, and what is said where that fails; used by this room alone.
namespace cybele::jobs {

/// What files are copied for: it decides which remedy is told.
enum class Errand { kSubmission, kCollection };

/// Why a file could not be written, with the remedy that fits the reason; `where` names it.
[[nodiscard]] Error
write_error(Errand errand, const std::string& where, const std::string& because);
/// The bytes that arrived are not those that were to; the copy is removed.
[[nodiscard]] Error
differs_error(Errand errand, const std::string& where, const std::filesystem::path& source);

/// One file of this machine, to be copied on it.
struct LocalCopy {
    std::filesystem::path from;
    std::filesystem::path to;
    std::uint64_t offset = 0; ///< so much of it lies in TO.part already, and is right
    std::string digest;       ///< SHA-256 in hexadecimal
    bool is_executable = false;
};

/// Writes TO.part from the offset on, syncs it, compares the digest, renames. A part that could not
/// be finished stays, one with wrong bytes does not. kEnvironment, as above.
[[nodiscard]] Result<void> copy_here(Errand errand, const LocalCopy& copy);

} // namespace cybele::jobs
