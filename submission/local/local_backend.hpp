// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "support/environment.hpp"

#include <memory>

namespace cybele::submission {

/// The scheduler that is built in, behind the interface of all back ends.
[[nodiscard]] std::unique_ptr<Backend> local_backend(const Environment& environment);

} // namespace cybele::submission
