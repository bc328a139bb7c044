// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/outputs.hpp"

#include "bridge/objects/job_name.hpp"
#include "schedulers/reading/asked.hpp"
#include "schedulers/reading/batch_script.hpp"
#include "submission/records/output_pattern.hpp"
#include "submission/submit/own_outputs.hpp"
#include "support/json.hpp"

#include <climits>
#include <utility>

namespace cybele::bridge {

Streams output_paths(const Object& object, const std::filesystem::path& workdir) {
    const bool is_slurm = object.kind == Kind::kSlurmJob;
    const auto script = schedulers::read_batch_script(object.spec.batch,
                                                      "spec.batch",
                                                      is_slurm ? schedulers::Reader::kSlurm
                                                               : schedulers::Reader::kTorque);
    if (!script || object.status.job_id.empty()) {
        return {};
    }
    const schedulers::Asked asked = schedulers::what_is_asked(*script);
    const submission::OutputPlace place{true, "", object.status.account};
    launchers::Output output;
    submission::set_outputs({*script, asked, place}, output);
    const std::string name = asked.name.empty() ? job_name(object.name, is_slurm) : asked.name;
    const std::string number = object.status.job_id.substr(0, object.status.job_id.find('.'));
    const std::filesystem::path folder = workdir / asked.workdir; // an absolute one replaces it
    const auto path_of = [&](const std::string& pattern) {
        std::string path = (folder / submission::expand_pattern(pattern, name, number)).native();
        // No system opens a longer one, and the status has no room for it.
        return pattern.empty() || path.size() >= PATH_MAX ? std::string() : std::move(path);
    };
    return {path_of(output.standard_output), path_of(output.standard_error)};
}

std::string claim_of(const Object& object) {
    const nlohmann::json mount =
        object.spec.results ? parse_json(object.spec.results->mount) : nlohmann::json();
    return member_text(member_of(mount, "persistentVolumeClaim"), "claimName");
}

} // namespace cybele::bridge
