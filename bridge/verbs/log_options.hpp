// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/verbs/logs.hpp"

#include <map>
#include <optional>
#include <string>

namespace cybele::bridge {

/// Reads the query of a request for the output of a container, as a kubelet does (PodLogOptions of
/// Kubernetes 1.34). What is returned is why the request is refused: a value that a kubelet would
/// refuse, or an option that has no meaning for a batch job.
[[nodiscard]] std::optional<std::string>
read_log_options(const std::map<std::string, std::string>& query, LogsRequest& request);

} // namespace cybele::bridge
