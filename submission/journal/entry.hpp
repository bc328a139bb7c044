// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/journal/state.hpp"

#include <cstdint>
#include <string>

namespace cybele::submission {

/// Entry::client of a job whose own client ended before it had the id, and that another command
/// found: the next submission of the same takes it up.
constexpr const char* kFound = "found";

/// A job as the journal keeps it, from the intent to submit it to its end. Times are Unix seconds,
/// 0: not known.
struct Entry {
    std::string uuid;
    std::string scheduler; ///< a dialect's name
    std::string login;     ///< how it is reached (backends/way.hpp); empty: this machine
    std::string id;        ///< native; empty while it is not known
    std::string name;
    State state = State::kSubmitting;
    std::string native; ///< the scheduler's own word
    std::string reason;
    std::int64_t code = -1; ///< of the program; -1: none or not known
    std::int64_t signal = 0;
    std::int64_t asked = 0;     ///< when the intent was written
    std::int64_t submitted = 0; ///< when the id came
    std::int64_t started = 0;
    std::int64_t ended = 0;
    std::int64_t expected = 0;      ///< the estimated start while it waits: asked, never kept
    std::int64_t missing_since = 0; ///< when the scheduler first did not list it
    std::int64_t cancel_asked = 0;
    std::string folder; ///< where it was submitted
    std::string workdir;
    std::string record;
    std::string standard_output;
    std::string standard_error;
    std::string script; ///< sha256:…
    std::string job;    ///< the document's path
    std::string array;
    std::string image_digest; ///< sha256:… of the image as it was submitted; empty: not known
    std::int64_t nodes = 1;
    std::int64_t tasks = 1;
    std::int64_t cpus = 1;
    std::int64_t time_limit = 0; ///< seconds; 0: the queue's
    std::int64_t follows = 0;    ///< how many jobs it follows (`after`) as its scheduler knows
    std::int64_t patience = 0;   ///< seconds, as the Site says (Evidence::patience); 0: as usual
    std::string results;         ///< the Job's `output.results`, as a JSON list; empty: none
    std::string results_to;      ///< the Job's `output.to`
    std::string node;            ///< where it runs or ran; empty: not known
    std::string elements;        ///< of an array, what is known of each element (follow/array.hpp)
    std::string request;         ///< what `submit` was asked for, to run it again (resubmit.hpp)
    std::string client;          ///< the process that submits: pid, start and boot; or kFound
    bool is_element = false;     ///< one of the array: no row of the journal
    std::int64_t index = -1;     ///< of an element

    /// What `--wait` exits with (docs/reference/submit.md). 125: lost, or the code is not known.
    [[nodiscard]] int shell_code() const;
};

} // namespace cybele::submission
