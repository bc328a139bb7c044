// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/objects/object.hpp"
#include "bridge/objects/status.hpp"

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

/// The status of an ordinary Job. Its fields are Kubernetes' own, so the bridge's (the id of the
/// batch job, its account, its state) are the message of one condition, which users cannot write.
namespace cybele::bridge {

/// The condition with the bridge's fields, as JSON.
inline constexpr std::string_view kRecordCondition = "BatchJob";

/// Reads what job_status_json() wrote; a status that it cannot have written is as if not there.
[[nodiscard]] Status read_job_status(const nlohmann::json& json, std::string_view uid);

/// Where in the Job's status that condition is, and its message.
struct JobRecord {
    std::string path; ///< JSON pointer
    std::string message;
};
[[nodiscard]] JobRecord job_record(const Status& status);

/// The Job's status, by the server's rules for Jobs that another controller manages: counters and
/// times that do not go back, SuccessCriteriaMet before Complete, FailureTarget before Failed,
/// completionTime of a Complete Job only.
[[nodiscard]] nlohmann::json job_status_json(const Object& object, const Status& status);

/// `startTime` in it; 0: none yet.
[[nodiscard]] std::int64_t job_start(const Object& object, const Status& status);

} // namespace cybele::bridge
