// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/backend.hpp"

namespace cybele::submission {

UniqueFd Backend::end_of(const JobRef& /*job*/) {
    return {};
}

Result<void> Backend::hold(const std::vector<JobRef>& /*jobs*/, bool is_held) {
    const std::string what = is_held ? "hold" : "release";
    return fail(ErrorCode::kEnvironment,
                "the job cannot be " + std::string(is_held ? "held" : "released") + " from here",
                "cybelectl does not " + what + " jobs through this service",
                "log in where the scheduler's commands are, and call them there");
}

Result<std::vector<Spent>> Backend::spent(const std::vector<JobRef>& /*jobs*/) {
    return std::vector<Spent>();
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
