// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/status.hpp"

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace cybele::bridge {

/// Reads a status of an object with this uid. One that the bridge cannot have written (another
/// token, an id that is not an id, a wrong type) is as if it were not there: the search by the uid
/// then finds the batch job, and the status is made from that.
[[nodiscard]] Status read_status(const nlohmann::json& json, std::string_view uid);

} // namespace cybele::bridge
