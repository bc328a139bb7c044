// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/job.hpp"
#include "launchers/documents/site.hpp"
#include "support/error.hpp"
#include "templates/renderer.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::schedulers {

/// Who must have signed an image before it runs, as a Job or a Site says in `verify`.
struct Demand {
    std::string who;               ///< "job", "site hall-a"
    std::vector<std::string> keys; ///< public PEM keys, as written
    std::string require = "any";   ///< any, all, or a decimal count
    std::string policy;            ///< path of a Policy instead of keys
    std::filesystem::path folder;  ///< where relative paths start on the submitting side

    /// How many of the keys must have signed.
    [[nodiscard]] std::size_t wanted() const;
};

/// The Job's demand and the Site's; both must hold. Empty where neither asks, or without an image.
[[nodiscard]] std::vector<Demand> verification_demands(const launchers::Job& job,
                                                       const launchers::Site* site);

/// What the script's template needs. A Site's key that the nodes would not find, and more signers
/// than there are keys, are faults at their place.
void add_verification(const launchers::Job& job,
                      const launchers::Site* site,
                      templates::Values& values,
                      Faults& faults);

} // namespace cybele::schedulers
