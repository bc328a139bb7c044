// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How WLM-Operator reads the script of a SlurmJob: for the affinity of the companion pod only, and
/// unlike sbatch (docs/reference/kube-bridges.md). Our own reading of the same rules.
namespace cybele::kubernetes {

struct OperatorFinding {
    enum class Kind {
        kCrash,      ///< a word without value at a line's end: the operator panics
        kError,      ///< it cannot parse a value: retried for ever, no event, no status
        kMisread,    ///< it reads a word as a value, unlike sbatch
        kUnread,     ///< a directive after the line where its reading stops
        kNoAffinity, ///< nothing that it knows: the job never gets a pod
    };
    Kind kind = Kind::kError;
    std::size_t line = 0; ///< of the script, from 1; 0: the script as a whole
    std::string what;
};

/// What the operator makes of a script.
struct OperatorReading {
    std::optional<std::int64_t> nodes;
    std::optional<std::int64_t> seconds; ///< of wall time
    std::optional<std::int64_t> memory_mebibytes;
    std::optional<std::int64_t> cpus; ///< a node's: --ntasks-per-node times --cpus-per-task
    std::vector<OperatorFinding> findings;
};

[[nodiscard]] OperatorReading read_as_operator(std::string_view script);

} // namespace cybele::kubernetes
