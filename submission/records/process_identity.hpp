// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace cybele::submission {

/// The process that follows a local job: itself alone while its id is its own, so its start time
/// and the boot are kept with the id.
struct ProcessIdentity {
    pid_t pid = 0;
    std::string start; ///< field 22 of /proc/PID/stat
    std::string boot;

    /// Whether this very process lives.
    [[nodiscard]] bool is_alive() const;
};
[[nodiscard]] ProcessIdentity id_of_process(pid_t pid);
[[nodiscard]] std::string text_of(const ProcessIdentity& id);
[[nodiscard]] std::optional<ProcessIdentity> read_process_id(const std::string& text);

} // namespace cybele::submission
