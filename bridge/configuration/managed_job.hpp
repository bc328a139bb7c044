// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/configuration/configuration.hpp"
#include "bridge/objects/object.hpp"

#include <nlohmann/json_fwd.hpp>

/// Ordinary Jobs (batch/v1) that Kubernetes leaves to the bridge.
namespace cybele::bridge {

/// The queue and the account that a Job asks for; both are checked like those of other kinds.
inline constexpr std::string_view kQueueAnnotation = "cybelectl.io/queue";
inline constexpr std::string_view kAccountAnnotation = "cybelectl.io/account";

/// Whether `spec.managedBy` names the bridge.
[[nodiscard]] bool is_managed(const nlohmann::json& job);

/// Reads Jobs for this bridge: the pod's container becomes a batch script for the Site. What a
/// batch job cannot be given is the refusal NotConvertible, all of it at the same time. Unset where
/// the Bridge runs no Jobs. `configuration` must outlive it.
[[nodiscard]] JobReader job_reader(const Configuration& configuration);

} // namespace cybele::bridge
