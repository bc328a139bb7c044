// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/typed_body.hpp"
#include "schedulers/reading/typed_launch.hpp"
#include "schedulers/reading/typed_setup.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cybele::schedulers {

/// A shell by its name alone.
[[nodiscard]] bool is_plain_shell(const BatchScript& script);

/// What `bash -l` or `bash -e` does before the script's first line; unset: another shell.
[[nodiscard]] std::optional<std::string> start_of_shell(const BatchScript& script);

/// `mpirun`, and its many names: `mpirun.openmpi`, `mpiexec_mpt`, `mpiexec.hydra`.
[[nodiscard]] bool is_launcher_name(std::string_view name);

/// qsub starts a script in the home directory.
[[nodiscard]] bool starts_at_home_of(const BatchScript& script);

/// One program of the host that the body's own shell starts, with its words as they are.
[[nodiscard]] std::optional<TypedLaunch> launch_of_script(const BatchScript& script,
                                                          const BatchOptions& options,
                                                          const Body& body,
                                                          const Place& place,
                                                          bool is_bound);

} // namespace cybele::schedulers
