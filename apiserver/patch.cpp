// SPDX-License-Identifier: Apache-2.0
#include "apiserver/patch.hpp"

#include "support/json.hpp"

namespace cybele::apiserver {

namespace {

using Json = nlohmann::json;

std::string written(const Json& value) {
    return json_text(value, -1);
}

Json finalizers_of(const Json& object) {
    const Json metadata = object.value("metadata", Json::object());
    const Json finalizers = metadata.value("finalizers", Json::array());
    return finalizers.is_array() ? finalizers : Json::array();
}

} // namespace

Json test(const std::string& path, Json value) {
    return {{"op", "test"}, {"path", path}, {"value", std::move(value)}};
}

std::string merge_patch(Json change, std::string_view revision) {
    change["metadata"]["resourceVersion"] = revision;
    return written(change);
}

std::string add_finalizer(const Json& object, std::string_view finalizer) {
    Json finalizers = finalizers_of(object);
    finalizers.push_back(finalizer);
    const Json& metadata = object.at("metadata");
    return written({{"metadata",
                     {{"uid", metadata.at("uid")},
                      {"resourceVersion", metadata.at("resourceVersion")},
                      {"finalizers", std::move(finalizers)}}}});
}

std::optional<std::string>
remove_finalizer(const Json& object, std::string_view finalizer, Json tests) {
    const Json finalizers = finalizers_of(object);
    for (std::size_t at = 0; at < finalizers.size(); ++at) {
        if (finalizers[at] == finalizer) {
            const std::string path = "/metadata/finalizers/" + std::to_string(at);
            tests.push_back(test("/metadata/uid", object.at("metadata").at("uid")));
            tests.push_back(test(path, finalizer));
            tests.push_back({{"op", "remove"}, {"path", path}});
            return written(tests);
        }
    }
    return std::nullopt;
}

std::string set_status(Json tests, Json status) {
    tests.push_back({{"op", "add"}, {"path", "/status"}, {"value", std::move(status)}});
    return written(tests);
}

std::string delete_options(const DeleteConditions& conditions) {
    Json options{{"kind", "DeleteOptions"},
                 {"apiVersion", "v1"},
                 {"preconditions", {{"uid", conditions.uid}}}};
    if (!conditions.revision.empty()) {
        options["preconditions"]["resourceVersion"] = conditions.revision;
    }
    if (conditions.grace_seconds) {
        options["gracePeriodSeconds"] = *conditions.grace_seconds;
    }
    return written(options);
}

} // namespace cybele::apiserver
