// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <map>
#include <string>
#include <vector>

namespace cybele::pipeline {

/// A Job that is made from an old batch script for a program that moves into an image.
struct BatchJobRequest {
    std::string text; ///< of the script
    std::string file; ///< its name
    std::string name; ///< of the Job where the script has none
    std::string recipe;
    /// `./solver` or `x.py` of the script → the words that start it in the image
    std::map<std::string, std::vector<std::string>> programs;
};

struct BatchJob {
    std::string text;
    std::vector<std::string> assumed;
};

/// kInput where the script is for a shell other than sh, or runs nothing.
[[nodiscard]] Result<BatchJob> job_of_script(const BatchJobRequest& request);

} // namespace cybele::pipeline
