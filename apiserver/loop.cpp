// SPDX-License-Identifier: Apache-2.0
#include "apiserver/loop.hpp"

#include <algorithm>

namespace cybele::apiserver {

void turn(Connection& connection,
          const std::vector<Receiver*>& parts,
          const std::function<Moment()>& clock,
          Moment limit,
          std::vector<pollfd>* others) {
    connection.process(clock());
    Moment due = std::min(limit, connection.next_wake());
    for (Receiver* const part : parts) {
        part->wake(clock());
        due = std::min(due, part->next_wake());
    }
    std::vector<pollfd> waits;
    if (others != nullptr) {
        waits = *others;
    }
    waits.push_back(connection.wait());
    constexpr std::int64_t kLongestWait = 1'000;
    const auto left = std::clamp<std::int64_t>((due - clock()).count(), 0, kLongestWait);
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left));
    if (ready > 0) {
        connection.process(clock());
    }
    if (others != nullptr) {
        waits.pop_back();
        *others = std::move(waits);
    }
}

} // namespace cybele::apiserver
