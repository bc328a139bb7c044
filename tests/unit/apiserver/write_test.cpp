// SPDX-License-Identifier: Apache-2.0
#include "apiserver/event.hpp"
#include "apiserver/micro_time.hpp"
#include "apiserver/pace.hpp"
#include "apiserver/patch.hpp"
#include "apiserver/write.hpp"
#include "tests/unit/apiserver/recorded_transport.hpp"

#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using namespace cybele::apiserver;
using nlohmann::json;
using Kind = WriteResult::Kind;
using namespace std::chrono_literals;

namespace {

struct Writing {
    RecordedTransport wire;
    Writer writer{{}, wire, 3};
    std::optional<Kind> kind;
    std::string body;

    std::uint64_t submit(std::string revision = "5",
                         std::string content = std::string(kMergePatch),
                         bool is_urgent = false) {
        Write write;
        write.is_urgent = is_urgent;
        write.path = "/apis/x/v1/namespaces/n/things/a/status";
        write.content_type = std::move(content);
        write.body = "{}";
        write.revision = std::move(revision);
        write.on_end = [this](const WriteResult& outcome) {
            kind = outcome.kind;
            body = outcome.body;
            CHECK(outcome.error.has_value() == (outcome.kind != Kind::kDone));
        };
        const auto number = writer.submit(std::move(write), wire.now);
        REQUIRE(number);
        return *number;
    }
    bool is_ended_as(Kind expected) {
        return std::exchange(kind, std::nullopt) == expected;
    }
};

} // namespace

TEST_CASE("the pace: a burst, then so many per second, halved at 429 and raised again") {
    Pace pace(50, 100);
    Moment now{5'000};
    for (int count = 0; count < 50; ++count) {
        REQUIRE(pace.take(now));
    }
    CHECK_FALSE(pace.take(now));
    CHECK(pace.next(now) == now + 20ms);
    for (int count = 0; count < 50; ++count) {
        REQUIRE(pace.take(now, true));
    }
    CHECK_FALSE(pace.take(now, true));
    CHECK(pace.next(now, true) == now + 20ms);
    CHECK(pace.next(now) == now + 1020ms);
    now += 1020ms;
    CHECK(pace.take(now));
    CHECK_FALSE(pace.take(now));
    int taken = 0;
    for (const Moment end = now + 10s; now < end; now += 1ms) {
        taken += pace.take(now) ? 1 : 0;
    }
    CHECK(taken >= 498);
    CHECK(taken <= 502);
    pace.slow_down(now);
    CHECK(pace.rate() == 25);
    CHECK_FALSE(pace.take(now));
    now += 30s;
    CHECK(pace.take(now));
    CHECK(pace.rate() == 28);
    for (int turn = 0; turn < 20; ++turn) {
        pace.slow_down(now);
    }
    CHECK(pace.rate() == 1);
    now += 1h;
    CHECK(pace.take(now));
    CHECK(pace.rate() == 50);
}

TEST_CASE("answers to a write, each by its meaning") {
    struct Row {
        int status;
        Kind kind;
    };
    for (const Row& row : {Row{200, Kind::kDone},
                           Row{201, Kind::kDone},
                           Row{403, Kind::kForbidden},
                           Row{404, Kind::kGone},
                           Row{409, Kind::kConflict},
                           Row{400, Kind::kRefused},
                           Row{413, Kind::kRefused},
                           Row{422, Kind::kRefused}}) {
        CAPTURE(row.status);
        Writing w;
        (void)w.submit();
        CHECK(w.wire.last().method == "PATCH");
        CHECK(w.wire.last().content_type == kMergePatch);
        w.wire.answer(row.status, R"({"message": "because"})");
        CHECK(w.is_ended_as(row.kind));
        CHECK(w.writer.pending() == 0);
        CHECK(w.wire.calls.size() == 1);
    }
}

TEST_CASE("a JSON patch whose test failed is a conflict, one that is not valid is refused") {
    const std::pair<const char*, Kind> rows[] = {
        {R"({"kind": "Status", "reason": "Invalid", "details": {}, "code": 422,
            "message": "the server rejected our request due to an error in our request"})",
         Kind::kConflict},
        {R"({"kind": "Status", "reason": "Invalid", "code": 422,
            "details": {"name": "a", "kind": "Thing", "causes": [{"field": "status.word"}]},
            "message": "Thing.x \"a\" is invalid: status.word: Invalid value"})",
         Kind::kRefused},
        {"text, not JSON", Kind::kConflict},
    };
    for (const auto& [body, kind] : rows) {
        CAPTURE(body);
        Writing w;
        (void)w.submit("", std::string(kJsonPatch));
        w.wire.answer(422, body);
        CHECK(w.is_ended_as(kind));
    }
}

TEST_CASE("a patch without an answer: the object is read first") {
    for (const int status : {0, 500, 503, 504}) {
        CAPTURE(status);
        Writing w;
        (void)w.submit("5");
        status == 0 ? w.wire.cut() : w.wire.answer(status, "text, not JSON");
        CHECK(w.wire.open() == 0);
        w.wire.skip(w.writer);
        CHECK(w.wire.last().method == "GET");
        CHECK(w.wire.last().path == "/apis/x/v1/namespaces/n/things/a");
        SUBCASE("it did not happen: again") {
            w.wire.answer(200, R"({"metadata": {"resourceVersion": "5"}})");
            CHECK(w.wire.last().method == "PATCH");
            w.wire.answer(200, "{}");
            CHECK(w.is_ended_as(Kind::kDone));
        }
        SUBCASE("it happened, or another change: the caller decides again") {
            w.wire.answer(200, R"({"metadata": {"resourceVersion": "6"}})");
            CHECK(w.is_ended_as(Kind::kConflict));
            CHECK(w.body.find("\"6\"") != std::string::npos);
        }
        SUBCASE("gone") {
            w.wire.answer(404, "{}");
            CHECK(w.is_ended_as(Kind::kGone));
        }
        SUBCASE("half an answer: read again") {
            w.wire.answer(200, R"({"metadata": {"resour)");
            CHECK_FALSE(w.kind);
            w.wire.skip(w.writer);
            CHECK(w.wire.last().method == "GET");
        }
    }
}

TEST_CASE("429 is repeated without reading, when the server says, at half the pace") {
    Writing w;
    (void)w.submit();
    Reply busy;
    busy.status = 429;
    busy.body = "Too many requests, please try again later.\n";
    busy.retry_after = 4s;
    w.wire.give(busy);
    CHECK(w.writer.rate() == 25);
    CHECK(w.writer.next_wake() - w.wire.now >= 4s);
    w.wire.skip(w.writer);
    CHECK(w.wire.last().method == "PATCH");
    w.wire.answer(200, "{}");
    CHECK(w.is_ended_as(Kind::kDone));
}

TEST_CASE("pauses grow to a minute, and the patience ends") {
    Writing w;
    (void)w.submit("");
    Moment longest{0};
    while (!w.kind) {
        w.wire.cut();
        if (!w.kind) {
            const Moment before = w.wire.now;
            w.wire.skip(w.writer);
            CHECK(w.wire.last().method == "PATCH"); // without a revision nothing is read
            longest = std::max(longest, w.wire.now - before);
        }
    }
    CHECK(w.is_ended_as(Kind::kUnavailable));
    CHECK(longest >= 60s);
    CHECK(longest <= 73s);
    CHECK(w.wire.calls.size() >= 7);
}

TEST_CASE("at most four at the same time, in their order; a cancelled one is not sent") {
    Writing w;
    std::vector<std::uint64_t> numbers;
    for (int count = 0; count < 6; ++count) {
        numbers.push_back(w.submit());
    }
    CHECK(w.wire.open() == 4);
    w.writer.cancel(numbers[4]);
    w.wire.answer(200, "{}", 1);
    CHECK(w.wire.calls.size() == 5);
    w.wire.answer(200, "{}", 2);
    CHECK(w.wire.calls.size() == 5);
    w.writer.cancel(numbers[2]);
    CHECK(w.wire.open() == 2);
    CHECK(w.writer.pending() == 2);
}

TEST_CASE("an urgent write is sent before those that wait, and while they have used their burst") {
    Writing w;
    for (int count = 0; count < 80; ++count) {
        (void)w.submit();
    }
    for (std::uint64_t number = 1; number <= 50; ++number) {
        w.wire.answer(200, "{}", number);
    }
    CHECK(w.wire.calls.size() == 50);
    CHECK(w.wire.open() == 0);
    const std::uint64_t urgent = w.submit("5", std::string(kMergePatch), true);
    CHECK(w.wire.calls.size() == 51);
    CHECK(w.writer.pending() == 31);
    w.wire.answer(200, "{}", 51);
    CHECK(w.writer.pending() == 30);
    CHECK(urgent == 81);
    w.wire.now += 20ms; // its place in the burst is filled again first
    w.writer.wake(w.wire.now);
    CHECK(w.wire.calls.size() == 51);
    w.wire.now += 20ms;
    w.writer.wake(w.wire.now);
    CHECK(w.wire.calls.size() == 52);
}

TEST_CASE("the queue has an end") {
    RecordedTransport wire;
    Writer writer({.longest_queue = 2, .backoff = {}}, wire, 1);
    CHECK(writer.submit({}, wire.now));
    CHECK(writer.submit({}, wire.now));
    CHECK_FALSE(writer.submit({}, wire.now));
}

TEST_CASE("bodies of patches") {
    const json object{
        {"metadata", {{"uid", "u"}, {"resourceVersion", "9"}, {"finalizers", {"a/b", "c/d"}}}}};
    CHECK(json::parse(merge_patch({{"status", {{"x", 1}}}}, "9")) ==
          json{{"metadata", {{"resourceVersion", "9"}}}, {"status", {{"x", 1}}}});
    CHECK(json::parse(add_finalizer(object, "e/f")) ==
          json{{"metadata",
                {{"uid", "u"}, {"resourceVersion", "9"}, {"finalizers", {"a/b", "c/d", "e/f"}}}}});
    const auto removal = remove_finalizer(object, "c/d", json::array({test("/x", nullptr)}));
    REQUIRE(removal);
    CHECK(json::parse(*removal) == json::parse(R"([{"op": "test", "path": "/x", "value": null},
            {"op": "test", "path": "/metadata/uid", "value": "u"},
            {"op": "test", "path": "/metadata/finalizers/1", "value": "c/d"},
            {"op": "remove", "path": "/metadata/finalizers/1"}])"));
    CHECK_FALSE(remove_finalizer(object, "x/y", json::array()));
    CHECK_FALSE(remove_finalizer({{"metadata", {{"uid", "u"}}}}, "x/y", json::array()));
    CHECK(json::parse(set_status(json::array({test("/metadata/uid", "u")}), {{"x", 1}})) ==
          json::parse(R"([{"op": "test", "path": "/metadata/uid", "value": "u"},
            {"op": "add", "path": "/status", "value": {"x": 1}}])"));
    CHECK(json::parse(delete_options({.uid = "u", .revision = "", .grace_seconds = 0})) ==
          json::parse(R"({"kind": "DeleteOptions", "apiVersion": "v1",
            "preconditions": {"uid": "u"}, "gracePeriodSeconds": 0})"));
}

TEST_CASE("times have six decimals") {
    CHECK(micro_time(0) == "1970-01-01T00:00:00.000000Z");
    CHECK(micro_time(1'764'037'201'000'042'999) == "2025-11-25T02:20:01.000042Z");
}

TEST_CASE("an Event is created, and counted up when it exists") {
    RecordedTransport wire;
    Writer writer({}, wire, 1);
    EventRecorder recorder(
        {.controller = "x/y", .instance = "p"}, wire, writer, [] { return micro_time(0); });
    const EventSubject subject{"x/v1", "Thing", "n", "thing." + std::string(300, '-'), "u"};
    const EventText text{"Submitted", "Submit", std::string(1023, 'a') + "\u00e9", false, "1"};
    recorder.record(subject, text, wire.now);
    CHECK(wire.last().method == "POST");
    CHECK(wire.last().path == "/apis/events.k8s.io/v1/namespaces/n/events");
    const json body = json::parse(wire.last().body);
    CHECK(body["note"].get<std::string>().size() == 1023);
    CHECK(body["metadata"]["name"].get<std::string>().starts_with("thing."));
    CHECK(body["metadata"]["name"].get<std::string>().size() < 253);
    CHECK(event_name(subject, text) == body["metadata"]["name"]);
    EventText other = text;
    other.key = "2";
    CHECK(event_name(subject, other) != event_name(subject, text));
    wire.answer(201, "{}");
    CHECK(recorder.written() == 1);
    recorder.record(subject, text, wire.now);
    wire.answer(409, "{}");
    CHECK(wire.last().method == "GET");
    wire.answer(200, R"({"metadata": {"resourceVersion": "3"}, "series": {"count": 4}})");
    CHECK(wire.last().method == "PATCH");
    CHECK(json::parse(wire.last().body)["series"]["count"] == 5);
    wire.answer(409, "{}");
    wire.answer(200, R"({"metadata": {"resourceVersion": "4"}, "series": {"count": 5}})");
    wire.answer(200, "{}");
    CHECK(recorder.written() == 2);
    // A namespace that is being deleted.
    recorder.record(subject, text, wire.now);
    wire.answer(403, R"({"message": "unable to create new content"})");
    CHECK(recorder.dropped() == 1);
    CHECK(recorder.pending() == 0);
    CHECK(writer.pending() == 0);
}
