// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cybele::submission {

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
    std::string reason;                           ///< why it never ran, where that is so
    std::optional<std::int64_t> cpu_milliseconds; ///< user and system, of the first node
    std::optional<std::uint64_t> memory_bytes;    ///< the most at once

    /// What `--wait` exits with: the code, 128 + signal, 124 for a time limit, 125 for a lost job.
    [[nodiscard]] int shell_code() const;
};

[[nodiscard]] Result<void> write_exit_record(const std::filesystem::path& folder,
                                             const ExitRecord& record);
/// The text of an exit.json; `path` is for messages.
[[nodiscard]] Result<ExitRecord> parse_exit_record(std::string_view text,
                                                   const std::filesystem::path& path);
/// Unset while there is none.
[[nodiscard]] Result<std::optional<ExitRecord>>
read_exit_record(const std::filesystem::path& folder);

} // namespace cybele::submission
