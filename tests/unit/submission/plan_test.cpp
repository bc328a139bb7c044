// SPDX-License-Identifier: Apache-2.0
#include "submission/local/plan.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace cybele;
using submission::Decision;
using submission::Demand;
using submission::RunningJob;
using submission::Waiting;

namespace {

constexpr std::int64_t kPlanNow = 1000;
constexpr std::uint64_t kGiBOfPlan = std::uint64_t{1} << 30U;

Machine machine_of(int cores, int threads = 1, std::vector<int> gpus = {}) {
    Machine machine;
    for (int core = 0; core < cores; ++core) {
        Core one;
        for (int thread = 0; thread < threads; ++thread) {
            one.cpus.push_back(core + thread * cores);
        }
        machine.cores.push_back(one);
    }
    machine.memory = 8 * kGiBOfPlan;
    machine.gpus = std::move(gpus);
    return machine;
}

Waiting job(std::uint64_t cpus, std::int64_t seconds = 0, std::uint64_t memory = 0) {
    Waiting one;
    one.demand.cpus = cpus;
    one.demand.seconds = seconds;
    one.demand.memory = memory;
    return one;
}

RunningJob running_job(std::vector<int> cpus, std::int64_t end = 0, std::uint64_t memory = 0) {
    RunningJob one;
    one.cpus = std::move(cpus);
    one.end = end;
    one.memory = memory;
    return one;
}

/// `0-1` for a job that starts on these, else its reason.
std::string told(const std::vector<Decision>& decisions) {
    std::string text;
    for (const Decision& decision : decisions) {
        text += (text.empty() ? "" : " ") +
                (decision.is_starting ? cpu_list(decision.cpus) : decision.reason);
    }
    return text;
}

struct Row {
    const char* what;
    Machine machine;
    std::vector<RunningJob> running;
    std::vector<Waiting> waiting;
    const char* expected;
};

} // namespace

TEST_CASE("first come, first served, with backfill by time limits") {
    Waiting blocked = job(1);
    blocked.blocked = "Dependency";
    Waiting element = job(1);
    element.array = 7;
    element.most = 2;
    RunningJob of_array = running_job({3});
    of_array.array = 7;
    Waiting alone = job(1);
    alone.demand.is_exclusive = true;
    Waiting crowd = job(9);
    crowd.demand.is_oversubscribed = true;
    const std::vector<Row> rows{
        {"what fits starts, each on its own", machine_of(4), {}, {job(2), job(1)}, "0-1 2"},
        {"the first that does not fit holds the rest up",
         machine_of(4),
         {running_job({0, 1})},
         {job(3), job(2)},
         "Resources Priority"},
        {"one that ends before the first can begin goes ahead",
         machine_of(4),
         {running_job({0, 1}, kPlanNow + 100)},
         {job(4, 50), job(2, 100), job(1, 10)},
         "Resources 2-3 Priority"},
        {"one that would end too late waits",
         machine_of(4),
         {running_job({0, 1}, kPlanNow + 100)},
         {job(4, 50), job(2, 101)},
         "Resources Priority"},
        {"what is to spare even then may be taken for long",
         machine_of(4),
         {running_job({0, 1}, kPlanNow + 100)},
         {job(3, 50), job(1), job(1)},
         "Resources 2 Priority"},
        {"memory is waited for as cores are",
         machine_of(4),
         {running_job({0}, kPlanNow + 100, 6 * kGiBOfPlan)},
         {job(1, 50, 4 * kGiBOfPlan),
          job(1, 500, 3 * kGiBOfPlan),
          job(1, 500, 1 * kGiBOfPlan),
          job(1, 60)},
         "Resources Priority 1 2"},
        {"behind one without a limit only what has a limit goes ahead",
         machine_of(2),
         {running_job({0})},
         {job(2), job(1), job(1, 60)},
         "Resources Priority 1"},
        {"a dependency holds nobody else up",
         machine_of(2),
         {},
         {blocked, job(2)},
         "Dependency 0-1"},
        {"an array runs as many at once as it says",
         machine_of(8),
         {of_array},
         {element, element, job(1)},
         "0 JobArrayTaskLimit 1"},
        {"whole cores before their hardware threads",
         machine_of(4, 2),
         {},
         {job(2), job(2)},
         "0-1,4-5 2-3,6-7"},
        {"more threads than cores take all of them", machine_of(4, 2), {}, {job(5)}, "0-7"},
        {"a core is not shared, though one thread of it is free",
         machine_of(2, 2),
         {running_job({0})},
         {job(1), job(1)},
         "1,3 Resources"},
        {"exclusive is every core", machine_of(2), {running_job({0})}, {alone}, "Resources"},
        {"exclusive, alone", machine_of(2), {}, {alone}, "0-1"},
        {"oversubscribed is content with what there is", machine_of(2), {}, {crowd}, "0-1"},
        {"one that no longer fits holds nobody up",
         machine_of(2),
         {},
         {job(3), job(1)},
         "Resources 0"},
        {"what ran over its limit is thought to end at once",
         machine_of(2),
         {running_job({0, 1}, kPlanNow - 50)},
         {job(1), job(1)},
         "Resources Priority"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.what);
        CHECK(told(submission::decide(row.machine, row.running, row.waiting, kPlanNow)) ==
              row.expected);
    }
}

TEST_CASE("GPUs are given by number, each to one job") {
    Waiting one = job(1);
    one.demand.gpus = 1;
    Waiting two = job(1);
    two.demand.gpus = 2;
    RunningJob user = running_job({0});
    user.gpus = {1};
    const auto decisions =
        submission::decide(machine_of(8, 1, {0, 1, 2, 3}), {user}, {one, two, one}, kPlanNow);
    CHECK(decisions[0].gpus == std::vector<int>{0});
    CHECK(decisions[1].gpus == std::vector<int>{2, 3});
    CHECK(decisions[2].reason == "Resources");
}

TEST_CASE("the first that waits is told when it starts at the latest") {
    const auto decisions =
        submission::decide(machine_of(4),
                           {running_job({0, 1}, kPlanNow + 100), running_job({2}, kPlanNow + 50)},
                           {job(3), job(4)},
                           kPlanNow);
    CHECK(decisions[0].expected == kPlanNow + 100);
    CHECK(decisions[1].expected == 0);
    CHECK(submission::decide(machine_of(1), {running_job({0})}, {job(1)}, kPlanNow)[0].expected ==
          0);
}

TEST_CASE("what never fits is told by the first thing that is too much") {
    const Machine machine = machine_of(4, 2, {0});
    Demand demand;
    demand.cpus = 8;
    CHECK(submission::never_fits(machine, demand).empty());
    demand.cpus = 9;
    CHECK(submission::never_fits(machine, demand) == "cpus");
    demand.is_oversubscribed = true;
    CHECK(submission::never_fits(machine, demand).empty());
    demand.memory = 9 * kGiBOfPlan;
    CHECK(submission::never_fits(machine, demand) == "memory");
    demand.memory = 8 * kGiBOfPlan;
    demand.gpus = 2;
    CHECK(submission::never_fits(machine, demand) == "gpus");
    Machine unknown = machine_of(1);
    unknown.memory = 0;
    Demand much;
    much.memory = 1000 * kGiBOfPlan;
    CHECK(submission::never_fits(unknown, much).empty());
}

namespace {

/// A machine, what runs on it and who waits, by chance.
struct Chance {
    std::mt19937 numbers;
    Machine machine;
    std::vector<RunningJob> running;
    std::vector<Waiting> waiting;

    explicit Chance(unsigned seed) : numbers(seed) {
        machine = machine_of(below(6) + 1, below(2) + 1, {0, 1, 2});
        std::vector<int> gpus = machine.gpus;
        std::uint64_t memory = machine.memory;
        for (std::size_t core = 0; core < machine.cores.size(); core += 2) {
            if (below(3) == 0) {
                continue;
            }
            RunningJob one =
                running_job(machine.cores[core].cpus, below(3) == 0 ? 0 : kPlanNow + below(200));
            one.memory = std::min(memory, static_cast<std::uint64_t>(below(4)) * kGiBOfPlan);
            memory -= one.memory;
            if (!gpus.empty() && below(2) == 0) {
                one.gpus = {gpus.back()};
                gpus.pop_back();
            }
            running.push_back(one);
        }
        for (int count = below(12); count > 0; --count) {
            Waiting one = job(static_cast<std::uint64_t>(below(7)) + 1,
                              below(4) == 0 ? 0 : below(300) + 1,
                              static_cast<std::uint64_t>(below(9)) * kGiBOfPlan);
            one.demand.gpus = static_cast<std::uint64_t>(below(3));
            one.demand.is_exclusive = below(9) == 0;
            one.blocked = below(6) == 0 ? "Dependency" : "";
            one.array = below(3);
            one.most = one.array == 0 ? 0 : 2;
            waiting.push_back(one);
        }
    }
    int below(int most) {
        return static_cast<int>(numbers() % static_cast<unsigned>(most));
    }
};

/// What runs after the decisions.
std::vector<RunningJob> after(const Chance& chance, const std::vector<Decision>& decisions) {
    std::vector<RunningJob> all = chance.running;
    for (std::size_t at = 0; at < decisions.size(); ++at) {
        if (decisions[at].is_starting) {
            const Demand& demand = chance.waiting[at].demand;
            RunningJob one = running_job(decisions[at].cpus,
                                         demand.seconds == 0 ? 0 : kPlanNow + demand.seconds,
                                         demand.memory);
            one.gpus = decisions[at].gpus;
            all.push_back(one);
        }
    }
    return all;
}

void check_never_shared(const Machine& machine, const std::vector<RunningJob>& all) {
    std::set<std::size_t> cores;
    std::set<int> gpus;
    std::uint64_t memory = 0;
    for (const RunningJob& one : all) {
        memory += one.memory;
        for (std::size_t core = 0; core < machine.cores.size(); ++core) {
            const auto& cpus = machine.cores[core].cpus;
            const bool is_used = std::any_of(cpus.begin(), cpus.end(), [&one](int cpu) {
                return std::count(one.cpus.begin(), one.cpus.end(), cpu) != 0;
            });
            if (is_used) {
                CHECK(cores.insert(core).second);
            }
        }
        for (const int gpu : one.gpus) {
            CHECK(gpus.insert(gpu).second);
        }
    }
    CHECK(memory <= machine.memory);
}

/// When the job can begin, by the limits of what runs; 0: that is not known.
std::int64_t start_of(const Machine& machine, const std::vector<RunningJob>& running, Waiting job) {
    job.most = 0;
    const Decision decision = submission::decide(machine, running, {job}, kPlanNow).front();
    return decision.is_starting ? kPlanNow : decision.expected;
}

} // namespace

TEST_CASE("whatever waits: nothing is shared, the first in line is not delayed, order decides") {
    for (unsigned seed = 0; seed < 4000; ++seed) {
        CAPTURE(seed);
        Chance chance(seed);
        const auto decisions =
            submission::decide(chance.machine, chance.running, chance.waiting, kPlanNow);
        const auto all = after(chance, decisions);
        check_never_shared(chance.machine, all);
        std::vector<RunningJob> shuffled = chance.running;
        std::shuffle(shuffled.begin(), shuffled.end(), chance.numbers);
        CHECK(told(submission::decide(chance.machine, shuffled, chance.waiting, kPlanNow)) ==
              told(decisions));
        // The first that waits for what others hold: what started behind it takes nothing from it.
        std::vector<RunningJob> before = chance.running;
        for (std::size_t at = 0; at < decisions.size(); ++at) {
            if (decisions[at].is_starting) {
                before.push_back(running_job(decisions[at].cpus,
                                             chance.waiting[at].demand.seconds == 0
                                                 ? 0
                                                 : kPlanNow + chance.waiting[at].demand.seconds,
                                             chance.waiting[at].demand.memory));
                before.back().gpus = decisions[at].gpus;
            } else if (decisions[at].reason == "Resources" &&
                       submission::never_fits(chance.machine, chance.waiting[at].demand).empty()) {
                const auto promised = start_of(chance.machine, before, chance.waiting[at]);
                CHECK(decisions[at].expected == promised);
                CHECK(start_of(chance.machine, all, chance.waiting[at]) == promised);
                break;
            }
        }
        for (std::size_t at = 0; at < decisions.size(); ++at) {
            const bool has_reason = !decisions[at].reason.empty();
            CHECK(has_reason != decisions[at].is_starting);
        }
    }
}
