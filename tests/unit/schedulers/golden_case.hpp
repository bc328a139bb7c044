// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/inspection/facts.hpp"
#include "schedulers/scripts/render.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::schedulers {

/// A Job of tests/golden/scripts with the Site and the image's facts that lie beside it.
struct GoldenCase {
    std::string name;
    launchers::Job job;
    std::optional<launchers::Site> site;
    std::optional<images::ImageFacts> facts;

    [[nodiscard]] RenderInput input(const std::string& dialect) const {
        RenderInput render;
        render.job = &job;
        render.site = site ? &*site : nullptr;
        render.facts = facts ? &*facts : nullptr;
        render.dialect = dialect;
        render.image = job.image ? job.image->reference : "";
        return render;
    }
};

[[nodiscard]] std::vector<GoldenCase> golden_cases();
[[nodiscard]] GoldenCase golden_case(const std::string& name);
/// A Job from yaml text; the test fails where it cannot be read.
[[nodiscard]] launchers::Job job_of(const std::string& text);
[[nodiscard]] std::filesystem::path golden_folder();

} // namespace cybele::schedulers
