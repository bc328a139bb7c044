// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/interventions.hpp"

#include "apiserver/patch.hpp"
#include "bridge/objects/refusals.hpp"
#include "bridge/server/api_server.hpp"
#include "bridge/service/server_session.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cybele::bridge {

Result<void> accept_object(const ServiceRequest& request, const std::string& place) {
    CYBELE_CHECK(check_place(place));
    CYBELE_TRY(const std::unique_ptr<ServerSession> server, ServerSession::open(request));
    CYBELE_TRY(const Object object, server->object(place));
    const Condition* accepted = object.status.find("Accepted");
    if (accepted == nullptr || accepted->reason != kTooOldToBeSure) {
        return fail(
            ErrorCode::kInput,
            problem("bridge-nothing-to-accept",
                    fmt::format("{} does not wait to be accepted", place)),
            fmt::format("its condition Accepted does not have the reason {}", kTooOldToBeSure),
            "see `kubectl describe` for what the object waits for");
    }
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    Status status = object.status;
    status.reason.clear();
    status.set({"Accepted",
                "True",
                std::string(kAcceptedByAdmin),
                "an administrator accepted the object",
                request.clock() / kNanoseconds});
    return server->patch("accepting " + place,
                         object_path(object) + "/status",
                         apiserver::kJsonPatch,
                         status_body(object, status));
}

Result<Object> forget_object(const ServiceRequest& request, const std::string& place) {
    CYBELE_CHECK(check_place(place));
    CYBELE_TRY(const std::unique_ptr<ServerSession> server, ServerSession::open(request));
    CYBELE_TRY(Object object, server->object(place));
    if (object.deleted == 0) {
        return fail(ErrorCode::kInput,
                    problem("bridge-forget-not-deleted", fmt::format("{} was not deleted", place)),
                    "only an object whose deletion waits for its job can be forgotten",
                    fmt::format("kubectl delete {} -n {} {} --wait=false",
                                kind_of(object),
                                object.space,
                                object.name));
    }
    if (!object.has_finalizer()) {
        return fail(ErrorCode::kInput,
                    problem("bridge-forget-not-held",
                            fmt::format("{} does not wait for the bridge", place)),
                    fmt::format("it does not have the finalizer {}", kFinalizer),
                    "see `metadata.finalizers` of the object for what it waits for");
    }
    std::vector<std::string> others = object.finalizers;
    std::erase(others, std::string(kFinalizer));
    CYBELE_CHECK(server->patch(
        "removing the finalizer of " + place,
        object_path(object),
        apiserver::kMergePatch,
        apiserver::merge_patch({{"metadata", {{"uid", object.uid}, {"finalizers", others}}}},
                               object.resource_version)));
    return object;
}

} // namespace cybele::bridge
