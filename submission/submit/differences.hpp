// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/journal/entry.hpp"
#include "submission/submit/submit.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cybele::submission {

/// `sha256:…` of a Job, or of the job.yaml in a folder; empty: it cannot be read.
[[nodiscard]] std::string document_digest(const std::filesystem::path& place);

/// The digests of what `stage-in` and `input` name, by name: of a great many, one of all.
[[nodiscard]] std::map<std::string, std::string> input_digests(const RenderedJob& job);

/// What of a job that runs again is another than before.
struct Difference {
    std::string what; ///< document, image, script, input
    std::string name; ///< of an input
    std::string was;  ///< sha256:…; empty: there was none
    std::string is;   ///< empty: it is gone, or not known
    std::string text; ///< the sentence
};

/// Document, image, script and inputs, by their digests, in this order.
[[nodiscard]] std::vector<Difference> differences_since(const Entry& before,
                                                        const RenderedJob& now);

} // namespace cybele::submission
