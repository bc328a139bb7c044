// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/journal/entry.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::jobs {

struct CollectRequest {
    Entry entry;                       ///< a job that has ended
    std::vector<std::string> patterns; ///< below its workdir; empty: the Job's `output.results`
    std::filesystem::path to;          ///< empty: the Job's `output.to`, beside its document
};

struct ResultFile {
    std::string name; ///< below the workdir
    std::uint64_t size = 0;
    std::string digest; ///< sha256:…
};

struct Collected {
    std::vector<ResultFile> files;
    std::string record; ///< the JSON that lies beside them as NAME-ID.job.json
};

/// Copies what the patterns match, each file as NAME.part, compared by digest and then renamed; one
/// that is there already with the same digest is left. A pattern that matches nothing is kInput.
[[nodiscard]] Result<Collected> collect(const CollectRequest& request);

} // namespace cybele::jobs
