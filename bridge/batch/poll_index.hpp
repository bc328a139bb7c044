// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bridge/batch/cluster.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace cybele::bridge {

/// One poll, by token and by id: what concerns an object is found without a look at all others.
class PollIndex {
public:
    explicit PollIndex(Poll poll);

    /// The jobs with the object's uid, that in its status, and that with `answer`.
    [[nodiscard]] QueueObservation seen_state_of(const Object& object,
                                                 const std::string& answer = {}) const;

    [[nodiscard]] const Poll& poll() const {
        return poll_;
    }

private:
    Poll poll_;
    std::unordered_multimap<std::string, std::size_t> by_token_;
    std::unordered_map<std::string, std::size_t> by_id_;
};

} // namespace cybele::bridge
