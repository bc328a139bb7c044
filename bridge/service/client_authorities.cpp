// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/client_authorities.hpp"

#include "support/json.hpp"

#include <chrono>
#include <string_view>

#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

constexpr std::chrono::milliseconds kAuthoritiesAnswer{10'000};
constexpr std::string_view kAuthentication =
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

} // namespace

std::optional<std::string> client_authorities(Pump& pump) {
    const auto reply = pump.get(std::string(kAuthentication), kAuthoritiesAnswer);
    const nlohmann::json map =
        reply && reply->ok() ? parse_json(reply->body) : nlohmann::json::object();
    const nlohmann::json data =
        map.is_object() ? map.value("data", nlohmann::json::object()) : nlohmann::json::object();
    const nlohmann::json text = data.value("client-ca-file", nlohmann::json());
    return text.is_string() ? std::optional(text.get<std::string>()) : std::nullopt;
}

} // namespace cybele::bridge
