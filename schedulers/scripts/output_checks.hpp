// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/scripts/values.hpp"

namespace cybele::schedulers {

/// The patterns of `output`: errors for those that the dialect cannot write, warnings of a file
/// that several elements or continuations share.
void check_outputs(const Rendering& rendering);

} // namespace cybele::schedulers
