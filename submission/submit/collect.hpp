// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/journal/entry.hpp"
#include "submission/staging/results.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cybele::submission {

struct CollectRequest {
    Entry entry;                       ///< a job that has ended, or an element of an array
    std::vector<Entry> elements = {};  ///< of an array
    std::vector<std::string> patterns; ///< below its workdir; empty: the Job's `output.results`
    std::filesystem::path to;          ///< empty: the Job's `output.to`, below its folder
    Environment environment;           ///< for ssh, where the job was behind it
};

struct Collected {
    std::vector<ResultFile> files;
    std::filesystem::path to; ///< the folder
    std::string record;       ///< the JSON that lies beside them as NAME-ID.job.json
    std::vector<Fault> notes; ///< warnings
    std::string failures;     ///< of an array: how many elements failed, and which
};

/// Copies what the patterns match, here or from behind ssh, as Results::fetch() does, and writes
/// the record. Patterns and destination that the command line does not give are the journal's; what
/// the record says decides nothing. Patterns that match nothing are kInput, all of them; nothing is
/// copied then. `@{index}` in a pattern stands for the index of each element; what a failed one did
/// not write is not missed.
[[nodiscard]] Result<Collected> collect(const CollectRequest& request);

} // namespace cybele::submission
