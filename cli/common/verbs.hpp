// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::cli {

/// VerbGroup that are made together. Without names: what is made where no verb is known.
struct VerbGroup {
    std::vector<std::string_view> names;
    Install install;
};

/// Makes only those of `all` that have the name `called`, or all where none has it. Two thirds of
/// what rendering costs would be the options of verbs that are not called. What speaks of all verbs
/// (`--help`, a mistyped one, `help`, `completion`) finds all.
void install_called(const std::vector<VerbGroup>& all,
                    std::string_view called,
                    CLI::App& parent,
                    Session& session);

/// The word of a command line that is the verb (`depth` 0), or that of its family (1); options are
/// left out. Empty: there is none.
[[nodiscard]] std::string_view verb_word(const std::vector<std::string>& words, std::size_t depth);

} // namespace cybele::cli
