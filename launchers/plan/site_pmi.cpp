// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/site_pmi.hpp"

#include <algorithm>

namespace cybele::launchers {

std::string pmi_name(const Site* site, std::string_view pmi) {
    if (site == nullptr || !site->pmi) {
        return std::string(pmi);
    }
    const auto& names = *site->pmi;
    if (std::find(names.begin(), names.end(), pmi) != names.end()) {
        return std::string(pmi);
    }
    const auto version = std::find_if(
        names.begin(), names.end(), [&](const std::string& name) { return name.starts_with(pmi); });
    return version == names.end() ? std::string{} : *version;
}

} // namespace cybele::launchers
