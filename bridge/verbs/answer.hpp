// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/service.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::bridge {

/// A request that reached the listener.
struct ListenerRequest {
    std::string path; ///< with its query
    std::string token;
    std::string certificate; ///< of the client: none, good, bad
    std::string user;        ///< that a good certificate names
    std::vector<std::string> groups;
};

/// Reads the line that the listener gives; kInput where it is none.
[[nodiscard]] Result<ListenerRequest> read_listener_request(std::string_view line);

/// Answers it: the line `STATUS CONTENT-TYPE`, then the body. `print` is false where the reader is
/// gone. Output of jobs is for the API server: who may `get nodes/proxy` by its certificate or its
/// token. Results are for the collector pod of the very object, by its token.
void answer_request(const ServiceRequest& service,
                    const ListenerRequest& request,
                    const std::function<bool(std::string_view)>& print,
                    const std::function<bool()>& is_interrupted);

} // namespace cybele::bridge
