// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace cybele::jobs {

/// How a job ended: `.cybelectl/UUID/exit.json` below its working directory (docs/reference/job.md,
/// record).
struct ExitRecord {
    std::string uuid;
    std::string state = "done"; ///< done, failed, timeout, cancelled; clients add lost
    int code = 0;
    int signal = 0;
    std::int64_t start = 0; ///< Unix seconds
    std::int64_t end = 0;
    std::string host;

    /// What `--wait` exits with: the code, 128 + signal, 124 for a time limit, 125 for a lost job.
    [[nodiscard]] int shell_code() const;
};

[[nodiscard]] Result<void> write_exit_record(const std::filesystem::path& folder,
                                             const ExitRecord& record);
/// Unset while there is none.
[[nodiscard]] Result<std::optional<ExitRecord>>
read_exit_record(const std::filesystem::path& folder);

} // namespace cybele::jobs
