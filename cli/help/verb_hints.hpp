// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace cybele::cli {

/// The commands that a word means where no verb of that name stands at its place: a verb of that
/// name below another one ("cancel": "job cancel"), or what other programs call it ("squeue": "job
/// list"). Empty: none is known. `all` has all verbs.
[[nodiscard]] std::vector<std::string> commands_for(const CLI::App& all, std::string_view word);

/// One help for those commands, each with the words that follow: "write `cybelectl job cancel 3`".
[[nodiscard]] std::string verb_hint(const std::vector<std::string>& commands,
                                    const std::vector<std::string>& following);

} // namespace cybele::cli
