// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <filesystem>
#include <string>

namespace cybele::pipeline {

struct NewJobRequest {
    std::string image;            ///< a file or reference; else
    std::filesystem::path recipe; ///< a Recipe, or a folder with one
    std::filesystem::path folder; ///< of the Job: paths in it are relative to it
    bool is_of_root = false;      ///< root makes it
};

/// A Job for an image or a Recipe that exists: what starts it follows from the image's labels
/// (`cybelectl.mpi`), or from the Recipe. kInput where the file cannot be read.
[[nodiscard]] Result<std::string> job_for(const NewJobRequest& request);

} // namespace cybele::pipeline
