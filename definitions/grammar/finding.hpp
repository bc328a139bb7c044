// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/lint.hpp"

namespace cybele::definitions {

/// A fault or trap of a definition file, with the rule that it breaks (rules.hpp). A refusal is
/// what the dialect's parser refuses.
using lint::Finding;
using lint::Findings;

} // namespace cybele::definitions
