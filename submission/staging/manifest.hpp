// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::submission {

/// One file that a job is to find.
struct StagedFile {
    std::filesystem::path source;
    std::string target; ///< below the workdir, without dots
    std::uint64_t size = 0;
    std::string digest; ///< SHA-256 in hexadecimal; empty: an empty folder
    bool is_executable = false;
    std::string field; ///< of the Job that names it, for faults
};

/// Whether files are read whole.
enum class Contents { kDigested, kUnread };

/// What `stage-in` of the Job names, file by file, sorted by target. A folder is all that lies in
/// it; links to files are followed. All faults at once (kInput), each at its place: a source that
/// is missing, cannot be read or is neither file nor folder; a target outside of the workdir, or in
/// `.cybelectl`, or twice. A relative `from` starts at the Job's folder, `~/` at the home of who
/// submits; a `to` with a slash at its end is a folder for a file. kUnread: digests are `-`.
[[nodiscard]] Result<std::vector<StagedFile>>
read_manifest(const launchers::Job& job,
              const Environment& environment,
              Contents contents = Contents::kDigested);

} // namespace cybele::submission
