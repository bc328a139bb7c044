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

/// `nodes=1:ppn=8` for one program: TORQUE counts cores, and a Job of one task with as many writes
/// the same words.
[[nodiscard]] bool
has_slots_of_cores(const BatchScript& script, const BatchOptions& options, const Place& place);

/// A path, or a program in place of which no file that is read defines a function of the shell.
[[nodiscard]] bool is_no_function(std::string_view program);

/// Whether what is asked for must stay as it is written, where one program starts: several tasks
/// or nodes, or numbers that the batch system chooses.
[[nodiscard]] bool
is_more_than_one(const BatchScript& script, const BatchOptions& options, const Place& place);

/// Whether the command leaves what is asked for beyond one process unused, so `exact` is right.
[[nodiscard]] bool leaves_rest_unused(const BatchScript& script,
                                      const BatchOptions& options,
                                      const ShellCommand& command);

/// One program of the host that the body's own shell starts, with its words as they are.
[[nodiscard]] std::optional<TypedLaunch> launch_of_script(const BatchScript& script,
                                                          const BatchOptions& options,
                                                          const Body& body,
                                                          const Place& place,
                                                          bool is_bound);

} // namespace cybele::schedulers
