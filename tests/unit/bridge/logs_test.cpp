// SPDX-License-Identifier: Apache-2.0
#include "bridge/nodes/pod_view.hpp"
#include "bridge/verbs/log_options.hpp"
#include "bridge/verbs/log_times.hpp"
#include "scene.hpp"

#include <doctest/doctest.h>

using namespace cybele;

namespace {

/// Why a query is refused; empty: it is not.
std::string log_refusal(const std::map<std::string, std::string>& query) {
    bridge::LogsRequest request;
    return bridge::read_log_options(query, request).value_or("");
}

bridge::Object object_that_ran(std::int64_t started, int restarts = 0) {
    scene::Scene scene;
    scene.object.status.started = started;
    scene.object.status.restarts = restarts;
    return scene.object;
}

} // namespace

TEST_CASE("options of kubectl logs are read as a kubelet reads them") {
    bridge::LogsRequest request;
    const auto refused = bridge::read_log_options({{"follow", "true"},
                                                   {"tailLines", "0"},
                                                   {"limitBytes", "7"},
                                                   {"sinceSeconds", "60"},
                                                   {"timestamps", "true"},
                                                   {"previous", "false"},
                                                   {"unknown", "x"}},
                                                  request);
    CHECK_FALSE(refused.has_value());
    CHECK(request.follows);
    CHECK(request.is_stamped);
    CHECK(request.lines == 0U);
    CHECK(request.most == 7U);
    CHECK(request.age == 60);
    bridge::LogsRequest since;
    CHECK_FALSE(
        bridge::read_log_options({{"sinceTime", "2026-11-26T15:00:00Z"}}, since).has_value());
    CHECK(since.since == 1795705200);
    CHECK_FALSE(since.follows);
}

TEST_CASE("an option that has no meaning for a batch job, or no value, is refused by its name") {
    using Query = std::map<std::string, std::string>;
    for (const Query& query : {Query{{"previous", "true"}},
                               Query{{"stream", "Stderr"}},
                               Query{{"tailLines", "-1"}},
                               Query{{"tailLines", "1x"}},
                               Query{{"limitBytes", "0"}},
                               Query{{"sinceSeconds", "0"}},
                               Query{{"sinceSeconds", "99999999999999999999"}},
                               Query{{"sinceTime", "yesterday"}},
                               Query{{"follow", "perhaps"}},
                               Query{{"timestamps", "2"}}}) {
        CAPTURE(query.begin()->first);
        CHECK(log_refusal(query).starts_with(query.begin()->first));
    }
    CHECK(log_refusal({{"sinceTime", "2026-11-26T15:00:00Z"}, {"sinceSeconds", "5"}}) ==
          "at most one of sinceTime and sinceSeconds may be specified");
    CHECK(log_refusal({{"stream", "All"}}).empty());
}

TEST_CASE("the times of an output file are those of the cluster's own clock") {
    const auto times = bridge::log_times("1000 2026-11-26T15:00:00.000000001Z\n",
                                         "900 2026-11-26T14:58:20.123456789Z\n");
    CHECK(times.now == 1000);
    CHECK(times.written == 900);
    CHECK(times.stamp == "2026-11-26T14:58:20.123456789Z");
    CHECK(bridge::log_times("1000 x\n", "").written == 0);
    // A `date` that knows no nanoseconds.
    CHECK(bridge::log_times("1000 x\n", "900 2026-11-26T14:58:20.%NZ\n").stamp ==
          "1970-01-01T00:15:00Z");
}

TEST_CASE("which lines are not older than a moment: all, none, or it cannot be known") {
    const bridge::LogTimes times{1000, 900, "x"};
    CHECK(bridge::log_part(times, object_that_ran(500), 500) == bridge::LogPart::kAll);
    CHECK(bridge::log_part(times, object_that_ran(500), 901) == bridge::LogPart::kNothing);
    CHECK(bridge::log_part({1000, 0, ""}, object_that_ran(0), 5) == bridge::LogPart::kAll);
    for (const std::int64_t since : {501, 700, 900}) {
        const auto part = bridge::log_part(times, object_that_ran(500), since);
        REQUIRE_FALSE(part.has_value());
        CHECK(part.error().faults().front().id == "bridge-lines-without-times");
    }
    // Output of the run before may be in the file of a job that was requeued.
    CHECK_FALSE(bridge::log_part(times, object_that_ran(500, 1), 400).has_value());
    CHECK_FALSE(bridge::log_part(times, object_that_ran(0), 400).has_value());
}

TEST_CASE("a stamp is put before each line once, also where a line comes in pieces") {
    bool is_within_line = false;
    CHECK(bridge::stamp_lines("a\nb", "T", is_within_line) == "T a\nT b");
    CHECK(is_within_line);
    CHECK(bridge::stamp_lines("c\n\nd\n", "U", is_within_line) == "c\nU \nU d\n");
    CHECK_FALSE(is_within_line);
    CHECK(bridge::stamp_lines("", "U", is_within_line).empty());
}

TEST_CASE("the pod of an object has another name where its own is that of another pod") {
    const scene::Scene scene;
    CHECK(bridge::pod_name(scene.object, false) == "hello-job");
    CHECK(bridge::pod_name(scene.object, true) == "hello-job-6f0f3b1c");
}
