// SPDX-License-Identifier: Apache-2.0
// Whatever is killed, lost, late, deleted, requeued or restored: at most one job runs for an
// object, none is lost, none outlives its object. CYBELE_BRIDGE_STEPS and CYBELE_BRIDGE_SEED change
// how long and which stories run; a failure prints the seed of its story, with
// CYBELE_BRIDGE_NOTES=1 what happened in it.
#include "story.hpp"
#include "support/environment.hpp"

#include <cstdio>
#include <cstdlib>

#include <doctest/doctest.h>

namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const auto text = cybele::Environment::of_this_process().get(name);
    return text ? std::strtoull(text->c_str(), nullptr, 10) : otherwise;
}

} // namespace

TEST_CASE("at most one job runs for an object, none is lost, none outlives it") {
    const std::uint64_t most = setting("CYBELE_BRIDGE_STEPS", 50000);
    std::uint64_t seed = setting("CYBELE_BRIDGE_SEED", 1);
    std::map<std::string, std::uint64_t> counts;
    std::uint64_t steps = 0;
    std::uint64_t stories = 0;
    while (steps < most) {
        model::Story story(seed);
        story.world.is_noted = setting("CYBELE_BRIDGE_NOTES", 0) != 0;
        steps += story.tell();
        ++stories;
        for (const auto& [what, count] : story.world.counts) {
            counts[what] += count;
        }
        CAPTURE(seed);
        for (const std::string& promise : story.world.broken) {
            FAIL_CHECK(promise);
        }
        if (!story.world.broken.empty()) {
            for (const std::string& note : story.world.notes) {
                std::puts(note.c_str());
            }
            return;
        }
        ++seed;
    }
    std::string summary = std::to_string(stories) + " stories, " + std::to_string(steps) + " steps";
    for (const auto& [what, count] : counts) {
        summary += ", " + std::to_string(count) + " " + what;
    }
    MESSAGE(summary);
    // A story in which nothing goes wrong proves nothing.
    for (const char* what : {"kills",
                             "late jobs",
                             "very late jobs",
                             "answers lost",
                             "rewinds",
                             "deletions",
                             "requeues",
                             "failed nodes",
                             "conflicts",
                             "interleavings",
                             "held jobs cancelled",
                             "claims taken"}) {
        CAPTURE(std::string(what));
        CHECK(counts[what] > 0);
    }
}
