// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cybele::pipeline {

/// What a new Job is about.
struct NewJob {
    std::string name;
    std::string launch = "serial";      ///< serial, openmp, mpi, torch, spark
    std::string image;                  ///< a path or reference, else
    std::string recipe;                 ///< of a Recipe
    std::string variant;                ///< of that Recipe
    std::vector<std::string> command;   ///< empty: the image's runscript
    std::vector<std::string> runscript; ///< of the image, where it is known
    std::vector<std::string> facts;     ///< lines for its first comment
    bool is_of_root = false;            ///< root makes it, whom mpirun refuses unless it is allowed
};

/// A Job with comments that help, from recipes/templates/jobs/. The same input gives the same
/// bytes, which read_job() accepts.
[[nodiscard]] Result<std::string> new_job_text(const NewJob& job);

/// `[a, "b c"]`
[[nodiscard]] std::string flow_list(const std::vector<std::string>& words);

} // namespace cybele::pipeline
