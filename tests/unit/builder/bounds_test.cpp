// SPDX-License-Identifier: Apache-2.0
// Builds at their bounds: steps without an end, signals, two builds at
// once, no space.
#include "bench.hpp"
#include "builder/files/output.hpp"
#include "builder/files/workspace.hpp"

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

using namespace cybele;
using namespace cybele::builder;
namespace fs = std::filesystem;

TEST_CASE("a user without subordinate ids builds with one id, and is told so") {
    if (::geteuid() != 0) {
        return; // this user may have some
    }
    Bench bench;
    const uid_t nobody_special = 54321; // has no line in /etc/subuid
    REQUIRE(::chown(bench.here.c_str(), nobody_special, nobody_special) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setgroups(0, nullptr) != 0 || ::setgid(nobody_special) != 0 ||
            ::setuid(nobody_special) != 0) {
            ::_exit(99);
        }
        ::prctl(PR_SET_DUMPABLE, 1);
        const std::string text = kBase + kInstall +
                                 "%post\necho 1 > /made\nchown 33:44 /made\n"
                                 "test \"$(stat -c %u:%g /made)\" = 0:0\nmkfifo /pipe\n"
                                 "%test\ntest -p /pipe\ntest \"$(stat -c %u /made)\" = 0\n";
        const auto built = build(bench.request(text), bench.environment);
        if (!built) {
            MESSAGE(built.error().message(), built.error().faults().front().because);
            ::_exit(1);
        }
        ::_exit(bench.steps.front().starts_with("built with one id (") ? 0 : 2);
    }
    CHECK(wait_for(child) == 0);
    bench.check_clean();
}

TEST_CASE("a step that does not end is ended, with all that it started") {
    Bench bench;
    auto request = bench.request(kBase + kInstall + "%post\n" + own_sleep(4323) + " & " +
                                 own_sleep(4324) + "\n");
    request.steps.timeout = 1;
    const auto built = build(request, bench.environment);
    REQUIRE_FALSE(built);
    CHECK(built.error().code() == ErrorCode::kExecution);
    CHECK(built.error().message() == "%post did not end within 1 s");
    REQUIRE(built.error().faults().front().where);
    CHECK_FALSE(sleeps(4323));
    CHECK_FALSE(sleeps(4324));
    bench.check_clean();
}

TEST_CASE("one target is built by one build at a time") {
    Bench bench;
    const auto request = bench.request(kBase);
    {
        const auto other = lock_output(request.output, bench.here / "cache");
        REQUIRE(other);
        const auto refused = build(request, bench.environment);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().message().ends_with("is being built already"));
        CHECK(build(bench.request(kBase, "other.sif"), bench.environment));
    }
    CHECK(build(request, bench.environment));
}

TEST_CASE("an interrupted build leaves nothing; what a killed one left, the next sweeps") {
    Bench bench;
    const auto build_and_signal = [&](int number) {
        return as_user(bench.here, [&] {
            const pid_t self = ::getpid();
            const pid_t killer = ::fork();
            if (killer == 0) {
                // The mark shows that the script runs, with a file of a subordinate owner.
                for (int i = 0; i < 400 && !fs::exists(bench.here / "tmp"); ++i) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(25));
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(1000));
                ::kill(self, number);
                ::_exit(0);
            }
            const auto built =
                build(bench.request(kBase + kInstall + "%post\nchown 5:6 /bin/sh\n" +
                                    own_sleep(4321) + " & " + own_sleep(4322) + "\n"),
                      bench.environment);
            return built ? 1 : static_cast<int>(built.error().code());
        });
    };
    const auto are_left = [] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        return sleeps(4321) || sleeps(4322);
    };
    CHECK(build_and_signal(SIGTERM) == static_cast<int>(ErrorCode::kExecution));
    CHECK_FALSE(are_left());
    bench.check_clean();
    fs::remove(bench.here / "tmp");
    CHECK(build_and_signal(SIGKILL) == 128 + SIGKILL);
    CHECK_FALSE(are_left());
    CHECK_FALSE(fs::is_empty(bench.here / "tmp"));
    CHECK(as_user(bench.here,
                  [&] { return build(bench.request(kBase), bench.environment) ? 0 : 1; }) == 0);
    bench.check_clean();
}

TEST_CASE("a folder of a living build is not swept, and space is asked for first") {
    const auto dir = temporary();
    const auto map = namespaces::IdMap::kNone;
    const auto living = Workspace::make(dir.path(), map);
    REQUIRE(living);
    const auto next = Workspace::make(dir.path(), map);
    REQUIRE(next);
    CHECK(fs::exists(living->path()));
    const auto space = need_space(dir.path(), ~std::uint64_t{0} >> 1U);
    REQUIRE_FALSE(space);
    CHECK(space.error().code() == ErrorCode::kEnvironment);
    CHECK(space.error().faults().front().help.find("CYBELE_TMPDIR") != std::string::npos);
}

TEST_CASE("a folder whose removal was interrupted is swept; one that is just being made is not") {
    const auto dir = temporary();
    const auto half_removed = dir.path() / (std::string(kWorkspacePrefix) + ".half");
    const auto empty = dir.path() / (std::string(kWorkspacePrefix) + ".empty");
    const auto unnamed = dir.path() / (std::string(kWorkspacePrefix) + ".unnamed");
    for (const auto& folder : {half_removed / "stage-0", empty, unnamed}) {
        fs::create_directories(folder);
    }
    REQUIRE(write_file(unnamed / "lock.new", ""));
    REQUIRE(Workspace::make(dir.path(), namespaces::IdMap::kNone));
    CHECK_FALSE(fs::exists(half_removed));
    CHECK(fs::exists(empty));
    CHECK(fs::exists(unnamed));
}

TEST_CASE("builds that begin at the same time in one folder do not sweep each other's") {
    constexpr int kBuilds = 8;
    constexpr int kTimes = 60;
    const auto dir = temporary();
    std::atomic<int> lost = 0;
    std::vector<std::thread> builds;
    builds.reserve(kBuilds);
    for (int build = 0; build < kBuilds; ++build) {
        builds.emplace_back([&] {
            for (int time = 0; time < kTimes; ++time) {
                const auto work = Workspace::make(dir.path(), namespaces::IdMap::kNone);
                lost += work && fs::exists(work->path()) ? 0 : 1;
            }
        });
    }
    for (auto& build : builds) {
        build.join();
    }
    CHECK(lost == 0);
    CHECK(fs::is_empty(dir.path()));
}
