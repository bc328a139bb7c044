// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/scripts/values.hpp"

namespace cybele::schedulers {

/// Reports, each at its place, what a script of directives and one launch cannot do: daemons, a
/// check of signatures, steps after the program.
void check_plain(const Rendering& rendering);

/// What the template of plain scripts uses besides script_values().
void add_plain_values(const Rendering& rendering, templates::Values& values);

} // namespace cybele::schedulers
