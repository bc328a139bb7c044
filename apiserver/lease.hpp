// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/backoff.hpp"
#include "apiserver/exchange.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace cybele::apiserver {

struct LeaseSettings {
    std::string name_space;
    std::string name;
    std::string identity; ///< of this process, and of no other that ever ran
    /// Others take over when the Lease stood still this long by their own clock.
    std::chrono::milliseconds duration{30'000};
    std::chrono::milliseconds renew{5'000};
    /// The holder stops acting this long after it sent the last renewal that was answered.
    std::chrono::milliseconds give_up{20'000};
    /// How often the others look.
    std::chrono::milliseconds watch{3'000};
    /// The annotation by which those who share the Lease tell each other that the server was put
    /// back to an earlier state; empty: none.
    std::string rewound_mark = {};
};

/// One leader among several processes, by a coordination.k8s.io/v1 Lease. No time that the Lease
/// names is compared with a clock: a holder measures from its own renewals, the others measure how
/// long the Lease did not change.
class Lease : public Receiver {
public:
    /// `stamp` gives the wall clock's time for renewTime, in RFC 3339 with six decimals; people
    /// read it.
    Lease(LeaseSettings settings,
          Transport& transport,
          std::function<std::string()> stamp,
          std::uint64_t seed);
    ~Lease() override;

    /// Ask before each action that only the leader may do.
    [[nodiscard]] bool is_held(Moment now) const {
        return now < held_until_;
    }
    /// Gives it back, so that another process takes over at its next look. Not held from now on;
    /// has_ended() when the server has answered.
    void release(Moment now);
    [[nodiscard]] bool has_ended() const {
        return state_ == State::kEnded;
    }
    /// The holder, as far as is known; empty: none.
    [[nodiscard]] const std::string& holder() const {
        return holder_;
    }
    /// The uid that the server gave the Lease: the same for all who share it, different for a Lease
    /// of the same name elsewhere. Empty: not known yet.
    [[nodiscard]] const std::string& uid() const {
        return uid_;
    }
    /// The next renewal says to the others that the server was put back to an earlier state.
    void mark_rewound() {
        new_mark_ = stamp_();
    }
    /// How often the server showed an earlier revision of the Lease than before, or another process
    /// marked it as rewound: the store was restored from a backup. Revisions of a collection may
    /// have passed the old ones before anybody looks; that of the Lease is its own.
    [[nodiscard]] int rewinds() const {
        return rewinds_;
    }
    /// The last failure since the last success.
    [[nodiscard]] const std::optional<Error>& last_error() const {
        return last_error_;
    }

    void on_reply(std::uint64_t id, const Reply& reply, Moment now) override;
    void wake(Moment now) override;
    [[nodiscard]] Moment next_wake() const override;

private:
    enum class State {
        kReading, ///< GET, next or now
        kWriting, ///< PUT or POST: create, take over, renew
        kHolding, ///< until the next renewal
        kGiving,  ///< PUT without a holder
        kEnded,
    };

    void read();
    void write(Moment now);
    void give();
    void put(const nlohmann::json& object);
    void take_read(const Reply& reply, Moment now);
    void take_write(const Reply& reply, Moment now);
    void observe(const nlohmann::json& object, Moment now);
    void compare(const nlohmann::json& metadata);
    void lose();
    [[nodiscard]] bool may_take(Moment now) const;
    [[nodiscard]] std::string collection() const;

    LeaseSettings settings_;
    Transport& transport_;
    std::function<std::string()> stamp_;
    Jitter jitter_;
    State state_ = State::kReading;
    std::uint64_t exchange_ = 0;
    Moment due_{0};
    Moment sent_{0};              ///< when the open write was sent
    Moment held_until_{0};        ///< is_held()
    Moment still_since_ = kNever; ///< since when the Lease has not changed; of others' Leases
    std::chrono::milliseconds other_duration_{0}; ///< what its holder wrote
    std::string holder_;
    std::string uid_;
    std::string revision_; ///< resourceVersion as seen last
    std::string mark_;     ///< value of the mark, as seen last
    std::string new_mark_; ///< to be written; empty: none
    int rewinds_ = 0;
    std::string seen_;                       ///< resourceVersion and renewTime that stood still
    std::unique_ptr<nlohmann::json> object_; ///< as read last; null: it does not exist
    bool is_releasing_ = false;
    std::optional<Error> last_error_;
};

} // namespace cybele::apiserver
