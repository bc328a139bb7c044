// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/log_options.hpp"

#include "bridge/objects/times.hpp"

#include <charconv>

namespace cybele::bridge {
namespace {

using Refused = std::optional<std::string>;

/// `true` and `false`, as the API server writes them, and the other words that Go reads.
Refused read_flag(const std::string& name, const std::string& value, bool& flag) {
    const bool is_true = value == "true" || value == "1" || value == "t" || value == "T" ||
                         value == "TRUE" || value == "True";
    const bool is_false = value.empty() || value == "false" || value == "0" || value == "f" ||
                          value == "F" || value == "FALSE" || value == "False";
    flag = is_true;
    return is_true || is_false ? Refused() : Refused(name + " is not true or false");
}

template <typename Number>
Refused read_count(const std::string& name,
                   const std::string& value,
                   Number least,
                   std::optional<Number>& into) {
    if (value.empty()) {
        return std::nullopt;
    }
    Number number = 0;
    const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (fault != std::errc() || end != value.data() + value.size() || number < least) {
        return name + " is not a number of at least " + std::to_string(least);
    }
    into = number;
    return std::nullopt;
}

Refused read_moment(const std::string& value, LogsRequest& request) {
    if (value.empty()) {
        return std::nullopt;
    }
    request.since = read_time(value);
    if (!request.since) {
        return "sinceTime is not a time like 2026-11-26T15:00:00Z";
    }
    return request.age ? Refused("at most one of sinceTime and sinceSeconds may be specified")
                       : Refused();
}

} // namespace

std::optional<std::string> read_log_options(const std::map<std::string, std::string>& query,
                                            LogsRequest& request) {
    const auto value = [&query](const char* name) {
        const auto found = query.find(name);
        return found == query.end() ? std::string() : found->second;
    };
    bool is_previous = false;
    Refused refused = read_flag("follow", value("follow"), request.follows);
    const auto then = [&refused](Refused next) { refused = refused ? refused : std::move(next); };
    then(read_flag("timestamps", value("timestamps"), request.is_stamped));
    then(read_flag("previous", value("previous"), is_previous));
    then(read_count<std::uint64_t>("tailLines", value("tailLines"), 0, request.lines));
    then(read_count<std::uint64_t>("limitBytes", value("limitBytes"), 1, request.most));
    then(read_count<std::int64_t>("sinceSeconds", value("sinceSeconds"), 1, request.age));
    then(read_moment(value("sinceTime"), request));
    if (is_previous) {
        then("previous is not supported: a batch job that is requeued writes its output where it "
             "was, and nothing keeps that of the run before");
    }
    if (const std::string stream = value("stream"); !stream.empty() && stream != "All") {
        then("stream is not supported: the containers `batch` and `batch-stderr` are the streams");
    }
    return refused;
}

} // namespace cybele::bridge
