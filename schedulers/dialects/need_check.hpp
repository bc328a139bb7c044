// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/dialects/dialect.hpp"

#include <string>

#include <fmt/format.h>

namespace cybele::schedulers {

/// A check of a Job against the rules of one version.
struct Check {
    const launchers::Job& job;
    const Dialect& dialect;
    const Rules& rules;
    Faults& faults;

    /// "slurm", "pbspro before 20".
    [[nodiscard]] std::string who(const std::string& before) const {
        return before.empty() ? dialect.name : fmt::format("{} before {}", dialect.name, before);
    }
};

/// Name, array and ids: whether what the Job writes is of a form that the rules have.
void check_forms(const Check& check);

} // namespace cybele::schedulers
