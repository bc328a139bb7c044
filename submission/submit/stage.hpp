// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/connection.hpp"
#include "submission/staging/destination.hpp"
#include "submission/submit/job_input.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::submission {

/// What a job is to find where it runs, beside what is there.
struct TransferSet {
    std::vector<StagedFile> staged_files;
    std::filesystem::path workdir;
    Connection connection;
};

/// What bringing it cost.
struct TransferResult {
    std::size_t files = 0;     ///< of the transfers
    std::size_t sent = 0;      ///< of them: the others were there
    std::uint64_t bytes = 0;   ///< sent
    std::uint64_t resumed = 0; ///< of those that an earlier transfer had left
};

/// The Job's inputs (`stage-in`), and behind ssh its image too, where that is a file of this
/// machine: it goes to `.cybelectl/images/DIGEST.sif` below the workdir, and the input names it so.
/// An image that the Job names by an absolute path lies there already. Nothing is copied.
/// All faults of the inputs at once, as read_manifest(); kVerification: the image is not the one
/// whose digest the Job gives.
[[nodiscard]] Result<TransferSet>
pack(JobInput& input, const Connection& connection, const Environment& environment);

/// Asks what is there and copies the rest. kInput: a folder stands where a file is to be, at its
/// place in the Job; kEnvironment: no space, no permission, no connection.
[[nodiscard]] Result<TransferResult>
bring(const TransferSet& transfers, const launchers::Job& job, const Environment& environment);

/// The same, to a destination that is given.
[[nodiscard]] Result<TransferResult>
bring_to(Destination& destination, const TransferSet& transfers, const launchers::Job& job);

} // namespace cybele::submission
