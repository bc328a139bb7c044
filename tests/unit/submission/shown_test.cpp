// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/command_backend.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace cybele {

namespace {

/// What scontrol says, and a sacct that knows nothing.
std::vector<Outcome> answers(const std::string& shown) {
    std::vector<Outcome> made(2);
    made.front().output = shown;
    return made;
}

} // namespace

TEST_CASE("a job whose name or comment looks like a field of scontrol has no state by it") {
    constexpr std::string_view kLine = "JobId=7 JobName={} UserId=bob(9) JobState=FAILED "
                                       "Reason=None ExitCode=3:0 Comment=cybelectl:0a-1b {}\n";
    const auto count = [&](const char* name, const char* comment) {
        const std::string line = fmt::format(fmt::runtime(kLine), name, comment);
        return submission::slurm_commands()->findings(answers(line)).size();
    };
    CHECK(count("x", "my words") == 1);
    CHECK(count("UserId=root", "JobState is =") == 1); // no blank before it: no field
    CHECK(count("x UserId=alice(1)", "") == 0);
    CHECK(count("x JobState=COMPLETED", "") == 0);
    CHECK(count("x Comment=cybelectl:0a-ff", "") == 0);
    CHECK(count("x", "ExitCode=0:0") == 0);
    // Slurm writes the ids of arrays before the name.
    const auto named = submission::slurm_commands()->findings(
        answers(fmt::format(fmt::runtime(kLine), "x ArrayJobId=5 ArrayTaskId=1", "")));
    REQUIRE(named.size() == 1);
    CHECK(named[0].id == "7");
    // Of the other jobs of the same answer nothing is lost.
    const std::string two =
        fmt::format(fmt::runtime(kLine), "x UserId=alice(1)", "") +
        "JobId=8 JobName=x UserId=bob(9) JobState=FAILED Reason=None ExitCode=3:0\n";
    const auto found = submission::slurm_commands()->findings(answers(two));
    REQUIRE(found.size() == 1);
    CHECK(found[0].id == "8");
}

} // namespace cybele
