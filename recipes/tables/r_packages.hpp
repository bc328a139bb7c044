// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cybele::recipes {

/// A package of R that Debian 12 has.
struct DebianRPackage {
    std::string_view package; ///< "r-cran-ggplot2"
    std::string_view version; ///< of its authors: "3.4.1"
};

/// The package of Debian 12 (tables/r-debian-12.txt) for a package of CRAN or Bioconductor, whose
/// name there is in small letters.
[[nodiscard]] std::optional<DebianRPackage> find_r_package(std::string_view name);

} // namespace cybele::recipes
