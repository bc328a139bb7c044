// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/overview.hpp"

#include "bridge/objects/times.hpp"
#include "bridge/service/server_session.hpp"
#include "support/json.hpp"

#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

using Json = nlohmann::json;

void count(const Object& object, Overview& overview) {
    ++overview.objects;
    ++overview.phases[object.status.phase.empty() ? "New" : object.status.phase];
    const Condition* accepted = object.status.find("Accepted");
    if (accepted != nullptr && accepted->status != "True") {
        ++overview.waits[accepted->reason];
    }
}

Result<void> read_lease(ServerSession& server, const std::string& path, Overview& overview) {
    CYBELE_TRY(const Json lease, server.read_if_present(path));
    const Json& spec = member_of(lease, "spec");
    overview.holder = member_text(spec, "holderIdentity");
    overview.renewed = read_time(member_text(spec, "renewTime")).value_or(0);
    const Json& duration = member_of(spec, "leaseDurationSeconds");
    overview.duration = duration.is_number_integer() ? duration.get<std::int64_t>() : 0;
    return {};
}

} // namespace

Result<Overview> read_overview(const ServiceRequest& request) {
    CYBELE_TRY(const std::unique_ptr<ServerSession> server, ServerSession::open(request));
    Overview overview;
    const std::string name = "cybelectl-bridge-" + request.configuration.document.name;
    overview.lease = server->name_space() + "/" + name;
    CYBELE_CHECK(read_lease(*server,
                            "/apis/coordination.k8s.io/v1/namespaces/" + server->name_space() +
                                "/leases/" + name,
                            overview));
    CYBELE_CHECK(server->each_object([&](const Object& object) { count(object, overview); }));
    return overview;
}

} // namespace cybele::bridge
