// SPDX-License-Identifier: Apache-2.0
#include "builder/pack/side_by_side.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/wait.h>

namespace cybele::builder {

std::vector<StageNeed> find_needs(const BuildPlan& plan,
                                  const std::vector<StageKeys>& keys,
                                  const std::vector<std::size_t>& kept) {
    std::vector<StageNeed> needs(plan.stages.size());
    for (std::size_t stage = plan.stages.size(); stage-- > 0;) {
        StageNeed& need = needs[stage];
        need.is_needed =
            need.is_needed || stage + 1 == plan.stages.size() || keys[stage].result().empty();
        const std::vector<Step>& steps = plan.stages[stage].steps;
        for (std::size_t i = kept[stage]; need.is_needed && i < steps.size(); ++i) {
            if (steps[i].kind == Step::Kind::kStageCopy && steps[i].from_stage != stage) {
                need.copies_from.push_back(steps[i].from_stage);
                needs[steps[i].from_stage].is_needed = true; // it is an earlier one
            }
            for (std::size_t other = 0; steps[i].find_copies && other < stage; ++other) {
                if (keys[other].result().empty()) { // its script may make what is copied
                    need.copies_from.push_back(other);
                }
            }
        }
    }
    return needs;
}

bool SideBySide::is_done(std::size_t stage) const {
    const std::optional<HelperProcess>& helper = helpers_[stage];
    return helper && helper->has_ended();
}

bool SideBySide::is_ready(std::size_t stage) const {
    const StageNeed& need = needs_[stage];
    return need.is_needed && !helpers_[stage] &&
           std::ranges::all_of(need.copies_from, [&](std::size_t other) { return is_done(other); });
}

std::size_t SideBySide::running() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        helpers_, [](const auto& helper) { return helper && !helper->has_ended(); }));
}

Result<void> SideBySide::start_one(std::size_t stage) {
    auto make = std::exchange(context_.put_off[stage], {});
    CYBELE_TRY(HelperProcess helper, HelperProcess::start(make));
    helpers_[stage].emplace(std::move(helper));
    // Meanwhile another one's fault is a fault of the build.
    context_.put_off[stage] = [this, stage]() -> Result<void> {
        while (!is_done(stage)) {
            CYBELE_CHECK(wait_for_one());
        }
        return {};
    };
    return {};
}

Result<void> SideBySide::wait_for_one() {
    siginfo_t ended{};
    while (::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    for (auto& helper : helpers_) {
        if (helper && !helper->has_ended() && helper->process() == ended.si_pid) {
            return helper->wait();
        }
    }
    return fail(ErrorCode::kInternal,
                problem("build-process-unknown", "a process ended that no stage started"));
}

Result<void> SideBySide::start() {
    const std::size_t most = context_.request.stages_at_once;
    if (most < 2) {
        for (std::size_t stage = 0; stage < context_.put_off.size(); ++stage) {
            if (context_.keys[stage].result().empty()) {
                CYBELE_CHECK(std::exchange(context_.put_off[stage], {})());
            }
        }
        return {};
    }
    const auto is_waiting = [&](std::size_t stage) {
        return needs_[stage].is_needed && !helpers_[stage];
    };
    for (;;) {
        bool all_started = true;
        for (std::size_t stage = 0; stage + 1 < needs_.size(); ++stage) {
            if (running() < most && is_ready(stage)) {
                CYBELE_CHECK(start_one(stage));
            }
            all_started = all_started && !is_waiting(stage);
        }
        if (all_started && running() < most) {
            return {};
        }
        CYBELE_CHECK(wait_for_one());
    }
}

} // namespace cybele::builder
