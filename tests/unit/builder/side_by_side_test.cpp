// SPDX-License-Identifier: Apache-2.0
// Stages that do not need each other are made at once; what nobody needs is not made.
#include "bench.hpp"
#include "builder/side_by_side.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/stat.h>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

namespace {

/// Stages whose only step copies from another, or that have none (-1).
BuildPlan plan_of(const std::vector<int>& copies_from) {
    BuildPlan plan;
    for (const int from : copies_from) {
        StagePlan stage;
        if (from >= 0) {
            Step step;
            step.kind = Step::Kind::kStageCopy;
            step.from_stage = static_cast<std::size_t>(from);
            stage.steps.push_back(step);
        }
        plan.stages.push_back(stage);
    }
    return plan;
}

std::vector<StageKeys> keys_of(const BuildPlan& plan) {
    std::vector<StageKeys> keys(plan.stages.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i].base = "known";
        for (std::size_t step = 0; step < plan.stages[i].steps.size(); ++step) {
            keys[i].steps.push_back({"known", {}});
        }
    }
    return keys;
}

std::string needed(const std::vector<StageNeed>& needs) {
    std::string text;
    for (const StageNeed& need : needs) {
        text += need.is_needed ? '1' : '0';
    }
    return text;
}

/// A stage that waits until another writes into a pipe of the host's /dev, or writes there.
std::string meeting_stage(const std::string& name, const std::string& command) {
    return "Bootstrap: scratch\nStage: " + name + "\n" + kBase.substr(kBase.find("%files")) +
           kInstall + "%post\n" + command + "\n";
}

/// A named pipe that two stages meet at.
struct Meeting {
    fs::path pipe = fmt::format("/dev/shm/cybelectl-test-{}", ::getpid());
    Meeting() {
        REQUIRE(::mkfifo(pipe.c_str(), 0666) == 0);
        REQUIRE(::chmod(pipe.c_str(), 0666) == 0);
    }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
    ~Meeting() {
        fs::remove(pipe);
    }
    [[nodiscard]] std::string stages() const {
        return meeting_stage("one", "cat " + pipe.native() + " > /met") +
               meeting_stage("two", "echo word > " + pipe.native() + "; echo two > /met");
    }
};

} // namespace

TEST_CASE("a stage is needed where a step that must run copies from it") {
    const BuildPlan chain = plan_of({-1, 0, 1});
    CHECK(needed(find_needs(chain, keys_of(chain), {0, 0, 0})) == "111");
    CHECK(needed(find_needs(chain, keys_of(chain), {0, 1, 0})) == "011");
    CHECK(needed(find_needs(chain, keys_of(chain), {0, 0, 1})) == "001");
    const BuildPlan apart = plan_of({-1, -1, 1});
    CHECK(needed(find_needs(apart, keys_of(apart), {0, 0, 0})) == "011");
    auto unknown = keys_of(apart);
    unknown[0].base.clear();
    CHECK(needed(find_needs(apart, unknown, {0, 0, 0})) == "111");
    CHECK(find_needs(chain, keys_of(chain), {0, 0, 0})[2].copies_from ==
          std::vector<std::size_t>{1});
}

TEST_CASE("stages that do not need each other run at once") {
    const Meeting meeting;
    Bench bench;
    auto request =
        bench.request(meeting.stages() + kBase + "%files from one\n/met /one\n%files from two\n" +
                      "/met /two\n%test\ngrep word /one\ngrep two /two\n");
    request.stages_at_once = 2;
    request.step_timeout = 60;
    const auto built = build(request, bench.environment);
    CHECK_MESSAGE(built, (built ? "" : built.error().message()));
    CHECK(std::count(bench.steps.begin(), bench.steps.end(), "one: %post") == 1);
    CHECK(std::count(bench.steps.begin(), bench.steps.end(), "two: %post") == 1);
    bench.check_clean();
    // What is kept needs neither of them again.
    bench.steps.clear();
    request = bench.request(meeting.stages() + kBase + "%files from one\n/met /one\n" +
                            "%files from two\n/met /two\n%test\ntrue\n");
    request.stages_at_once = 2;
    request.force = true;
    CHECK(build(request, bench.environment));
    CHECK(std::none_of(bench.steps.begin(), bench.steps.end(), [](const std::string& step) {
        return step == "one: %post" || step == "two: %post";
    }));
}

TEST_CASE("as a user, too; and a stage waits for the one it copies from") {
    Bench bench;
    const std::string text =
        meeting_stage("one", "echo 1 > /met") + meeting_stage("other", "echo other > /met") +
        "Bootstrap: scratch\nStage: two\n%files from one\n/met /met\n" +
        kBase.substr(kBase.find("%files")) + kInstall + "%post\necho 2 >> /met\n" + kBase +
        "%files from two\n/met /met\n%files from other\n/met /other\n" +
        "%test\ngrep 1 /met\ngrep 2 /met\ngrep other /other\n";
    CHECK(as_user(bench.here, [&] {
              for (const unsigned at_once : {1U, 2U, 8U}) {
                  auto request = bench.request(text);
                  request.stages_at_once = at_once;
                  request.use_cache = false;
                  request.force = true;
                  if (!build(request, bench.environment)) {
                      return static_cast<int>(at_once);
                  }
              }
              return 0;
          }) == 0);
    bench.check_clean();
}

TEST_CASE("one stage's fault ends the others, and is told with its place") {
    Bench bench;
    auto request = bench.request(meeting_stage("one", own_sleep(4351)) +
                                 meeting_stage("two", "sleep 1; exit 5") + kBase +
                                 "%files from two\n/bin /two\n%files from one\n/bin /one\n");
    request.stages_at_once = 3;
    const auto built = build(request, bench.environment);
    REQUIRE_FALSE(built);
    const Fault& fault = built.error().faults().front();
    CHECK(fault.message == "%post failed with exit code 5");
    CHECK(fault.where.value_or(Place{}).line > 0);
    CHECK_FALSE(sleeps(4351));
    bench.check_clean();
}
