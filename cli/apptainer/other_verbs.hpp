// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/apptainer/own_words.hpp"
#include "cli/apptainer/verb_table.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::cli {

/// A call of a verb of the table, as it was read.
struct OtherCall {
    const OtherVerb* verb = nullptr;
    std::vector<std::pair<const OtherFlag*, std::string>> flags;
    std::vector<std::string> words; ///< that are no flags
    std::vector<std::string> same;  ///< options of ours for its flags
    std::string group_file;         ///< of `remote --config FILE`
    bool wants_help = false;

    /// The words of our command, with the options that are passed on.
    [[nodiscard]] std::vector<std::string> own_words() const;
    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
    /// Of the last one; empty: none.
    [[nodiscard]] std::string value(std::string_view name) const;
};

/// The words of ours that do it; or it is done by session.action.
[[nodiscard]] Result<OwnWords> translate(Session& session, const OtherCall& call);

} // namespace cybele::cli
