// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/service/service.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace cybele::bridge {

/// What the API server shows of a bridge and its objects.
struct Overview {
    std::string lease;                         ///< NAMESPACE/NAME of the Lease
    std::string holder;                        ///< of the Lease; empty: no bridge runs
    std::int64_t renewed = 0;                  ///< Unix seconds, as the holder wrote them
    std::int64_t duration = 0;                 ///< seconds after which it is free
    std::map<std::string, std::size_t> phases; ///< Pending … → how many objects
    std::map<std::string, std::size_t> waits;  ///< reason of Accepted=False → how many
    std::size_t objects = 0;
};

/// Reads the Lease and, page by page, the objects.
[[nodiscard]] Result<Overview> read_overview(const ServiceRequest& request);

} // namespace cybele::bridge
