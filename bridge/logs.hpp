// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace cybele::bridge {

struct LogsRequest {
    std::string place; ///< NAMESPACE/NAME
    bool is_errors = false;
    bool follows = false; ///< until the job has ended
    std::function<bool()> is_interrupted;
    std::function<bool(std::string_view)> print; ///< false: the reader is gone
};

/// Reads the output of the object's job as its account. kInput where the object has no job or no
/// output yet.
[[nodiscard]] Result<void> show_logs(const ServiceRequest& service, const LogsRequest& request);

} // namespace cybele::bridge
