// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/backend.hpp"

namespace cybele::submission {

UniqueFd Backend::end_of(const JobRef& /*job*/) {
    return {};
}

Result<void> Backend::hold(const std::vector<JobRef>& /*jobs*/, bool is_held) {
    const std::string what = is_held ? "hold" : "release";
    return fail(
        ErrorCode::kEnvironment,
        problem("hold-not-supported",
                "the job cannot be " + std::string(is_held ? "held" : "released") + " from here"),
        "cybelectl does not " + what + " jobs through this service",
        "log in where the scheduler's commands are, and call them there");
}

QueryResult Backend::look_at_all() {
    QueryResult result;
    result.failure =
        Error(ErrorCode::kEnvironment,
              problem("all-jobs-not-listed", "the jobs of all users cannot be listed from here"),
              "cybelectl does not list them through this service",
              "reach the scheduler by its commands, here or through ssh");
    return result;
}

Result<void> Backend::release(const std::vector<std::string>& ids) {
    std::vector<JobRef> jobs;
    jobs.reserve(ids.size());
    for (const std::string& id : ids) {
        jobs.push_back({id, {}, {}});
    }
    return hold(jobs, false);
}

Result<std::vector<AccountedUse>> Backend::spent(const std::vector<JobRef>& /*jobs*/) {
    return std::vector<AccountedUse>();
}

Result<std::vector<ReadBack>> Backend::read(const std::vector<Reading>& files) {
    std::vector<ReadBack> back;
    back.reserve(files.size());
    for (const Reading& reading : files) {
        back.push_back(read_piece(reading));
    }
    return back;
}

} // namespace cybele::submission
