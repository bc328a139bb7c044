// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/configuration/configuration.hpp"
#include "bridge/objects/object.hpp"

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace cybele::bridge {

/// Its containers: what `kubectl logs -c` names, standard output first.
inline constexpr std::string_view kContainerOfOutput = "batch";
inline constexpr std::string_view kContainerOfErrors = "batch-stderr";

/// The name of the pod of an object: NAME-job, or where another pod has that name (of an object of
/// another kind, or of somebody else) NAME-job- and the begin of the object's uid.
[[nodiscard]] std::string pod_name(const Object& object, bool is_taken);
/// The pod that stands for an object's job on the node of its queue.
[[nodiscard]] nlohmann::json
pod_json(const Configuration& configuration, const Object& object, const std::string& name);
[[nodiscard]] nlohmann::json pod_status_json(const Object& object);

/// What of a pod's status changes: compared, so that equal ones are not written.
[[nodiscard]] std::string shown_of(const nlohmann::json& status);

/// The reference by which the object's deletion takes the pod with it.
[[nodiscard]] nlohmann::json owner_reference(const Object& object);

} // namespace cybele::bridge
