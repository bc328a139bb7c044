// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/sif/sif.hpp"
#include "support/error.hpp"

#include <map>
#include <string>

namespace cybele::images {

/// What `inspect` shows: the labels, definition, runscript, environment, test and help of an image,
/// read from its SIF objects.
struct Inspection {
    std::map<std::string, std::string> labels;
    std::string definition;
    std::string runscript;
    std::string startscript;
    std::string test;
    std::string help;
    std::map<std::string, std::string> environment; ///< file name → text
    /// SCIF apps by name; in them no definition and no applications.
    std::map<std::string, Inspection> apps;
    bool is_of_object = false; ///< read from the metadata object of a SIF, not from its files
};
[[nodiscard]] Result<Inspection> inspect_image(const Image& image);

} // namespace cybele::images
