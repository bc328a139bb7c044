// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedulers/render.hpp"
#include "support/error.hpp"

#include <string>
#include <vector>

namespace cybele::kubernetes {

/// The yaml of a bridge's object with the job's script inside as a literal block:
/// parse(yaml).spec.batch equals the script byte for byte. `kind`: TorqueJob (others: "not yet:
/// …"). `input.dialect` is set from the kind.
[[nodiscard]] Result<schedulers::RenderedScript> render_object(schedulers::RenderInput input,
                                                               const std::string& kind);

[[nodiscard]] std::vector<std::string> kind_names();

} // namespace cybele::kubernetes
