// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/object.hpp"
#include "bridge/status.hpp"

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

/// The status of an ordinary Job. Its fields are Kubernetes' own, so the bridge's (the id of the
/// batch job, its account, its state) are the message of one condition, which users cannot write.
namespace cybele::bridge {

/// The condition with the bridge's fields, as JSON.
inline constexpr std::string_view kRecordCondition = "BatchJob";

/// Reads what job_status_patch() wrote; a status that it cannot have written is as if not there.
[[nodiscard]] Status read_job_status(const nlohmann::json& json, std::string_view uid);

/// The body of a merge patch of the Job's `/status`, by the server's rules for Jobs that another
/// controller manages: counters and times that do not go back, SuccessCriteriaMet before Complete,
/// FailureTarget before Failed, completionTime of a Complete Job only.
[[nodiscard]] std::string job_status_patch(const Object& object, const Status& status);

/// `startTime` after that patch; 0: none yet.
[[nodiscard]] std::int64_t job_start(const Object& object, const Status& status);

} // namespace cybele::bridge
