// SPDX-License-Identifier: Apache-2.0
#include "bridge/overview.hpp"

#include "bridge/api_server.hpp"
#include "bridge/pump.hpp"
#include "bridge/times.hpp"
#include "support/http.hpp"
#include "support/json.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace cybele::bridge {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kPage{30'000};

/// A token of the server, as a query's value.
std::string percent_encoded_token(std::string_view text) {
    std::string encoded;
    for (const char letter : text) {
        const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                              std::string_view("-._~").find(letter) != std::string_view::npos;
        encoded += is_plain ? std::string(1, letter)
                            : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
    return encoded;
}

Result<Json> read_json(Pump& pump, const std::string& path, bool may_be_missing) {
    constexpr int kNotFound = 404;
    const auto reply = pump.get(path, kPage);
    if (reply && reply->status == kNotFound && may_be_missing) {
        return Json::object();
    }
    if (reply && reply->ok()) {
        return parse_json(reply->body);
    }
    if (reply && reply->status != 0) {
        return fail(apiserver::refusal("reading " + path, *reply));
    }
    return fail(ErrorCode::kEnvironment,
                problem("api-server-silent", "the API server does not answer"),
                reply && reply->failure ? reply->failure->faults().front().because
                                        : "no answer within 30 seconds",
                "see whether `kubectl version` works with the same kubeconfig");
}

const Json& part(const Json& json, const char* name) {
    static const Json none = Json::object();
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found == json.end() ? none : *found;
}

std::string text_of_part(const Json& json, const char* name) {
    const Json& value = part(json, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

void count(const Json& json, Overview& overview) {
    const auto object = read_object(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!object) {
        return;
    }
    ++overview.objects;
    ++overview.phases[object->status.phase.empty() ? "New" : object->status.phase];
    const Condition* accepted = object->status.find("Accepted");
    if (accepted != nullptr && accepted->status != "True") {
        ++overview.waits[accepted->reason];
    }
}

Result<void> read_lease(Pump& pump, const std::string& path, Overview& overview) {
    CYBELE_TRY(const Json lease, read_json(pump, path, true));
    const Json& spec = part(lease, "spec");
    overview.holder = text_of_part(spec, "holderIdentity");
    overview.renewed = read_time(text_of_part(spec, "renewTime")).value_or(0);
    const Json& duration = part(spec, "leaseDurationSeconds");
    overview.duration = duration.is_number_integer() ? duration.get<std::int64_t>() : 0;
    return {};
}

Result<void> read_objects(Pump& pump, const std::string& path, Overview& overview) {
    std::string next;
    do {
        const std::string more = next.empty() ? "" : "&continue=" + percent_encoded_token(next);
        CYBELE_TRY(const Json list, read_json(pump, path + "?limit=200" + more, false));
        const Json& items = part(list, "items");
        for (const Json& item : items.is_array() ? items : Json::array()) {
            Json named = item; // items of a list do not repeat their kind
            named["apiVersion"] = kGroupVersion;
            if (!named.contains("kind")) {
                std::string kind = text_of_part(list, "kind");
                named["kind"] = kind.substr(0, kind.size() - std::min<std::size_t>(4, kind.size()));
            }
            count(named, overview);
        }
        next = text_of_part(part(list, "metadata"), "continue");
    } while (!next.empty());
    return {};
}

} // namespace

Result<Overview> read_overview(const ServiceRequest& request) {
    CYBELE_TRY(apiserver::Access access,
               apiserver::Access::read(request.environment, request.access));
    const std::string space = request.name_space.empty() ? access.name_space() : request.name_space;
    apiserver::Connection connection(
        HttpClient::find(request.environment, request.program.native()), std::move(access), 1);
    Pump pump(connection);
    Overview overview;
    const launchers::Bridge& document = request.configuration.document;
    CYBELE_CHECK(read_lease(pump,
                            "/apis/coordination.k8s.io/v1/namespaces/" + space +
                                "/leases/cybelectl-bridge-" + document.name,
                            overview));
    std::vector<std::string> spaces = document.namespaces;
    if (spaces.empty()) {
        spaces.emplace_back();
    }
    for (const std::string& served : spaces) {
        CYBELE_CHECK(
            read_objects(pump, collection_path(request.configuration.site.kind, served), overview));
    }
    return overview;
}

} // namespace cybele::bridge
