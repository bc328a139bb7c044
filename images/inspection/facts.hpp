// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "support/error.hpp"

#include <map>
#include <string>

namespace cybele::images {

/// Facts of an image that a launch believes, from its labels, without mounting it.
struct ImageFacts {
    std::map<std::string, std::string> labels;
    std::string mpi; ///< "openmpi 4.1.4"; empty: unknown
    std::string pmi;
    std::string mpi_probe; ///< path of the guard's program in the image
    std::string libc;
    std::string architecture;
};
[[nodiscard]] Result<ImageFacts> read_facts(const Image& image);

} // namespace cybele::images
