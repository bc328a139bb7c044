// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace cybele::registry {

/// A text of an object that somebody else wrote; "" where there is none, or something of another
/// type.
[[nodiscard]] inline std::string text_in(const nlohmann::json& object, const char* name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace cybele::registry
