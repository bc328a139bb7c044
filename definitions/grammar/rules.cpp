// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/rules.hpp"

#include "support/linter.hpp"

#include <array>

namespace cybele::definitions {
namespace {

constexpr std::array kGroups = {syntax_rules, script_rules, supply_rules, places_rules};

} // namespace

std::vector<const Rule*> all_rules() {
    std::vector<const Rule*> rules;
    for (const auto group : kGroups) {
        for (const Rule& rule : group()) {
            rules.push_back(&rule);
        }
    }
    return rules;
}

const Rule* find_rule(std::string_view id) {
    for (const auto group : kGroups) {
        if (const Rule* rule = lint::find_in(group(), id)) {
            return rule;
        }
    }
    return nullptr;
}

std::string rules_page() {
    const std::string page =
        "# Rules of `def check`\n\n"
        "An error breaks the build or the image, a warning may, a note is advice. `def check` ends "
        "with 3 where the dialect's own\nparser refuses the file or an error is reported, and "
        "with `--strict` also at a warning. `cybelectl explain CD012` shows one rule.\n\n"
        "A comment `# cybelectl: ignore CD012, CD301` excludes rules on its own line or, where it "
        "stands alone, on the next line\nthat is not a comment; `# cybelectl: ignore-file CD301` "
        "in the complete file. What the parser rejects cannot be ignored.\n\n";
    return page + lint::table_of(all_rules());
}

} // namespace cybele::definitions
