// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "submission/backends/backend_request.hpp"
#include "support/error.hpp"

#include <memory>

namespace cybele::submission {

/// The back end for a dialect.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(const BackendRequest& request);

} // namespace cybele::submission
