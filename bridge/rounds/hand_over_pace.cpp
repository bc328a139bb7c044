// SPDX-License-Identifier: Apache-2.0
#include "bridge/rounds/hand_over_pace.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cybele::bridge {
namespace {

constexpr std::size_t kLeastTogether = 5; ///< of them in a round, so that each round goes on
constexpr std::size_t kLeastInTrip = 50;  ///< by ssh

} // namespace

HandOverPace::HandOverPace(const std::vector<launchers::BridgeAccount>& accounts,
                           Time clock,
                           Time pause)
    : clock_(std::move(clock)), pause_(std::move(pause)) {
    for (const launchers::BridgeAccount& row : accounts) {
        if (!row.way.ssh.empty()) {
            by_ssh_.insert(row.account);
        }
    }
}

std::chrono::milliseconds HandOverPace::begin() {
    round_ = clock_();
    polled_ = round_;
    for (auto& [account, login] : logins_) {
        login.has_handed = false;
    }
    return round_;
}

void HandOverPace::begin_hand_overs() {
    begun_ = clock_();
}

HandOverPace::Login HandOverPace::login_of(const std::string& account) const {
    const auto found = logins_.find(account);
    return found == logins_.end() ? Login() : found->second;
}

std::size_t HandOverPace::fitting(std::chrono::milliseconds left, const Login& login) {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, left / login.each));
}

std::size_t HandOverPace::room(const std::string& account) const {
    const Login login = login_of(account);
    const std::size_t least = by_ssh_.contains(account) ? kMostTogether : kLeastTogether;
    const auto left = round_ + pause_() - clock_();
    const std::size_t most = fitting(left * 3 / 4, login); // the rest is for what follows them
    return login.has_handed && most < least ? 0 : std::clamp(most, least, kMostTogether);
}

std::size_t HandOverPace::trip(const std::string& account) const {
    const std::size_t least = by_ssh_.contains(account) ? kLeastInTrip : kLeastTogether;
    return std::clamp(fitting(next_poll() - clock_(), login_of(account)), least, kMostTogether);
}

void HandOverPace::handed(const std::string& account, std::size_t count) {
    const std::chrono::milliseconds now = clock_();
    Login& login = logins_[account];
    login.has_handed = true;
    if (count > 0) {
        login.each = std::max<std::chrono::milliseconds>(
            std::chrono::milliseconds{1}, (now - begun_) / static_cast<std::int64_t>(count));
    }
    begun_ = now;
}

bool HandOverPace::is_poll_due() const {
    return clock_() >= next_poll();
}

void HandOverPace::polled() {
    polled_ = clock_();
}

std::chrono::milliseconds HandOverPace::next_poll() const {
    return polled_ + pause_();
}

std::chrono::seconds HandOverPace::length_of_round() const {
    return std::chrono::duration_cast<std::chrono::seconds>(clock_() - round_);
}

} // namespace cybele::bridge
