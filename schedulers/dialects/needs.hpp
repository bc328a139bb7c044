// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/dialects/dialect.hpp"

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace cybele::schedulers {

/// Whether the word names a need of a Job: `time`, `memory-per-node`, …
[[nodiscard]] bool is_need(std::string_view word);
[[nodiscard]] std::span<const std::string_view> need_names();

/// Refuses, each at its place, the needs of the Job, and their forms, that the dialect cannot
/// express or that this version does not serve yet. Where the version of the batch system is not
/// known, what its oldest cannot express is a warning.
void check_needs(const launchers::Job& job, const Dialect& dialect, Faults& faults);

/// The job's name as the batch system takes it: a longer one than it has room for is cut to its
/// first characters, `-` and four of its SHA-256.
[[nodiscard]] std::string name_for(const launchers::Job& job, const Dialect& dialect);

/// Whether Slurm, TORQUE and OpenPBS take the name alike: others lose parts or are refused by one
/// of them. The reason that is told is kJobNameRule.
[[nodiscard]] bool is_job_name(std::string_view name);
inline constexpr std::string_view kJobNameRule =
    "batch systems agree on letters, digits and `. _ -`, a letter first";

/// Whether `directives` for Slurm name the outputs, and `output` does not: then no head names them.
[[nodiscard]] bool leaves_outputs_to_directives(const launchers::Job& job);

/// The forms of an array's indexes that a Job writes: range, step, list, single, limit.
[[nodiscard]] std::set<std::string_view> array_forms(std::string_view array);

/// What an id of a job looks like: number (`12`), element (`12_3`), server (`12.head`), bracket
/// (`12[3].head`); empty: it is none.
[[nodiscard]] std::string_view id_form(std::string_view id);

/// After the head was rendered: a need of the Job whose value the head never looked up would have
/// been dropped, which is a fault of the template (kInput).
void check_carried(const launchers::Job& job,
                   const Dialect& dialect,
                   const std::set<std::string>& used,
                   Faults& faults);

} // namespace cybele::schedulers
