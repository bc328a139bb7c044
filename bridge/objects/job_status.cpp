// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/job_status.hpp"

#include "bridge/objects/read_status.hpp"
#include "bridge/objects/times.hpp"
#include "support/find.hpp"
#include "support/json.hpp"

#include <algorithm>
#include <array>

namespace cybele::bridge {
namespace {

using JobJson = nlohmann::json;

/// The condition that the server requires next to each end, and the reason that it has there.
struct Ending {
    std::string_view end;
    std::string_view before;
};
constexpr std::array kEndings{Ending{"Complete", "SuccessCriteriaMet"},
                              Ending{"Failed", "FailureTarget"}};

bool is_derived(std::string_view type) {
    return type == kRecordCondition || contains(kEndings, type, &Ending::before);
}

JobJson condition_json(std::string_view type, const Condition& condition) {
    return {{"type", type},
            {"status", condition.status},
            {"reason", condition.reason},
            {"message", condition.message},
            {"lastTransitionTime", time_text(condition.changed)}};
}

/// Kubernetes' word for a Job that ran longer than `activeDeadlineSeconds`.
Condition of_job(const Object& object, Condition condition) {
    if (condition.type == "Failed" && condition.reason == "TimeLimit" && object.job.has_deadline) {
        condition.reason = "DeadlineExceeded";
    }
    return condition;
}

JobJson conditions_of(const Object& object, const Status& status) {
    JobJson list = JobJson::array();
    for (const Ending& ending : kEndings) {
        if (const Condition* end = status.find(ending.end); end != nullptr) {
            list.push_back(condition_json(ending.before, of_job(object, *end)));
        }
    }
    std::int64_t latest = 0;
    for (const Condition& condition : status.conditions) {
        list.push_back(condition_json(condition.type, of_job(object, condition)));
        latest = std::max(latest, condition.changed);
    }
    Condition record;
    record.status = status.job_id.empty() ? "False" : "True";
    record.reason = status.job_id.empty() ? "NotSubmitted" : "Submitted";
    record.message = status_fields_json(status);
    record.changed = latest;
    list.push_back(condition_json(kRecordCondition, record));
    return list;
}

bool is_finished(const Status& status) {
    return status.holds("Complete") || status.holds("Failed");
}

} // namespace

Status read_job_status(const JobJson& json, std::string_view uid) {
    const auto conditions = json.is_object() ? json.find("conditions") : json.end();
    if (conditions == json.end() || !conditions->is_array()) {
        return {};
    }
    JobJson fields;
    JobJson others = JobJson::array();
    for (const JobJson& condition : *conditions) {
        const auto type = condition.is_object() ? condition.find("type") : condition.end();
        if (type == condition.end() || !type->is_string()) {
            return {};
        }
        if (!is_derived(type->get_ref<const std::string&>())) {
            others.push_back(condition);
        } else if (*type == kRecordCondition && condition.contains("message") &&
                   condition["message"].is_string()) {
            fields = parse_json(condition["message"].get_ref<const std::string&>());
        }
    }
    if (!fields.is_object()) {
        return {};
    }
    fields["conditions"] = std::move(others);
    return read_status(fields, uid);
}

std::int64_t job_start(const Object& object, const Status& status) {
    if (object.job.started != 0) {
        return object.job.started; // the server keeps it, whatever is written
    }
    if (status.started != 0) {
        return status.started;
    }
    if (!is_finished(status)) {
        return 0;
    }
    // A Job that has ended has a start, also where nothing ever ran.
    const Condition* end = status.find(status.holds("Complete") ? "Complete" : "Failed");
    return status.ended != 0 ? std::min(status.ended, end->changed) : end->changed;
}

JobRecord job_record(const Status& status) {
    const auto ends = std::ranges::count_if(
        kEndings, [&](const Ending& ending) { return status.find(ending.end) != nullptr; });
    const std::size_t at = static_cast<std::size_t>(ends) + status.conditions.size();
    return {"/status/conditions/" + std::to_string(at) + "/message", status_fields_json(status)};
}

JobJson job_status_json(const Object& object, const Status& status) {
    const bool is_over = is_finished(status);
    const bool has_job = !status.job_id.empty();
    const bool is_running = status.phase == "Running" && !is_over;
    const std::int64_t start = job_start(object, status);
    JobJson written{{"active", has_job && !is_over ? 1 : 0},
                    {"ready", is_running ? 1 : 0},
                    {"conditions", conditions_of(object, status)}};
    if (start != 0) {
        written["startTime"] = time_text(start);
    }
    if (status.holds("Complete")) {
        written["succeeded"] = 1;
        written["completionTime"] = time_text(std::max(status.ended, start));
        if (object.job.is_indexed) {
            written["completedIndexes"] = "0";
        }
    } else if (status.holds("Failed") && has_job) {
        written["failed"] = 1;
    }
    return written;
}

} // namespace cybele::bridge
