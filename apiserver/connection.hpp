// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/access.hpp"
#include "apiserver/backoff.hpp"
#include "apiserver/exchange.hpp"
#include "support/http.hpp"
#include "support/http_session.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

namespace cybele::apiserver {

/// The transport to a real server. Credentials are read again each minute and when the server
/// refuses them (401); then the exchange is repeated once. A helper process that ended is started
/// again.
class Connection : public Transport {
public:
    Connection(HttpClient client, Access access, std::uint64_t seed);

    [[nodiscard]] std::uint64_t send(const Call& call, Receiver& receiver) override;
    void end(std::uint64_t id) override;

    /// What to poll for; its descriptor is -1 while there is no helper.
    [[nodiscard]] pollfd wait() const;
    [[nodiscard]] Moment next_wake() const;
    /// Passes on what has come, and does what is due. Does not block, but for an `exec` program.
    void process(Moment now);

    [[nodiscard]] const Access& access() const {
        return access_;
    }
    /// Why credentials could not be read again the last time; unset: they could.
    [[nodiscard]] const std::optional<Error>& credentials_error() const {
        return credentials_error_;
    }
    /// Exchanges that were started, by all parts together.
    [[nodiscard]] std::uint64_t exchanges() const {
        return last_;
    }

private:
    struct Exchange {
        Call call;
        Receiver* receiver = nullptr;
        std::uint64_t session_id = 0;
        std::uint64_t generation = 0; ///< of the credentials that were sent
        bool is_repeated = false;
    };

    void start_helper(Moment now);
    void transmit(std::uint64_t id, Exchange& exchange);
    void refresh(Moment now);
    void renew(Moment now);
    void take_credentials(Result<bool> changed);
    void dispatch(HttpEvent& event, Moment now);
    void finish(std::uint64_t id, HttpEvent& event, Moment now);
    void drop_helper(Moment now);
    void send_unsent(Moment now);
    void fail_lost(Moment now);
    [[nodiscard]] HttpSessionSettings settings() const;
    [[nodiscard]] static Reply reply_of(HttpEvent& event);

    HttpClient client_;
    Access access_;
    Jitter jitter_;
    Backoff backoff_;
    std::string base_; ///< URL without a path
    std::string connect_to_;
    std::unique_ptr<HttpSession> session_;
    std::optional<Error> start_error_;
    Moment restart_{0};
    Moment refresh_{0};
    Moment renewed_{-kRenewPause};
    Moment answered_{0};
    int silent_failures_ = 0;
    std::uint64_t generation_ = 1;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Exchange> exchanges_;
    std::map<std::uint64_t, std::uint64_t> by_session_;
    std::vector<std::uint64_t> unsent_; ///< there was no helper
    std::vector<std::uint64_t> lost_;   ///< sent, but their helper is gone
    std::optional<Error> credentials_error_;

    static constexpr Moment kRenewPause{10'000};
};

} // namespace cybele::apiserver
