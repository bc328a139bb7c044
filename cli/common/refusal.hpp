// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/apptainer_errors.hpp"
#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The pages of docs/refusals, one a reason for which people are often refused, and the messages
/// that lead to them.
namespace cybele::cli {

/// The page that says more about a fault: `cybelectl explain PAGE`; "" where none does. Warnings
/// have none.
[[nodiscard]] std::string_view page_about(const Fault& fault);

/// What standard error shows: each fault, with its id where `has_ids` (-v), and behind its help the
/// page that says more.
[[nodiscard]] std::string
shown_faults(const std::vector<Fault>& faults, bool is_coloured = false, bool has_ids = false);
/// A line each, as Apptainer writes them: `FATAL:   message: reason; remedy`, `WARNING: …`.
[[nodiscard]] std::string shown_faults_as_apptainer(const std::vector<Fault>& faults, Verbs verbs);
/// As objects, with the field `more`.
[[nodiscard]] std::string shown_faults_json(const std::vector<Fault>& faults);

} // namespace cybele::cli
