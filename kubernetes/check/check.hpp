// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/lint.hpp"

#include <string>
#include <vector>

namespace cybele::kubernetes {

struct CheckReport {
    std::string file;
    std::vector<lint::Finding> findings; ///< by line and column

    [[nodiscard]] std::size_t count(lint::Severity severity) const;
};

/// Judges a yaml file with objects for bridges, and the scripts in them, by the rules
/// (check/rules.hpp), without a server. Never fails: what cannot be read is a finding.
[[nodiscard]] CheckReport check_objects(std::string text, std::string file);

} // namespace cybele::kubernetes
