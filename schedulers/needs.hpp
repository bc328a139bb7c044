// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/dialect.hpp"

#include <span>
#include <string_view>

namespace cybele::schedulers {

/// Whether the word names a need of a Job: `time`, `memory-per-node`, …
[[nodiscard]] bool is_need(std::string_view word);
[[nodiscard]] std::span<const std::string_view> need_names();

/// Refuses, each at its place, the needs of the Job that the dialect cannot express or that this
/// version does not serve yet.
void check_needs(const launchers::Job& job, const Dialect& dialect, Faults& faults);

/// After the head was rendered: a need of the Job whose value the head never looked up would have
/// been dropped, which is a fault of the template (kInput).
void check_carried(const launchers::Job& job,
                   const Dialect& dialect,
                   const std::set<std::string>& used,
                   Faults& faults);

} // namespace cybele::schedulers
