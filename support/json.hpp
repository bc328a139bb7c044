// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace cybele {

/// No document that this program reads needs more, and what copies or prints a value recurses.
inline constexpr std::size_t kDeepestJson = 512;

/// Whether arrays and objects lie deeper in each other than that.
[[nodiscard]] inline bool is_nested_too_deep(std::string_view json) {
    std::size_t depth = 0;
    bool is_in_text = false;
    for (std::size_t at = 0; at < json.size(); ++at) {
        const char c = json[at];
        if (is_in_text) {
            at += c == '\\' ? 1 : 0;
            is_in_text = c != '"';
        } else if (c == '"') {
            is_in_text = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kDeepestJson) {
                return true;
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
    return false;
}

/// What somebody else wrote: discarded where it is not JSON, or nested too deep.
template <class Json = nlohmann::json>
[[nodiscard]] Json parse_json(std::string_view text) {
    return is_nested_too_deep(text) ? Json(nlohmann::json::value_t::discarded)
                                    : Json::parse(text, nullptr, false);
}

/// A member of what somebody else wrote; null where it is not an object, or has no such member.
template <class Json>
[[nodiscard]] const Json& member_of(const Json& json, std::string_view name) {
    static const Json none;
    const auto found = json.is_object() ? json.find(name) : json.end();
    return json.is_object() && found != json.end() ? *found : none;
}

/// The same of a member that is a text; "" where there is none, or something of another type.
template <class Json>
[[nodiscard]] std::string member_text(const Json& json, std::string_view name) {
    const Json& value = member_of(json, name);
    return value.is_string() ? value.template get<std::string>() : std::string();
}

/// The text of a JSON value. Bytes that are no UTF-8, which names of files and lines of other
/// people's scripts may have, become U+FFFD: JSON cannot hold them, and the library would throw.
template <class Json>
[[nodiscard]] std::string json_text(const Json& value, int indent = 2) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace cybele
