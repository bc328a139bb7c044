// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/host.hpp"

#include <string>
#include <vector>

namespace cybele::submission {

/// A host whose calls are made by one shell per exchange, which reads its script from standard
/// input: `sh -s`, `sudo -n -u NAME sh -s`, or one of these through ssh. Files of calls are written
/// by that shell, so they belong to whom it runs as, wherever it runs.
struct ShellSettings {
    std::vector<std::string> argv; ///< what starts the shell
    std::string name;              ///< for messages: who or where it is
    EnvironmentMap environment;    ///< all that it gets
    bool is_remote = false;        ///< a lost connection does not say whether it began
    Meanwhile meanwhile = nullptr; ///< while it has not answered, once per second
};

[[nodiscard]] std::unique_ptr<Host> shell_host(ShellSettings settings);

} // namespace cybele::submission
