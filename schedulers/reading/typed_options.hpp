// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/batch_script.hpp"
#include "schedulers/reading/launcher_options.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cybele::schedulers {

/// Options that change nothing of what is started, nor of its outputs.
[[nodiscard]] bool is_free_word(const BatchScript& script, const std::string& word);

/// Options that a launch by words may keep, although an `srun` in the script reads them too: it
/// reads them the same way in ours.
[[nodiscard]] bool is_launch_word(const BatchScript& script, const std::string& word);

/// Options that would have another effect next to those of a launch of ours: they say how many
/// tasks start, whose outputs are whose, which variables the script has.
[[nodiscard]] bool is_bound_word(const BatchScript& script, const std::string& word);

/// Why no typed launch has the word.
[[nodiscard]] std::string reason_of_word(const BatchScript& script, std::string_view word);

/// Options of srun that may be options of a launch.
[[nodiscard]] bool is_passed_to_srun(std::string_view option);

/// Options of mpirun that may be options of a launch: they place and bind no rank.
[[nodiscard]] bool
is_passed_to_mpirun(Starter starter, std::string_view option, std::string_view value);

/// The line of the directive that a word under `directives` stands for; 0: none.
[[nodiscard]] std::size_t line_of_word(const BatchScript& script, std::string_view word);

} // namespace cybele::schedulers
