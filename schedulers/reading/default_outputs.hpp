// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "schedulers/reading/batch_fields.hpp"
#include "schedulers/reading/batch_script.hpp"

#include <string>
#include <string_view>

namespace cybele::schedulers {

/// Outputs that a batch system chooses by itself, and what it adds to one of an array's element.
struct DefaultOutputs {
    Reader reader;
    std::string_view output;
    std::string_view errors; ///< empty: the same file
    std::string_view of_element;
    bool is_pbs;        ///< expands no `%`
    bool adds_to_named; ///< to outputs that the script names, too; OpenPBS writes all into one file
};

[[nodiscard]] const DefaultOutputs& default_outputs(Reader reader);

/// The pattern of a Job for `stdout` or `stderr`.
[[nodiscard]] std::string
default_output(bool has_array, const DefaultOutputs& defaults, std::string_view need);

/// Of a batch launch that names no outputs, the names that its batch system chooses.
void set_default_outputs(std::string_view dialect, launchers::Job& job);

/// What TORQUE's `-d` and `-w` do, measured with 6.1: both set PBS_O_WORKDIR, and outputs without
/// `-o` and `-e` are written there; `-d` also sets PBS_O_INITDIR and starts the script there.
/// Gives the options fields for these outputs, and returns the line with `setup` of the Job.
[[nodiscard]] std::string setup_of_submit_folder(const BatchScript& script, BatchOptions& options);

} // namespace cybele::schedulers
