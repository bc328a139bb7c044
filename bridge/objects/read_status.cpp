// SPDX-License-Identifier: Apache-2.0
#include "bridge/objects/read_status.hpp"

#include "bridge/objects/patterns.hpp"
#include "bridge/objects/times.hpp"
#include "support/find.hpp"

#include <limits>

#include <nlohmann/json.hpp>

namespace cybele::bridge {
namespace {

using StatusJson = nlohmann::json;

constexpr std::size_t kMostConditions = 16;

/// Reads members of one object, and remembers whether one had another type or was too long.
class StatusReader {
public:
    explicit StatusReader(const StatusJson& json) : json_(json) {}

    std::string text(const char* name, std::size_t most) {
        const StatusJson* value = find(name);
        if (value == nullptr) {
            return {};
        }
        if (!value->is_string() || value->get_ref<const std::string&>().size() > most) {
            is_sound_ = false;
            return {};
        }
        return value->get<std::string>();
    }

    std::optional<int> number(const char* name) {
        const StatusJson* value = find(name);
        if (value == nullptr) {
            return std::nullopt;
        }
        const bool is_number = value->is_number_integer();
        const auto found = is_number ? value->get<std::int64_t>() : -1;
        constexpr std::int64_t kMost = std::numeric_limits<int>::max();
        if (!is_number || found < -kMost || found > kMost) {
            is_sound_ = false;
            return std::nullopt;
        }
        return static_cast<int>(found);
    }

    std::int64_t time(const char* name) {
        constexpr std::size_t kLongestTime = 40;
        const std::string written = text(name, kLongestTime);
        if (written.empty()) {
            return 0;
        }
        const auto seconds = read_time(written);
        is_sound_ = is_sound_ && seconds.has_value();
        return seconds.value_or(0);
    }

    /// The object or list under a name; an empty one where there is none.
    const StatusJson& inner(const char* name, StatusJson::value_t type) {
        static const StatusJson nothing;
        const StatusJson* value = find(name);
        if (value != nullptr && value->type() != type) {
            is_sound_ = false;
            value = nullptr;
        }
        return value == nullptr ? nothing : *value;
    }

    void expect(bool holds) {
        is_sound_ = is_sound_ && holds;
    }
    [[nodiscard]] bool is_sound() const {
        return is_sound_;
    }

private:
    const StatusJson* find(const char* name) {
        const auto found = json_.is_object() ? json_.find(name) : json_.end();
        return found == json_.end() || found->is_null() ? nullptr : &*found;
    }

    const StatusJson& json_;
    bool is_sound_ = true;
};

constexpr std::size_t kLongestWord = 1024;
constexpr std::size_t kLongestStream = 4096;
/// A byte that is not UTF-8 is read as U+FFFD, which has three bytes.
constexpr std::size_t kLongestRead = 4 * kLongestMessage;

bool read_conditions(const StatusJson& list, Status& status) {
    if (list.size() > kMostConditions) {
        return false;
    }
    for (const StatusJson& one : list) {
        StatusReader reader(one);
        Condition condition;
        condition.type = reader.text("type", kLongestWord);
        condition.status = reader.text("status", kLongestWord);
        condition.reason = reader.text("reason", kLongestWord);
        condition.message = reader.text("message", kLongestRead);
        condition.changed = reader.time("lastTransitionTime");
        if (!reader.is_sound() || condition.type.empty() ||
            !contains({"True", "False", "Unknown"}, condition.status)) {
            return false;
        }
        status.conditions.push_back(std::move(condition));
    }
    return true;
}

bool read_streams(const StatusJson& json, Streams& streams) {
    StatusReader reader(json);
    streams.standard_output = reader.text("stdout", kLongestStream);
    streams.standard_error = reader.text("stderr", kLongestStream);
    return reader.is_sound();
}

bool read_result_files(const StatusJson& list, Status& status) {
    if (list.size() > kMostResults) {
        return false;
    }
    for (const StatusJson& one : list) {
        StatusReader reader(one);
        ResultFile file;
        file.name = reader.text("name", kLongestStream);
        file.sha256 = reader.text("sha256", 64);
        file.size = one.is_object() && one.contains("size") && one["size"].is_number_integer()
                        ? one["size"].get<std::int64_t>()
                        : 0;
        if (!reader.is_sound() || file.name.empty()) {
            return false;
        }
        status.results.push_back(std::move(file));
    }
    return true;
}

/// What only a status that the bridge wrote can be.
bool is_ours(const Status& status, std::string_view uid) {
    const bool has_job = !status.job_id.empty();
    return (status.token.empty() || status.token == uid) && (!has_job || status.token == uid) &&
           (!has_job || is_job_id(status.job_id)) && (!has_job || is_batch_name(status.account)) &&
           contains({"", "Pending", "Running", "Succeeded", "Failed", "Unknown"}, status.phase) &&
           !(status.holds("Complete") && status.holds("Failed"));
}

} // namespace

Status read_status(const StatusJson& json, std::string_view uid) {
    if (json.is_null()) {
        return {};
    }
    StatusReader reader(json);
    Status status;
    reader.expect(json.is_object());
    status.phase = reader.text("status", kLongestWord);
    status.job_id = reader.text("jobId", kLongestWord);
    status.token = reader.text("submitToken", kLongestWord);
    status.state = reader.text("state", kLongestWord);
    status.reason = reader.text("reason", kLongestWord);
    status.account = reader.text("account", kLongestWord);
    status.site = reader.text("site", kLongestWord);
    status.exit_code = reader.number("exitCode");
    status.signal = reader.number("signal");
    status.started = reader.time("startTime");
    status.ended = reader.time("endTime");
    status.generation = reader.number("observedGeneration").value_or(0);
    status.attempt = reader.number("attempt").value_or(0);
    status.restarts = reader.number("restarts").value_or(0);
    status.results_count = reader.number("resultsCount").value_or(0);
    reader.expect(read_streams(reader.inner("output", StatusJson::value_t::object), status.output));
    reader.expect(read_streams(reader.inner("tail", StatusJson::value_t::object), status.tail));
    reader.expect(read_result_files(reader.inner("results", StatusJson::value_t::array), status));
    reader.expect(read_conditions(reader.inner("conditions", StatusJson::value_t::array), status));
    return reader.is_sound() && is_ours(status, uid) ? status : Status();
}

} // namespace cybele::bridge
