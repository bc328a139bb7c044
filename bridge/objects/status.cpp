// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/status.hpp"

#include "bridge/objects/plain_words.hpp"
#include "bridge/objects/times.hpp"
#include "support/find.hpp"
#include "support/json.hpp"

#include <algorithm>

namespace cybele::bridge {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson text_or_null(const std::string& text) {
    return text.empty() ? OrderedJson() : OrderedJson(text);
}

OrderedJson time_or_null(std::int64_t seconds) {
    return seconds == 0 ? OrderedJson() : OrderedJson(time_text(seconds));
}

OrderedJson number_or_null(std::int64_t number) {
    return number == 0 ? OrderedJson() : OrderedJson(number);
}

template <class T>
OrderedJson value_or_null(const std::optional<T>& value) {
    return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson streams_json(const Streams& streams) {
    if (streams == Streams()) {
        return {};
    }
    return {{"stdout", streams.standard_output}, {"stderr", streams.standard_error}};
}

OrderedJson conditions_json(const Status& status) {
    OrderedJson list = OrderedJson::array();
    for (const Condition& condition : status.conditions) {
        list.push_back({{"type", condition.type},
                        {"status", condition.status},
                        {"reason", condition.reason},
                        {"message", condition.message},
                        {"lastTransitionTime", time_text(condition.changed)},
                        {"observedGeneration", status.generation}});
    }
    return list;
}

OrderedJson results_json(const Status& status) {
    if (status.results.empty()) {
        return {};
    }
    OrderedJson list = OrderedJson::array();
    const std::size_t count = std::min(status.results.size(), kMostResults);
    for (std::size_t at = 0; at < count; ++at) {
        const ResultFile& file = status.results[at];
        list.push_back({{"name", file.name}, {"size", file.size}, {"sha256", file.sha256}});
    }
    return list;
}

/// Every field, null where it is not set.
OrderedJson all_fields(const Status& status) {
    return {{"status", text_or_null(status.phase)},
            {"jobId", text_or_null(status.job_id)},
            {"submitToken", text_or_null(status.token)},
            {"state", text_or_null(status.state)},
            {"reason", text_or_null(status.reason)},
            {"account", text_or_null(status.account)},
            {"site", text_or_null(status.site)},
            {"exitCode", value_or_null(status.exit_code)},
            {"signal", value_or_null(status.signal)},
            {"startTime", time_or_null(status.started)},
            {"endTime", time_or_null(status.ended)},
            {"observedGeneration", number_or_null(status.generation)},
            {"attempt", number_or_null(status.attempt)},
            {"restarts", number_or_null(status.restarts)},
            {"output", streams_json(status.output)},
            {"tail", streams_json(status.tail)},
            {"results", results_json(status)},
            {"resultsCount", number_or_null(status.results_count)},
            {"conditions", conditions_json(status)}};
}

/// What came from a batch system may hold any byte.
std::string dump(const OrderedJson& json) {
    return json_text(json, -1);
}

OrderedJson fields_that_are_set(const Status& status) {
    OrderedJson kept = OrderedJson::object();
    const OrderedJson all = all_fields(status);
    for (const auto& [name, value] : all.items()) {
        if (!value.is_null()) {
            kept[name] = value;
        }
    }
    return kept;
}

} // namespace

const Condition* Status::find(std::string_view type) const {
    return find_row(conditions, type, &Condition::type);
}

bool Status::holds(std::string_view type) const {
    const Condition* condition = find(type);
    return condition != nullptr && condition->status == "True";
}

void Status::set(Condition condition) {
    condition.message = cut_text(condition.message, kLongestMessage);
    for (Condition& known : conditions) {
        if (known.type == condition.type) {
            condition.changed =
                known.status == condition.status ? known.changed : condition.changed;
            known = std::move(condition);
            return;
        }
    }
    conditions.push_back(std::move(condition));
}

std::string status_json(const Status& status) {
    return dump(fields_that_are_set(status));
}

std::string status_fields_json(const Status& status) {
    OrderedJson fields = fields_that_are_set(status);
    fields.erase("conditions");
    return dump(fields);
}

} // namespace cybele::bridge
