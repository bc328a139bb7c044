// SPDX-License-Identifier: Apache-2.0
// Stages that do not need each other are made at once; what nobody needs is not made.
#include "bench.hpp"
#include "builder/pack/side_by_side.hpp"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cybele;
using namespace cybele::builder;

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

/// A stage that copies what a server of the machine sends.
std::string meeting_stage(const std::string& name, const std::string& command) {
    return "Bootstrap: scratch\nStage: " + name + "\n" + kBase.substr(kBase.find("%files")) +
           kInstall + "%post\n" + command + "\n";
}

/// A server that answers when two stages are connected to it. The network is all that they share.
class Meeting {
public:
    Meeting() {
        const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address); // NOLINT: as sockets take it
        REQUIRE(::bind(listener.get(), any, size) == 0);
        REQUIRE(::listen(listener.get(), 2) == 0);
        REQUIRE(::getsockname(listener.get(), any, &size) == 0);
        port_ = ntohs(address.sin_port);
        server_ = ::fork();
        REQUIRE(server_ >= 0);
        if (server_ == 0) {
            answer(listener.get());
        }
    }
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
    ~Meeting() {
        ::kill(server_, SIGKILL);
        ::waitpid(server_, nullptr, 0);
    }
    [[nodiscard]] std::string stages() const {
        return meeting_stage("one", fmt::format("nc 127.0.0.1 {} > /met", port_)) +
               meeting_stage("two", fmt::format("nc 127.0.0.1 {} > /met; echo two >> /met", port_));
    }

private:
    [[noreturn]] static void answer(int listener) {
        constexpr unsigned kLongest = 120; // seconds
        ::alarm(kLongest);
        const int one = ::accept(listener, nullptr, nullptr);
        const int two = ::accept(listener, nullptr, nullptr);
        for (const int connection : {one, two}) {
            (void)!::write(connection, "word\n", 5);
        }
        ::_exit(0);
    }

    int port_ = 0;
    pid_t server_ = -1;
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
    request.steps.timeout = 60;
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
