// SPDX-License-Identifier: Apache-2.0
#include "support/http_session.hpp"
#include "tests/unit/server_process.hpp"

#include <csignal>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cybele;

namespace {

const ServerProcess& session_server() {
    static const ServerProcess running({"http"});
    return running;
}

HttpCall call_of(const std::string& path) {
    HttpCall call;
    call.url = session_server().url(path);
    call.allows_plain = true;
    call.limit = std::chrono::seconds(20);
    return call;
}

HttpSession begin_session() {
    auto session = HttpSession::start(build_tree_client(), {});
    REQUIRE(session);
    return std::move(*session);
}

/// The next events; fails where none come within ten seconds.
std::vector<HttpEvent> next_events(HttpSession& session) {
    for (;;) {
        std::vector<HttpEvent> events = session.take();
        if (!events.empty()) {
            return events;
        }
        pollfd wait = session.wait();
        REQUIRE(::poll(&wait, 1, 10'000) > 0);
    }
}

/// All events of one exchange.
std::vector<HttpEvent> events_of(HttpSession& session, std::uint64_t id) {
    std::vector<HttpEvent> all;
    while (all.empty() || all.back().kind != HttpEvent::Kind::kEnd) {
        for (HttpEvent& event : next_events(session)) {
            CHECK(event.id == id);
            all.push_back(std::move(event));
        }
    }
    return all;
}

HttpEvent answer_of(HttpSession& session, const HttpCall& call) {
    std::vector<HttpEvent> events = events_of(session, session.send(call));
    REQUIRE(events.size() == 1);
    return std::move(events.front());
}

} // namespace

TEST_CASE("a session: many exchanges by one process, with methods, headers and bodies as given") {
    HttpSession session = begin_session();
    HttpCall call = call_of("/echo");
    call.method = "PATCH";
    call.headers = {{"Content-Type", "application/merge-patch+json"}};
    call.credentials = {{"Authorization", "Bearer secret"}};
    call.body = std::string("{\"a\":1}\0\xff", 9);
    for (int turn = 0; turn < 3; ++turn) {
        const HttpEvent answer = answer_of(session, call);
        CHECK(answer.status == 200);
        CHECK(answer.header("x-two") == "a");
        const auto seen = nlohmann::json::parse(answer.text);
        CHECK(seen["method"] == "PATCH");
        CHECK(seen["headers"]["authorization"] == "Bearer secret");
        CHECK(seen["headers"]["content-type"] == "application/merge-patch+json");
        CHECK(seen["headers"].count("expect") == 0);
        CHECK(seen["body"] == "7b2261223a317d00ff");
    }
    CHECK(answer_of(session, call_of("/status/503")).status == 503);
    CHECK(answer_of(session, call_of("/blob")).text.size() == 100'000);
}

TEST_CASE("a session keeps its connection") {
    HttpSession session = begin_session();
    HttpCall call = call_of("/lines");
    call.is_stream = true;
    const auto first = events_of(session, session.send(call));
    const auto second = events_of(session, session.send(call));
    REQUIRE(first.size() > 2);
    REQUIRE(second.size() > 2);
    CHECK(first[1].text == second[1].text);
}

TEST_CASE("a streamed body comes line by line, without a last one that has no end") {
    HttpSession session = begin_session();
    HttpCall call = call_of("/lines");
    call.is_stream = true;
    const auto events = events_of(session, session.send(call));
    REQUIRE(events.size() == 4);
    CHECK(events[0].kind == HttpEvent::Kind::kStart);
    CHECK(events[0].header("transfer-encoding") == "chunked");
    CHECK(events[1].kind == HttpEvent::Kind::kLine);
    CHECK(events[2].text == "second");
    CHECK(events[3].status == 200);
    CHECK_FALSE(events[3].failure);
    CHECK(events[3].text.empty());
    // Any other answer is complete: what the server says about it is in one piece.
    call.url = session_server().url("/status/410");
    const HttpEvent refused = answer_of(session, call);
    CHECK(refused.status == 410);
    CHECK(refused.text == "because of the test");
    call.url = session_server().url("/lines");
    call.maximum_size = 3;
    CHECK(events_of(session, session.send(call)).back().is_too_large);
}

TEST_CASE("one exchange is ended early, others go on") {
    HttpSession session = begin_session();
    HttpCall drip = call_of("/drip");
    drip.is_stream = true;
    const std::uint64_t ended = session.send(drip);
    const std::uint64_t kept = session.send(drip);
    for (int lines = 0; lines < 4;) {
        for (const HttpEvent& event : next_events(session)) {
            lines += event.kind == HttpEvent::Kind::kLine && event.id == ended ? 1 : 0;
        }
    }
    session.end(ended);
    for (int lines = 0; lines < 10;) {
        for (const HttpEvent& event : next_events(session)) {
            CHECK(event.id == kept);
            lines += 1;
        }
    }
}

TEST_CASE("failures of a session are those of single exchanges") {
    HttpSession session = begin_session();
    const HttpEvent cut = answer_of(session, call_of("/cut"));
    REQUIRE(cut.failure);
    CHECK(cut.is_passing);
    HttpCall call = call_of("/big");
    call.maximum_size = 100'000;
    CHECK(answer_of(session, call).is_too_large);
    call = call_of("/slow");
    call.limit = std::chrono::milliseconds(200);
    const HttpEvent slow = answer_of(session, call);
    REQUIRE(slow.failure);
    CHECK(slow.is_passing);
    call = call_of("/echo");
    call.allows_plain = false;
    const HttpEvent plain = answer_of(session, call);
    REQUIRE(plain.failure);
    CHECK(plain.failure->code() == ErrorCode::kInput);
    call = call_of("/echo");
    call.headers = {{"X-A", "b\r\nX-Smuggled: 1"}};
    CHECK(answer_of(session, call).failure);
}

TEST_CASE("a helper that is killed ends every exchange with a failure that may pass") {
    HttpSession session = begin_session();
    HttpCall drip = call_of("/drip");
    drip.is_stream = true;
    const std::uint64_t id = session.send(drip);
    (void)next_events(session);
    // Signals for the complete process group leave it alone.
    ::kill(session.process(), SIGTERM);
    (void)next_events(session);
    ::kill(session.process(), SIGKILL);
    const auto events = events_of(session, id);
    REQUIRE(events.back().failure);
    CHECK(events.back().is_passing);
    CHECK_FALSE(session.is_alive());
    CHECK(answer_of(session, call_of("/echo")).is_passing);
}

TEST_CASE("no certificate, key or token is an argument of the helper") {
    HttpSessionSettings settings;
    settings.key = "key-of-the-test";
    auto session = HttpSession::start(build_tree_client(), settings);
    REQUIRE(session);
    HttpCall call = call_of("/echo");
    call.credentials = {{"Authorization", "Bearer secret"}};
    (void)answer_of(*session, call);
    std::ifstream file("/proc/" + std::to_string(session->process()) + "/cmdline");
    const std::string words((std::istreambuf_iterator<char>(file)), {});
    CHECK(words.find("--session") != std::string::npos);
    CHECK(words.find("secret") == std::string::npos);
    CHECK(words.find("key-of") == std::string::npos);
}
