// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/explain.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cybele::schedulers {

/// A Job made from a script, and what of the script is not in it.
struct Conversion {
    std::string yaml;                 ///< a document of kind Job; its comments name the remainders
    std::vector<Remainder> left;      ///< by line
    std::vector<Remainder> notes;     ///< what is carried, and worth a look
    std::vector<Remainder> why_batch; ///< what keeps a script from a launch with another kind
    std::size_t in_fields = 0;        ///< options of the batch system that became fields
    std::size_t as_words = 0;         ///< … and those that stand under `directives`
    bool has_body = false;            ///< a launch of one process that runs the script's body
};

/// Where the tasks of a script run that does not say how many nodes it needs.
enum class UnplacedTasks {
    kAnywhere, ///< the scheduler chooses, as the script leaves it
    kOneNode,  ///< all on one node: for a caller that reports this assumption
};

/// Turns a script into a Job. Where each line is understood, and one launch is all that it does, it
/// becomes launch, image and command; else it becomes `launch: batch` with its body unchanged.
/// Options become fields that mean exactly the same, or stand under `directives` as they are. What
/// cannot be carried is named with its line, never dropped. `name` is for a script without one.
/// Pure. A body that has nothing to run is kInput.
[[nodiscard]] Result<Conversion> convert_script(const Explanation& explanation,
                                                const std::string& name,
                                                UnplacedTasks unplaced = UnplacedTasks::kAnywhere);

} // namespace cybele::schedulers
