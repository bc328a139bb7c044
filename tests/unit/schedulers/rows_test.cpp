// SPDX-License-Identifier: Apache-2.0
// The rows of a packed sweep: signals, ends and records of each, whatever the others do.
#include "bench.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele::schedulers {
namespace {

nlohmann::json record_of(const Bench& bench, const std::string& row) {
    const auto text = read_file(bench.work / ".cybelectl" / kUuid / row / "exit.json");
    return text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
}

std::string state_of(const Bench& bench, const std::string& row) {
    const auto record = record_of(bench, row);
    return record.is_object()
               ? record["state"].get<std::string>() + fmt::format(" {}", record["code"].get<int>())
               : "none";
}

} // namespace

TEST_CASE("each signal that a Job may ask for reaches the rows that run, and no row is cancelled") {
    constexpr std::array kNames{"USR2", "INT", "HUP", "QUIT", "CONT"};
    for_each_at_once(kNames, [](const char* const name) {
        CAPTURE(name);
        const Bench bench;
        const auto outcome = bench.run(
            fmt::format("sweep: {{x: [1, 2], pack: all, at-once: 2}}\n"
                        "script: |\n  trap 'touch near.$CYBELE_SWEEP_x; exit 0' {0}\n"
                        "  for turn in 1 2 3 4 5 6 7 8 9; do sleep 2 & wait $!; done; exit 1\n"
                        "resources: {{time: 61 s}}\nsignal: {{name: {0}, before: 60 s}}\n",
                        name));
        CHECK_MESSAGE(outcome.code == 0, outcome.errors);
        for (const char* const row : {"0", "1"}) {
            CHECK(state_of(bench, row) == "done 0");
        }
        CHECK(fs::exists(bench.work / "near.1"));
        CHECK(fs::exists(bench.work / "near.2"));
    });
}

TEST_CASE("a packed row whose parent is killed or ended fails, and the others run") {
    struct Row {
        const char* sent;
        const char* end;
    };
    constexpr std::array kRows{Row{"KILL", "none"}, Row{"TERM", "cancelled 143"}};
    for_each_at_once(kRows, [](const Row& row) {
        CAPTURE(row.sent);
        const Bench bench;
        const auto outcome =
            bench.run(fmt::format("sweep: {{x: [0, 1, 2, 3], pack: all, at-once: 1}}\n"
                                  "script: |\n  [ $CYBELE_SWEEP_x -ne 1 ] || kill -{} $PPID\n"
                                  "  [ $CYBELE_SWEEP_x -ne 1 ] || exec sleep 5\n"
                                  "  echo $CYBELE_SWEEP_x >>ran\n",
                                  row.sent));
        CHECK(outcome.code == 1);
        CHECK(outcome.errors.find("error: 1 of the rows 0 to 3 failed") != std::string::npos);
        CHECK(state_of(bench, "1") == row.end);
        for (const char* const other : {"0", "2", "3"}) {
            CHECK(state_of(bench, other) == "done 0");
        }
        CHECK(read_file(bench.work / "ran").value() == "0\n2\n3\n");
    });
}

TEST_CASE("packed rows have the umask of the job, and each its own CPU time") {
    const Bench bench;
    const auto outcome = bench.run("sweep: {x: [1, 0], pack: all, at-once: 1}\nsetup: umask 027\n"
                                   "script: |\n  umask >>masks\n  n=$((CYBELE_SWEEP_x * 300000))\n"
                                   "  while [ $n -gt 0 ]; do n=$((n - 1)); done\n");
    CHECK_MESSAGE(outcome.ok(), outcome.errors);
    CHECK(read_file(bench.work / "masks").value() == "0027\n0027\n");
    const auto first = record_of(bench, "0")["cpu-milliseconds"].get<int>();
    const auto second = record_of(bench, "1")["cpu-milliseconds"].get<int>();
    CHECK(second >= 0);
    CHECK(first > second + 50);
    const auto all = bench.record()["cpu-milliseconds"].get<int>();
    CHECK(all >= first + second);
}

} // namespace cybele::schedulers
