// SPDX-License-Identifier: Apache-2.0
#include "cli/common/verbs.hpp"

#include "support/find.hpp"

#include <algorithm>

namespace cybele::cli {

void install_called(const std::vector<VerbGroup>& all,
                    std::string_view called,
                    CLI::App& parent,
                    Session& session) {
    const auto is_called = [&](const VerbGroup& verbs) { return contains(verbs.names, called); };
    const bool is_alone = std::ranges::any_of(all, is_called);
    for (const VerbGroup& verbs : all) {
        if (!is_alone || is_called(verbs)) {
            verbs.install(parent, session);
        }
    }
}

std::string_view verb_word(const std::vector<std::string>& words, std::size_t depth) {
    for (const std::string& word : words) {
        if (!word.starts_with('-') && depth-- == 0) {
            return word;
        }
    }
    return {};
}

} // namespace cybele::cli
