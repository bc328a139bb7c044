// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/object.hpp"
#include "submission/backends/host.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cybele::bridge {

/// What is known of the times of an output file, which has none of its lines. Unix seconds by the
/// clock of the cluster.
struct LogTimes {
    std::int64_t now = 0;
    std::int64_t written = 0; ///< when the file changed last; 0: it does not exist
    std::string stamp;        ///< the same as RFC 3339 with nanoseconds
};

[[nodiscard]] Result<LogTimes> read_log_times(submission::Host& host,
                                              const std::filesystem::path& file);
/// The two lines of `date`: for now, and for the file.
[[nodiscard]] LogTimes log_times(std::string_view now, std::string_view file);

enum class LogPart { kAll, kNothing };

/// Which lines of the output are not older than a moment. kInput where that cannot be known, since
/// the job ran before the moment and wrote after it.
[[nodiscard]] Result<LogPart>
log_part(const LogTimes& times, const Object& object, std::int64_t since);

/// Puts the stamp and a blank before each line. `is_within_line`: the text begins within a line,
/// and afterwards: it ended within one.
[[nodiscard]] std::string
stamp_lines(std::string_view text, std::string_view stamp, bool& is_within_line);

} // namespace cybele::bridge
