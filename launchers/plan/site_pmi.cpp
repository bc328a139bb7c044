// SPDX-License-Identifier: Apache-2.0
#include "launchers/plan/site_pmi.hpp"

#include "support/find.hpp"

#include <algorithm>

namespace cybele::launchers {

std::string pmi_name(const Site* site, std::string_view pmi) {
    if (site == nullptr || !site->pmi) {
        return std::string(pmi);
    }
    const auto& names = *site->pmi;
    if (contains(names, pmi)) {
        return std::string(pmi);
    }
    const auto version =
        std::ranges::find_if(names, [&](const std::string& name) { return name.starts_with(pmi); });
    return version == names.end() ? std::string{} : *version;
}

} // namespace cybele::launchers
