// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/documents/bridge.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cybele::bridge {

/// How many objects of an account are handed over together, so that the next poll is on time: jobs
/// end meanwhile. An account that is reached by ssh hands over more of them, since few logins are
/// worth more there, and the queue is read in between. Times are those of boot_time().
class HandOverPace {
public:
    using Time = std::function<std::chrono::milliseconds()>;

    static constexpr std::size_t kMostTogether = 50;

    /// `pause`: from the beginning of a poll to that of the next one, as it is at the time.
    HandOverPace(const std::vector<launchers::BridgeAccount>& accounts, Time clock, Time pause);

    /// A round begins, with a poll. The time.
    std::chrono::milliseconds begin();
    /// The first hand-over of a round begins.
    void begin_hand_overs();
    /// The next number of objects of the account; 0: its others wait for the next round.
    [[nodiscard]] std::size_t room(const std::string& account) const;
    /// How many of them are submitted in one round trip: the queue may be read between two.
    [[nodiscard]] std::size_t trip(const std::string& account) const;
    /// So many objects were handed over since begin_hand_overs() or the last call.
    void handed(const std::string& account, std::size_t count);

    [[nodiscard]] std::chrono::milliseconds pause() const {
        return pause_();
    }
    [[nodiscard]] bool is_poll_due() const;
    /// A poll begins between hand-overs.
    void polled();
    [[nodiscard]] std::chrono::milliseconds next_poll() const;
    [[nodiscard]] std::chrono::seconds length_of_round() const;

private:
    struct Login {
        std::chrono::milliseconds each{100}; ///< that one object takes
        bool has_handed = false;             ///< in this round
    };

    [[nodiscard]] Login login_of(const std::string& account) const;
    /// How many objects of the account are handed over until then.
    [[nodiscard]] static std::size_t fitting(std::chrono::milliseconds left, const Login& login);

    Time clock_;
    Time pause_;
    std::set<std::string> by_ssh_; ///< accounts
    std::map<std::string, Login> logins_;
    std::chrono::milliseconds round_{0};  ///< when it began
    std::chrono::milliseconds polled_{0}; ///< when the last poll began
    std::chrono::milliseconds begun_{0};  ///< when the last hand-over began
};

} // namespace cybele::bridge
