// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/reading/explain.hpp"

#include <string>
#include <vector>

namespace cybele::schedulers {

/// A Job made from a script, and what of the script is not in it.
struct Conversion {
    std::string yaml;            ///< a document of kind Job; its comments name the remainders
    std::vector<Remainder> left; ///< by line
};

/// Turns a script into a Job: directives into fields, one launch (`mpirun … apptainer exec image
/// program`) into launch, image and command. What cannot be carried is named with its line, never
/// dropped; other lines of the body become the Job's `script`. `name` is for a script without one.
/// Pure. A body that has nothing to run is kInput.
[[nodiscard]] Result<Conversion> convert_script(const Explanation& explanation,
                                                const std::string& name);

} // namespace cybele::schedulers
