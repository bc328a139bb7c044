// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace cybele::submission {

/// A process that submits or follows a job: itself alone while its id is its own, so its start
/// time, the boot and the host are kept with the id.
struct ProcessIdentity {
    pid_t pid = 0;
    std::string start; ///< field 22 of /proc/PID/stat
    std::string boot;
    std::string host = {}; ///< empty: not known

    /// Whether this very process lives, as far as this machine sees.
    [[nodiscard]] bool is_alive() const;
    /// Whether it is of another machine, where nothing is seen of it.
    [[nodiscard]] bool is_elsewhere() const;
};
[[nodiscard]] ProcessIdentity id_of_process(pid_t pid);
[[nodiscard]] std::string text_of(const ProcessIdentity& id);
[[nodiscard]] std::optional<ProcessIdentity> read_process_id(const std::string& text);

} // namespace cybele::submission
