// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/server_session.hpp"
#include "bridge/service/service.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cybele::bridge {

struct LogsRequest {
    std::string place; ///< NAMESPACE/NAME, or job/NAMESPACE/NAME
    bool is_errors = false;
    bool follows = false;               ///< until the job has ended
    std::optional<std::uint64_t> lines; ///< of the end only
    std::optional<std::uint64_t> most;  ///< bytes
    std::optional<std::int64_t> age;    ///< seconds: no lines that are older
    std::optional<std::int64_t> since;  ///< Unix seconds, instead of an age
    bool is_stamped = false;            ///< each line begins with the time of its writing, or later
    std::function<bool()> is_interrupted;
    std::function<bool(std::string_view)> print; ///< false: the reader is gone
};

/// Reads the output of the object's job as its account. kInput where the object has no job or no
/// output yet.
[[nodiscard]] Result<void> show_logs(const ServiceRequest& service, const LogsRequest& request);
/// The same of an object that was read already.
[[nodiscard]] Result<void> show_logs_of(ServerSession& server,
                                        const ServiceRequest& service,
                                        const LogsRequest& request,
                                        Object object);

/// The row of the Bridge by which the job of the object was submitted.
[[nodiscard]] Result<launchers::BridgeAccount> row_of(const ServiceRequest& service,
                                                      const Object& object);

} // namespace cybele::bridge
