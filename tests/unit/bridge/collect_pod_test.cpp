// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/collected.hpp"
#include "bridge/nodes/collect_pod.hpp"
#include "bridge/objects/plain_words.hpp"
#include "bridge/verbs/answer.hpp"

#include <doctest/doctest.h>

using namespace cybele;

namespace {
const std::string kSumOfTest(64, 'a');
} // namespace

TEST_CASE("what the bridge offers is read completely, or not at all") {
    const std::string good = "3 " + kSumOfTest + " made/a b\n0 " + kSumOfTest + " c\ncomplete\n";
    const auto files = bridge::read_offer(good);
    REQUIRE(files.has_value());
    REQUIRE(files->size() == 2);
    CHECK(files->front().size == 3);
    CHECK(files->front().name == "made/a b");
    CHECK(bridge::read_offer("complete\n").has_value());
    for (std::size_t size = 0; size < good.size(); ++size) {
        CHECK_FALSE(bridge::read_offer(good.substr(0, size)).has_value());
    }
    CHECK_FALSE(bridge::read_offer(good + "more\n").has_value());
    for (const char* name :
         {"", "/etc/passwd", "../a", "a/../b", "a//b", "a/", "./a", "a\tb", "a\x7f"}) {
        CAPTURE(name);
        CHECK_FALSE(
            bridge::read_offer("3 " + kSumOfTest + " " + name + "\ncomplete\n").has_value());
    }
    for (const char* line : {"x", "3", "-3 ", "3  ", "3 abc name"}) {
        CHECK_FALSE(bridge::read_offer(std::string(line) + "\ncomplete\n").has_value());
    }
}

TEST_CASE("a file that is offered twice is fetched once, and two of one name are reported") {
    const std::string other(64, 'b');
    std::vector<bridge::OfferedFile> files{
        {3, kSumOfTest, "made/a"}, {0, other, "job.out"}, {0, other, "job.out"}};
    CHECK(bridge::keep_each_once(files).empty());
    CHECK(files.size() == 2);
    files.push_back({3, other, "made/a"});
    CHECK(bridge::keep_each_once(files) == "made/a");
}

TEST_CASE("the report of a collector fits into a termination message and is read as the others") {
    std::vector<bridge::OfferedFile> files;
    files.reserve(1000);
    for (int at = 0; at < 1000; ++at) {
        files.push_back({7, kSumOfTest, "folder/file-" + std::to_string(at)});
    }
    const std::string report = bridge::collector_report(files);
    CHECK(report.size() <= 4096);
    const auto collected = bridge::read_collected(report, 5);
    REQUIRE(collected.has_value());
    CHECK(collected->count == 1000);
    CHECK(collected->files.size() >= 30);
    CHECK(collected->condition.status == "True");
    const auto failed =
        bridge::read_collected(bridge::collector_failure("CopyFailed", "no\nspace"), 5);
    REQUIRE(failed.has_value());
    CHECK(failed->condition.status == "False");
    CHECK(failed->condition.reason == "CopyFailed");
}

TEST_CASE("words of another program: cut, without control characters, tokens and keys") {
    CHECK(bridge::plain_words(" queue closed \n") == "queue closed");
    CHECK(bridge::plain_words("token eyJhbGciOi.e30.x-_y= end") == "token *** end");
    CHECK(bridge::plain_words("-----BEGIN PRIVATE KEY-----\nMIIE") == "-----BEGIN ***");
    CHECK(bridge::plain_words("a\x1b[31mb").find('\x1b') == std::string::npos);
    const std::string cut = bridge::plain_words(std::string(2000, 'x'));
    CHECK(cut.size() == 1024);
    CHECK(cut.ends_with("x..."));
}

TEST_CASE("a request of the listener is one line of JSON with a path") {
    const auto request = bridge::read_listener_request(
        R"({"path": "/a", "token": "t", "certificate": "good", "user": "u", "groups": ["g", 7]})");
    REQUIRE(request.has_value());
    CHECK(request->groups == std::vector<std::string>{"g"});
    for (const char* line : {"", "{}", "[]", "x", R"({"path": "a"})", R"({"path": 7})"}) {
        CHECK_FALSE(bridge::read_listener_request(line).has_value());
    }
}
