// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"
#include "images/container/metadata.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::cli {

/// What a command line in Apptainer's spelling becomes.
struct OwnWords {
    std::vector<std::string> words; ///< of ours, for the parser
    std::optional<int> code;        ///< it is done: the exit code
};

/// Reads session.words, called by the name of Apptainer. Sets session.action where the verb starts
/// a container or is done by a function of its own. Wrong usage is reported here, with code 1.
/// Errors: what is known and not carried, which Apptainer's callers see as 255.
[[nodiscard]] Result<OwnWords> own_words(Session& session);

/// The version that `--version` tells by that name.
inline constexpr std::string_view kOtherVersion = images::kApptainerVersion;

} // namespace cybele::cli
