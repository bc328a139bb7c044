// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common/session.hpp"

namespace cybele::cli {

/// Reads `[-v] exec|run|shell [OPTIONS] IMAGE [WORDS…]` without the parser of all other verbs,
/// which would be a fifth of what a start costs here: ranks start often, and are told by plain
/// words. True when all was understood: session.action is set. Else nothing was changed, and the
/// parser says what is wrong, shows the help, or takes what is written in a rarer way (several
/// letters behind one hyphen, a value that begins with one).
[[nodiscard]] bool read_start(Session& session);

} // namespace cybele::cli
