// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "definitions/lint/context.hpp"

namespace cybele::definitions {

/// CD312: words that look like passwords, tokens and keys, in any line that is no comment.
void lint_secrets(Lint& lint);

} // namespace cybele::definitions
