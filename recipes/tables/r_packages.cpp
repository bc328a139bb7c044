// SPDX-License-Identifier: Apache-2.0
#include "recipes/tables/r_packages.hpp"

#include "recipes/tables/table.hpp"
#include "support/text.hpp"

#include <map>

namespace cybele::recipes {

std::optional<DebianRPackage> find_r_package(std::string_view name) {
    static const std::map<std::string_view, std::string_view> table = [] {
        std::map<std::string_view, std::string_view> all;
        for (const auto& row : table_rows("r-debian-12.txt")) {
            if (row.size() == 2) {
                all.emplace(row[0], row[1]);
            }
        }
        return all;
    }();
    for (const char* start : {"r-cran-", "r-bioc-"}) {
        const auto found = table.find(start + text::lowered(name));
        if (found != table.end()) {
            return DebianRPackage{found->first, found->second};
        }
    }
    return std::nullopt;
}

} // namespace cybele::recipes
