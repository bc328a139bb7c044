// SPDX-License-Identifier: Apache-2.0
#include "host/doctor.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace cybele;

TEST_CASE("doctor tells each subject once, and a remedy for what is missing") {
    const Environment environment(EnvironmentMap{{"TMPDIR", "/tmp"}, {"HOME", "/nonexistent"}});
    const auto findings = host::examine_host(environment);
    std::vector<std::string> subjects;
    for (const auto& finding : findings) {
        CHECK_FALSE(finding.what.empty());
        if (finding.state == host::Finding::State::kMissing) {
            CHECK_FALSE(finding.help.empty());
        }
        subjects.push_back(finding.subject);
    }
    std::sort(subjects.begin(), subjects.end());
    CHECK(std::adjacent_find(subjects.begin(), subjects.end()) == subjects.end());
    for (const char* subject : {"kernel", "images", "mmdebstrap", "mpirun", "package mirror"}) {
        CAPTURE(subject);
        CHECK(std::find(subjects.begin(), subjects.end(), subject) != subjects.end());
    }
}

TEST_CASE("a needed thing that is missing means that the main job cannot work") {
    host::Finding finding;
    finding.is_needed = true;
    CHECK(host::can_do_main_job({finding}));
    finding.state = host::Finding::State::kMissing;
    CHECK_FALSE(host::can_do_main_job({finding}));
    finding.is_needed = false;
    CHECK(host::can_do_main_job({finding}));
}
