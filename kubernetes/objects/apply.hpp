// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/error.hpp"

#include <string>

namespace cybele::kubernetes {

/// Hands objects to the API server by `kubectl apply`, with the user's own kubeconfig; gives the
/// names of those that it made or changed, a line each. kEnvironment: no kubectl, or no answer
/// within two minutes; kExecution: refused, with kubectl's own words.
[[nodiscard]] Result<std::string> apply_objects(const std::string& yaml,
                                                const Environment& environment);

} // namespace cybele::kubernetes
