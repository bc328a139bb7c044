// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/keep_sections.hpp"

#include "support/find.hpp"

#include <string_view>

namespace cybele::definitions {
namespace {

constexpr std::string_view kChosenSections[] = {
    "environment", "files", "help", "labels", "pre", "runscript", "setup", "startscript", "test"};

} // namespace

Result<void> keep_sections(Definition& definition, const std::vector<std::string>& names) {
    const auto has = [&](std::string_view name) { return contains(names, name); };
    if (names.size() > 1 && (has("all") || has("none"))) {
        return fail(ErrorCode::kUsage,
                    problem("section-choice", "--section: 'all' and 'none' stand alone"),
                    "other sections are named next to it",
                    "leave one of them out");
    }
    if (names.empty() || has("all")) {
        return {};
    }
    for (Stage& stage : definition.stages) {
        std::erase_if(stage.sections, [&](const Section& one) {
            const bool is_chosen = contains(kChosenSections, one.name);
            return is_chosen && !has(one.name);
        });
    }
    return {};
}

} // namespace cybele::definitions
