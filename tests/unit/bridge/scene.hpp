// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/decide/decide.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

/// Scenes of the tests of decide(): an object, what is seen of its job, and what is decided.
namespace scene {

using namespace cybele;
using bridge::Action;
using submission::State;
inline constexpr const char* kUid = "6f0f3b1c-2e14-4c1a-9d2e-0123456789ab";

/// An object and what is seen of it, which a case changes.
struct Scene {
    bridge::Object object;
    bridge::View view;
    bridge::Memory memory;
    bridge::World world;
    bool is_gone = false;

    Scene() {
        object.space = "physics";
        object.name = "hello";
        object.uid = kUid;
        object.generation = 1;
        object.created = 1000;
        object.spec.batch = "#!/bin/sh\n";
        world.now = 2000;
        view.account = "alice";
        view.queue.is_complete = true;
    }
    Scene& claimed() {
        object.finalizers = {std::string(bridge::kFinalizer)};
        return *this;
    }
    Scene& with_id(const std::string& id, const std::string& state) {
        claimed();
        object.status.job_id = id;
        object.status.token = kUid;
        object.status.account = "alice";
        object.status.state = state;
        object.status.set({"Accepted", "True", "Admitted", "", 1});
        return *this;
    }
    Scene& shows(const std::string& id, State state, const std::string& native) {
        bridge::SeenJob job;
        job.id = id;
        job.owner = "alice";
        job.token = kUid;
        job.state = state;
        job.native = native;
        view.queue.jobs.push_back(job);
        return *this;
    }
    Scene& deleted() {
        object.deleted = 1900;
        return *this;
    }
    /// The record has the id.
    Scene& noted(const std::string& id) {
        view.record.was_read = true;
        view.record.answer = id;
        return *this;
    }
    [[nodiscard]] bridge::Decision decide() const {
        return bridge::decide({object, view, memory, world, is_gone});
    }
};

inline const Action* find(const bridge::Decision& decision, Action::Kind kind) {
    const auto& actions = decision.actions;
    const auto found = std::find_if(actions.begin(), actions.end(), [kind](const Action& action) {
        return action.kind == kind;
    });
    return found == actions.end() ? nullptr : &*found;
}

inline const bridge::Status& written(const bridge::Decision& decision) {
    const Action* action = find(decision, Action::Kind::kWriteStatus);
    REQUIRE(action != nullptr);
    return action->status;
}

} // namespace scene
