// SPDX-License-Identifier: Apache-2.0
#include "bridge/batch/poll_index.hpp"

namespace cybele::bridge {

PollIndex::PollIndex(Poll poll) : poll_(std::move(poll)) {
    for (std::size_t at = 0; at < poll_.jobs.size(); ++at) {
        const SeenJob& job = poll_.jobs[at];
        if (!job.token.empty()) {
            by_token_.emplace(job.token, at);
        }
        by_id_.emplace(job.id, at);
    }
}

QueueObservation PollIndex::seen_state_of(const Object& object, const std::string& answer) const {
    QueueObservation sight;
    sight.is_complete = poll_.is_complete;
    const auto [first, last] = by_token_.equal_range(object.uid);
    for (auto at = first; at != last; ++at) {
        sight.jobs.push_back(poll_.jobs[at->second]);
    }
    for (const std::string& id : {object.status.job_id, answer}) {
        const auto found = by_id_.find(id);
        if (!id.empty() && found != by_id_.end() && poll_.jobs[found->second].token != object.uid) {
            sight.jobs.push_back(poll_.jobs[found->second]);
        }
    }
    return sight;
}

} // namespace cybele::bridge
