// SPDX-License-Identifier: Apache-2.0
#include "apiserver/list_watch.hpp"
#include "apiserver/revision.hpp"
#include "tests/unit/apiserver/recorded_transport.hpp"

#include <compare>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;
using namespace cybele::apiserver;

namespace {

/// What an observer saw, one word per call.
class Seen : public Observer {
public:
    void on_list_begin() override {
        words.emplace_back("begin");
    }
    void on_object(nlohmann::json& object) override {
        words.push_back("+" + object["metadata"]["name"].get<std::string>());
    }
    void on_deleted(nlohmann::json& object) override {
        words.push_back("-" + object["metadata"]["name"].get<std::string>());
    }
    void on_list_end() override {
        words.emplace_back("end");
    }
    void on_rewound(const std::string& seen, const std::string& current) override {
        words.push_back("rewound " + seen + " " + current);
    }
    void on_error(const Error& error) override {
        words.emplace_back("error");
        because = error.faults().front().because;
    }
    void on_recovered() override {
        words.emplace_back("recovered");
    }
    std::string take() {
        std::string all;
        for (const std::string& word : words) {
            all += (all.empty() ? "" : ", ") + word;
        }
        words.clear();
        return all;
    }

    std::vector<std::string> words;
    std::string because;
};

std::string page_of(const std::string& revision,
                    const std::vector<std::string>& names,
                    const std::string& next = {}) {
    nlohmann::json page{{"metadata", {{"resourceVersion", revision}, {"continue", next}}}};
    page["items"] = nlohmann::json::array();
    for (const std::string& name : names) {
        page["items"].push_back({{"metadata", {{"name", name}, {"resourceVersion", "1"}}}});
    }
    return page.dump();
}

std::string
event_of(const std::string& type, const std::string& name, const std::string& revision) {
    return nlohmann::json{
        {"type", type}, {"object", {{"metadata", {{"name", name}, {"resourceVersion", revision}}}}}}
        .dump();
}

bool asks(const Call& call, const std::string& what) {
    return call.path.find(what) != std::string::npos;
}

/// A part that has listed `a` at revision 100 and watches.
struct Following {
    Following() {
        part.wake(wire.now);
        wire.answer(200, page_of("100", {"a"}));
        REQUIRE(asks(wire.last(), "watch=1"));
        wire.start();
        (void)seen.take();
    }
    RecordedTransport wire;
    Seen seen;
    ListWatch part{{.path = "/apis/x/v1/things", .selector = {}, .backoff = {}}, wire, seen, 7};
};

} // namespace

TEST_CASE("revisions are numbers of any length") {
    CHECK(std::is_lt(compare_revisions("9", "10")));
    CHECK(
        std::is_lt(compare_revisions("99999999999999999999999999", "100000000000000000000000000")));
    CHECK(std::is_eq(compare_revisions("0012", "12")));
    CHECK(std::is_gt(compare_revisions("20", "3")));
    CHECK(compare_revisions("a", "b") == std::partial_ordering::unordered);
    CHECK(std::is_eq(compare_revisions("a", "a")));
    CHECK(compare_revisions("", "5") == std::partial_ordering::unordered);
    CHECK(newer_revision("10", "9") == "10");
    CHECK(newer_revision("x", "9") == "9");
}

TEST_CASE("a list comes in pages, then the watch begins at its revision") {
    RecordedTransport wire;
    Seen seen;
    ListWatch part(
        {.path = "/apis/x/v1/things", .selector = "labelSelector=a", .backoff = {}}, wire, seen, 1);
    part.wake(wire.now);
    CHECK(wire.last().path == "/apis/x/v1/things?limit=500&labelSelector=a");
    wire.answer(200, page_of("100", {"a", "b"}, "to/ken="));
    CHECK(asks(wire.last(), "continue=to%2Fken%3D"));
    CHECK_FALSE(part.is_synced());
    wire.answer(200, page_of("100", {"c"}));
    CHECK(seen.take() == "begin, +a, +b, +c, end");
    CHECK(part.is_synced());
    CHECK(wire.last().is_stream);
    CHECK(asks(wire.last(), "resourceVersion=100"));
    CHECK(asks(wire.last(), "allowWatchBookmarks=true"));
    CHECK(asks(wire.last(), "timeoutSeconds=3"));
    wire.start();
    wire.line(event_of("ADDED", "d", "101"));
    wire.line(event_of("MODIFIED", "a", "102"));
    wire.line(event_of("DELETED", "b", "103"));
    wire.line(event_of("BOOKMARK", "", "110"));
    CHECK(seen.take() == "+d, +a, -b");
    CHECK(part.revision() == "110");
}

TEST_CASE("an expired continue token begins the list again") {
    RecordedTransport wire;
    Seen seen;
    ListWatch part({.path = "/x", .selector = {}, .backoff = {}}, wire, seen, 1);
    part.wake(wire.now);
    wire.answer(200, page_of("100", {"a"}, "token"));
    wire.answer(410, R"({"metadata": {"continue": "inconsistent"}, "code": 410})");
    wire.skip(part);
    CHECK(wire.last().path == "/x?limit=500");
    wire.answer(200, page_of("200", {"b"}));
    CHECK(seen.take() == "begin, +a, begin, +b, end");
    CHECK(part.revision() == "200");
}

TEST_CASE("a page that is too large is asked for in smaller ones") {
    RecordedTransport wire;
    Seen seen;
    ListWatch part({.path = "/x", .selector = {}, .backoff = {}}, wire, seen, 1);
    part.wake(wire.now);
    Reply large;
    large.failure = Error(ErrorCode::kInput, problem("test", "too large"));
    large.is_too_large = true;
    wire.give(large);
    CHECK(wire.last().path == "/x?limit=125");
    wire.give(large);
    CHECK(wire.last().path == "/x?limit=31");
}

TEST_CASE("410 inside of an HTTP 200: the list again, at once after a long watch") {
    Following f;
    f.wire.now += std::chrono::minutes(1);
    f.wire.line(
        R"({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}})");
    f.part.wake(f.wire.now);
    CHECK(f.wire.last().path == "/apis/x/v1/things?limit=500");
    f.wire.answer(200, page_of("300", {"z"}));
    CHECK(f.seen.take() == "begin, +z, end");
    // Right after the list: not a loop of lists.
    f.wire.start();
    f.wire.line(R"({"type": "ERROR", "object": {"kind": "Status", "code": 410}})");
    const std::size_t before = f.wire.calls.size();
    f.part.wake(f.wire.now);
    CHECK(f.wire.calls.size() == before);
    CHECK(f.part.next_wake() > f.wire.now);
}

TEST_CASE("other ERROR events: the list again, each time later, reported once") {
    Following f;
    const char* const error = R"({"type": "ERROR", "object": {"code": 500, "message": "storage"}})";
    Moment pause{0};
    for (int turn = 0; turn < 5; ++turn) {
        f.wire.line(error);
        const Moment before = f.wire.now;
        f.wire.skip(f.part);
        CHECK(f.wire.now - before >= pause);
        pause = (f.wire.now - before) / 2;
        f.wire.answer(200, page_of("100", {}));
        f.wire.start();
    }
    CHECK(pause > std::chrono::seconds(5));
    f.wire.advance(f.part, std::chrono::seconds(2));
    CHECK(f.seen.take() == "begin, end, error, begin, end, begin, end, begin, end, begin, end, "
                           "recovered");
    CHECK(f.seen.because.find("storage") != std::string::npos);
}

TEST_CASE("an ended watch: the server's revision is asked for, then the watch goes on") {
    Following f;
    f.wire.line(event_of("ADDED", "b", "105"));
    f.wire.now += std::chrono::minutes(5);
    f.wire.answer(200, {});
    CHECK(f.wire.last().path == "/apis/x/v1/things?limit=1");
    f.wire.answer(200, page_of("120", {"a"}, "more"));
    CHECK(asks(f.wire.last(), "watch=1"));
    CHECK(asks(f.wire.last(), "resourceVersion=105"));
    CHECK(f.seen.take() == "+b");
}

TEST_CASE("a watch that ends at once, again and again, is asked for less and less often") {
    Following f;
    Moment last{0};
    for (int turn = 0; turn < 4; ++turn) {
        const Moment before = f.wire.now;
        f.wire.answer(200, {});
        f.wire.skip(f.part);
        CHECK(f.wire.now - before > last);
        last = f.wire.now - before;
        f.wire.answer(200, page_of("100", {}));
    }
}

TEST_CASE("a cut stream, half a line, a line that is not an event: on from the last revision") {
    for (const char* const what : {"cut",
                                   R"({"type": "ADDED", "obj)",
                                   "{}",
                                   "no JSON",
                                   "[]",
                                   R"({"type": "ADDED", "object": {"metadata": {}}})"}) {
        CAPTURE(what);
        Following f;
        f.wire.line(event_of("ADDED", "b", "105"));
        if (std::string(what) == "cut") {
            f.wire.cut();
        } else {
            f.wire.line(what);
            f.wire.skip(f.part);
        }
        CHECK(f.wire.last().path == "/apis/x/v1/things?limit=1");
        f.wire.answer(200, page_of("106", {}));
        CHECK(asks(f.wire.last(), "resourceVersion=105"));
        CHECK(f.wire.open() == 1);
        CHECK(f.seen.take() == "+b");
    }
}

TEST_CASE("429 and 503 wait as long as the server says, 403 is reported") {
    RecordedTransport wire;
    Seen seen;
    ListWatch part({.path = "/x", .selector = {}, .backoff = {}}, wire, seen, 1);
    part.wake(wire.now);
    Reply busy;
    busy.status = 429;
    busy.body = "Too many requests, please try again later.\n";
    busy.retry_after = std::chrono::seconds(7);
    wire.give(busy);
    CHECK(part.next_wake() - wire.now >= std::chrono::seconds(7));
    CHECK(part.next_wake() - wire.now < std::chrono::seconds(9));
    CHECK_FALSE(part.is_settled());
    wire.skip(part);
    wire.answer(403, R"({"message": "things is forbidden"})");
    CHECK(part.is_settled());
    CHECK_FALSE(part.is_synced());
    CHECK(seen.take() == "begin, begin, error");
    CHECK(seen.because.find("things is forbidden") != std::string::npos);
    CHECK(part.next_wake() - wire.now >= std::chrono::seconds(1));
}

TEST_CASE("a body cut in the middle: the same page again") {
    RecordedTransport wire;
    Seen seen;
    ListWatch part({.path = "/x", .selector = {}, .backoff = {}}, wire, seen, 1);
    part.wake(wire.now);
    wire.answer(200, page_of("100", {"a"}, "token"));
    wire.answer(200, page_of("100", {"b"}).substr(0, 20));
    wire.skip(part);
    CHECK(asks(wire.last(), "continue=token"));
    wire.answer(200, page_of("100", {"b"}));
    CHECK(seen.take() == "begin, +a, +b, end");
}

TEST_CASE("the past comes back: seen at a reconnect, in the middle of a watch, in a list") {
    SUBCASE("reconnect") {
        Following f;
        f.wire.line(event_of("ADDED", "b", "2000"));
        f.wire.cut();
        f.wire.answer(200, page_of("150", {}));
        f.wire.skip(f.part);
        CHECK(asks(f.wire.last(), "limit=500"));
        f.wire.answer(200, page_of("151", {"a"}));
        CHECK(f.seen.take() == "+b, rewound 2000 150, begin, +a, end");
        CHECK(f.part.revision() == "151");
    }
    SUBCASE("watch") {
        Following f;
        f.wire.line(event_of("ADDED", "b", "2000"));
        const std::uint64_t watch = f.wire.last_id();
        f.wire.skip(f.part);
        CHECK(f.wire.last().path == "/apis/x/v1/things?limit=1");
        // What the watch shows meanwhile may be newer than the answer.
        f.wire.line(event_of("ADDED", "c", "3000"), watch);
        f.wire.answer(200, page_of("2500", {}));
        CHECK(f.seen.take() == "+b, +c");
        f.wire.skip(f.part);
        f.wire.answer(200, page_of("17", {}));
        CHECK(f.seen.take() == "rewound 3000 17, begin");
        CHECK(f.wire.ended.back() == watch);
    }
    SUBCASE("list") {
        Following f;
        f.wire.now += std::chrono::minutes(1);
        f.wire.line(R"({"type": "ERROR", "object": {"code": 410}})");
        f.part.wake(f.wire.now);
        f.wire.answer(200, page_of("99", {"a"}));
        CHECK(f.seen.take() == "begin, rewound 100 99, +a, end");
        CHECK(asks(f.wire.last(), "resourceVersion=99"));
    }
    SUBCASE("another witness") {
        Following f;
        f.wire.line(event_of("ADDED", "b", "2000"));
        const std::uint64_t watch = f.wire.last_id();
        f.wire.now += std::chrono::minutes(1);
        f.part.put_back(f.wire.now);
        CHECK(f.wire.ended.back() == watch);
        CHECK_FALSE(f.part.is_synced());
        f.part.wake(f.wire.now);
        f.wire.answer(200, page_of("2500", {"a"}));
        CHECK(f.seen.take() == "+b, rewound 2000 , begin, +a, end");
        CHECK(asks(f.wire.last(), "resourceVersion=2500"));
    }
}

TEST_CASE("a part that goes ends its exchanges") {
    RecordedTransport wire;
    Seen seen;
    {
        ListWatch part({.path = "/x", .selector = {}, .backoff = {}}, wire, seen, 1);
        part.wake(wire.now);
        CHECK(wire.open() == 1);
    }
    CHECK(wire.open() == 0);
}
