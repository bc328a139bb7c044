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

/// Why no typed launch has the shell of the script.
[[nodiscard]] std::string shell_without_launch(const BatchScript& script);

/// `mpirun`, and its many names: `mpirun.openmpi`, `mpiexec_mpt`, `mpiexec.hydra`.
[[nodiscard]] bool is_launcher_name(std::string_view name);

/// Whether the outputs of a job of PBS are files of a folder. The batch system fills them after
/// the job, which runs where the folder is missing; a launch of ours opens them, and would not.
[[nodiscard]] bool has_outputs_in_folder(const BatchScript& script, const BatchOptions& options);

/// Whether the script may see a number that a launch of ours would set, and the script leaves to
/// the batch system: tasks, the cores of a GPU's queue, all of PBS.
[[nodiscard]] bool has_numbers_of_default(const BatchScript& script, const BatchOptions& options);

/// One program of the host that the body's own shell starts, with its words as they are.
[[nodiscard]] std::optional<TypedLaunch> launch_of_script(const BatchScript& script,
                                                          const BatchOptions& options,
                                                          const Body& body,
                                                          const Place& place,
                                                          bool is_bound);

} // namespace cybele::schedulers
