// SPDX-License-Identifier: Apache-2.0
#include "support/process.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace cybele;

namespace {
Command shell(std::string script) {
    Command command;
    command.argv = {"sh", "-c", std::move(script)};
    return command;
}
} // namespace

TEST_CASE("output, errors, code and signal of a process") {
    auto outcome = run_process(shell("echo out; echo err >&2; exit 3"));
    REQUIRE(outcome.has_value());
    CHECK(outcome->output == "out\n");
    CHECK(outcome->errors == "err\n");
    CHECK(outcome->shell_code() == 3);
    outcome = run_process(shell("kill -9 $$"));
    REQUIRE(outcome.has_value());
    CHECK(outcome->signal == SIGKILL);
    CHECK(outcome->shell_code() == 137);
}

TEST_CASE("who waits is called each second, whether the process says something or not") {
    for (const char* script : {"sleep 2.5", "for i in 1 2 3 4 5; do echo $i; sleep 0.5; done"}) {
        CAPTURE(std::string(script));
        Command command = shell(script);
        int calls = 0;
        command.meanwhile = [&] { ++calls; };
        CHECK(run_process(command)->ok());
        CHECK(calls >= 1);
        CHECK(calls <= 3);
    }
}

TEST_CASE("input that is larger than a pipe passes through") {
    Command command;
    command.argv = {"cat"};
    command.input = std::string(3'000'000, 'x');
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    CHECK(outcome->output == *command.input);
}

TEST_CASE("a program that is missing is told by name") {
    Command command;
    command.argv = {"no-such-program-here"};
    const auto outcome = run_process(command);
    REQUIRE_FALSE(outcome.has_value());
    CHECK(outcome.error().code() == ErrorCode::kEnvironment);
    CHECK(outcome.error().message().find("no-such-program-here") != std::string::npos);
}

TEST_CASE("the environment is exactly the one that was given") {
    Command command;
    command.argv = {"env"};
    command.environment = EnvironmentMap{{"PATH", "/usr/bin:/bin"}, {"A", "b c"}};
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    CHECK(outcome->output == "A=b c\nPATH=/usr/bin:/bin\n");
}

TEST_CASE("a time limit ends a process that ignores TERM") {
    Command command = shell("trap '' TERM; while :; do sleep 0.1; done");
    command.limit = std::chrono::milliseconds(200);
    const auto begin = std::chrono::steady_clock::now();
    const auto outcome = run_process(command);
    REQUIRE(outcome.has_value());
    CHECK(outcome->timed_out);
    CHECK(outcome->signal == SIGKILL);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("a grandchild that keeps the pipe does not keep the caller") {
    const auto begin = std::chrono::steady_clock::now();
    const auto outcome = run_process(shell("sleep 30 & echo started"));
    REQUIRE(outcome.has_value());
    CHECK(outcome->output == "started\n");
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("a grandchild that keeps on writing does not keep the caller, who has all of the child") {
    const auto begin = std::chrono::steady_clock::now();
    for (const char* stream : {"", ">&2"}) {
        CAPTURE(stream);
        Command command =
            shell(std::string("timeout 20 yes ") + stream + " & head -c 200000 /dev/zero; exit 3");
        command.on_output = [](std::string_view /*piece*/) { // meanwhile the pipe is filled again
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        };
        const auto outcome = run_process(command);
        REQUIRE(outcome.has_value());
        CHECK(outcome->code == 3);
        CHECK(std::count(outcome->output.begin(), outcome->output.end(), '\0') == 200'000);
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));
}

TEST_CASE("a program that prints without end is ended, unless its output is seen: then the end is "
          "kept") {
    const auto outcome = run_process(shell("exec yes"));
    REQUIRE_FALSE(outcome.has_value());
    CHECK(outcome.error().code() == ErrorCode::kExecution);
    CHECK(outcome.error().faults().front().id == "output-too-long");
    constexpr std::size_t kMost = 2 << 20;
    for (const char* stream : {"", ">&2"}) {
        CAPTURE(stream);
        std::size_t count = 0;
        Command seen =
            shell("{ head -c 500000000 /dev/zero; echo the end; } " + std::string(stream));
        seen.on_output = [&count](std::string_view piece) { count += piece.size(); };
        const Outcome shown = run_process(seen).value();
        CHECK(count == 500'000'008);
        CHECK((shown.output + shown.errors).ends_with("the end\n"));
        CHECK((shown.output + shown.errors).size() <= kMost);
    }
}

TEST_CASE("several threads start processes, and each sees its own end") {
    std::vector<int> codes(8, -1);
    std::vector<std::thread> threads;
    threads.reserve(codes.size());
    for (int number = 0; number < 8; ++number) {
        threads.emplace_back([number, &codes] {
            Command command;
            command.argv = {"sh", "-c", "exit " + std::to_string(number)};
            const auto outcome = run_process(command);
            codes[static_cast<std::size_t>(number)] = outcome ? outcome->code : -2;
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(codes == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}
