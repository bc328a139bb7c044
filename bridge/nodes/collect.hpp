// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <string>

namespace cybele::bridge {

struct CollectRequest {
    std::string from;  ///< https URL of the bridge
    std::string place; ///< NAMESPACE/NAME of the object
    std::filesystem::path token;
    std::filesystem::path certificate;
    std::filesystem::path report; ///< empty: none is written
    std::filesystem::path target; ///< folder of the volume
    Environment environment;
    std::filesystem::path program;
};

/// Copies the results of an object into a folder, as its collector pod does: what is there with
/// the right digest stays, each other file arrives under a part's name. The report says how it
/// ended, a failure too. The number of files.
[[nodiscard]] Result<std::size_t> collect_results(const CollectRequest& request);

} // namespace cybele::bridge
