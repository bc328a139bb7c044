// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/follow/poll.hpp"
#include "submission/submit/job_input.hpp"
#include "submission/submit/submit.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// What a submission was asked for, as the journal keeps it: the Site and the overrides of the
/// command line, and the digests of its document and its inputs.
[[nodiscard]] std::string request_text(const JobRequest& request, const RenderedJob& job);

/// The job that is to run again: an id, a UUID or an element's name of the journal, a record folder
/// of a job that the journal knows, or a record that `collect` made (NAME-ID.job.json, or the
/// folder with one such file).
[[nodiscard]] Result<Entry> job_to_repeat(const Journal& journal, const std::string& name);

struct RepeatChoice {
    bool failed = false;              ///< only what did not end well
    std::vector<std::string> ends;    ///< only what ended in one of these ways (`continue.on`)
    std::optional<std::string> array; ///< only these elements
};

/// How a job or an element ended, as `continue.on` calls it; empty: in another way.
[[nodiscard]] std::string_view continued_end(const Entry& entry);

/// The submission of a job that has ended once more, of its chosen elements only. `elements` are
/// its own (elements_of). A job that lives, one whose request was not kept, a choice that holds
/// none of its elements, and a document that is gone are kInput.
[[nodiscard]] Result<JobRequest>
repeat_request(const Entry& job, const std::vector<Entry>& elements, const RepeatChoice& choice);

} // namespace cybele::submission
