// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/journal/entry.hpp"
#include "jobs/staging/results.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::jobs {

struct CollectRequest {
    Entry entry;                       ///< a job that has ended
    std::vector<std::string> patterns; ///< below its workdir; empty: the Job's `output.results`
    std::filesystem::path to;          ///< empty: the Job's `output.to`, below its folder
    Environment environment;           ///< for ssh, where the job was behind it
};

struct Collected {
    std::vector<ResultFile> files;
    std::string record;       ///< the JSON that lies beside them as NAME-ID.job.json
    std::vector<Fault> notes; ///< warnings
};

/// Copies what the patterns match, here or from behind ssh, as Results::fetch() does, and writes
/// the record. Patterns and destination that the command line does not give are the journal's; what
/// the record says decides nothing. Patterns that match nothing are kInput, all of them; nothing is
/// copied then.
[[nodiscard]] Result<Collected> collect(const CollectRequest& request);

} // namespace cybele::jobs
