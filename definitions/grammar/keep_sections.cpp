// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/keep_sections.hpp"

#include "support/find.hpp"
#include "support/quote.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cybele::definitions {
namespace {

constexpr std::array<std::string_view, 9> kChosenSections{
    "environment", "files", "help", "labels", "pre", "runscript", "setup", "startscript", "test"};

} // namespace

Result<void> check_section_names(const std::vector<std::string>& names) {
    constexpr std::array<std::string_view, 3> kOthers{"all", "none", "post"};
    for (const std::string& name : names) {
        if (contains(kChosenSections, name) || contains(kOthers, name)) {
            continue;
        }
        const std::string near = nearest(name, kChosenSections);
        return fail(
            ErrorCode::kUsage,
            problem("section-unknown", "--section does not choose '" + printable(name) + "'"),
            fmt::format("it chooses among {}; others always run", fmt::join(kChosenSections, ", ")),
            near.empty() ? "leave it out" : "did you mean '" + near + "'?");
    }
    return {};
}

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
