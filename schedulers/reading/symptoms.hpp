// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::schedulers {

/// Something that a job's output shows when it failed; docs/failures.md has a section for each.
struct Symptom {
    std::string_view id;      ///< `cma-forbidden`
    std::string_view because; ///< its cause
    std::string_view help;
    std::string_view source; ///< seen, or the issue where others told it
};

[[nodiscard]] std::span<const Symptom> symptoms();

struct Finding {
    const Symptom* symptom = nullptr;
    std::size_t line = 0;  ///< the first where it shows
    std::size_t times = 0; ///< how many lines show it
    std::string text;      ///< that line
};

/// A log, or one message of it, which alone shows what only several lines of a log show.
enum class LogPart { kAll, kOneMessage };

/// The symptoms that a log shows, by their first line. Pure; any bytes will do.
[[nodiscard]] std::vector<Finding> find_symptoms(std::string_view log,
                                                 LogPart part = LogPart::kAll);

[[nodiscard]] std::string findings_text(std::span<const Finding> findings, const std::string& file);
[[nodiscard]] std::string findings_json(std::span<const Finding> findings, const std::string& file);

} // namespace cybele::schedulers
