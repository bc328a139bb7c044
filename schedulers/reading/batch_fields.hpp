// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/asked.hpp"

#include <map>
#include <string>
#include <vector>

namespace cybele::schedulers {

/// The options of a script for a batch launch: each as a field where the field says exactly the
/// same, else word by word.
struct BatchOptions {
    std::map<std::string, std::string> fields; ///< `resources.nodes` → its value in yaml
    std::vector<std::string> words;            ///< for `directives`
    std::size_t in_fields = 0;                 ///< options that became fields
    std::vector<Remainder> refused;            ///< options that the batch system does not know
    bool gets_image = false; ///< by the caller, which gives the image an MPI of its own
};

[[nodiscard]] BatchOptions batch_options(const BatchScript& script);

} // namespace cybele::schedulers
