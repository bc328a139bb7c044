// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/host.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::bridge {

/// What the batch system says of a queue now. Unset: it does not say.
struct LiveQueue {
    std::string name;
    bool is_open = true; ///< it accepts jobs and starts them
    std::optional<std::uint64_t> nodes;
    std::optional<std::uint64_t> cores;  ///< of all its nodes
    std::optional<std::uint64_t> memory; ///< bytes, of all its nodes
};

/// The command that lists the queues.
[[nodiscard]] submission::Call queues_call(const std::string& dialect);

/// Its answer: of `sinfo` for Slurm, of `qstat -Q -f` for TORQUE and PBS.
[[nodiscard]] std::vector<LiveQueue> read_live_queues(const std::string& dialect,
                                                      std::string_view text);

} // namespace cybele::bridge
