// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/backoff.hpp"
#include "apiserver/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cybele::apiserver {

struct ListWatchSettings {
    std::string path;     ///< of the collection: "/apis/GROUP/VERSION/[namespaces/NS/]PLURAL"
    std::string selector; ///< further query parameters, percent-encoded: "labelSelector=a%3Db"
    std::size_t page = 500;
    /// How long one watch lasts, up to a tenth more; the server ends it.
    std::chrono::milliseconds watch_time{300'000};
    /// Between two questions for the server's current revision.
    std::chrono::milliseconds probe_time{300'000};
    Backoff backoff;
};

/// What a list and its watch show, in order.
class Observer {
public:
    Observer() = default;
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;
    virtual ~Observer() = default;

    /// A complete list begins, the first one or after a gap. It may begin again before it ends.
    virtual void on_list_begin() = 0;
    /// An object of the list, or one that the watch shows as added or changed. It is the
    /// observer's: it may be moved from.
    virtual void on_object(nlohmann::json& object) = 0;
    /// The watch shows that it was deleted; its last state.
    virtual void on_deleted(nlohmann::json& object) = 0;
    /// The list is complete. What was known before and was not in it is missing; whether it was
    /// deleted is not known.
    virtual void on_list_end() = 0;
    /// The server's revision is lower than one that was seen, or put_back() was called and `now` is
    /// empty: its store was restored from a backup. All is listed again.
    virtual void on_rewound(const std::string& seen, const std::string& now) = 0;
    /// A failure that does not pass within one retry, once until the next success.
    virtual void on_error(const Error& error) = 0;
    virtual void on_recovered() = 0;
};

/// Lists a collection in pages, then watches it, for ever. The state and the rules are here;
/// exchanges go through the transport.
class ListWatch : public Receiver {
public:
    ListWatch(ListWatchSettings settings,
              Transport& transport,
              Observer& observer,
              std::uint64_t seed);
    ~ListWatch() override;

    void on_start(std::uint64_t id, Moment now) override;
    void on_line(std::uint64_t id, std::string_view line, Moment now) override;
    void on_reply(std::uint64_t id, const Reply& reply, Moment now) override;
    void wake(Moment now) override;
    [[nodiscard]] Moment next_wake() const override;

    /// Somebody else saw that the store was restored from a backup. The revision does not show it
    /// when it has passed the old one before this asks for it.
    void put_back(Moment now);

    /// The newest revision that was seen; empty: none yet.
    [[nodiscard]] const std::string& revision() const {
        return revision_;
    }
    /// A list was completed, and nothing has questioned it since.
    [[nodiscard]] bool is_synced() const {
        return state_ == State::kProbing || state_ == State::kWatching;
    }

    /// It is synced, or the server refused the list when it was last asked for: others need not
    /// wait for this one.
    [[nodiscard]] bool is_settled() const {
        return is_synced() || is_refused_;
    }

private:
    enum class State { kListing, kProbing, kWatching };
    /// The shortest time from one list to the next, where each watch fails at its begin.
    static constexpr Moment kListPause{3'000};

    void list(Moment now);
    void list_again(Moment when);
    void probe(Moment now);
    void watch(Moment now);
    void take_page(const Reply& reply, Moment now);
    void take_probe(const Reply& reply, Moment now);
    void end_watch(const Reply& reply, Moment now);
    void take_error(const nlohmann::json& status, Moment now);
    void cut_watch(Moment now);
    void fail(const Reply& reply, Backoff& backoff, Moment now);
    void check_revision(const std::string& current);
    void report(const Error& error);
    void succeed();
    void stop_exchanges();
    [[nodiscard]] std::string query(const std::string& parameters) const;

    ListWatchSettings settings_;
    Transport& transport_;
    Observer& observer_;
    Jitter jitter_;
    State state_ = State::kListing;
    Moment due_{0};              ///< of the next exchange of the state; kNever while one is open
    std::uint64_t exchange_ = 0; ///< of the state; 0: none
    std::uint64_t probe_ = 0;    ///< in addition to a watch
    Moment probe_due_ = kNever;
    Moment watch_began_{0};
    bool has_lines_ = false;  ///< the watch has shown something
    Moment settles_ = kNever; ///< when a watch that has begun counts as a success
    Moment listed_{-kListPause};
    std::size_t page_;
    std::string continue_;
    std::string revision_;
    std::string asked_at_; ///< revision_ when the probe was sent: what it must not be lower than
    std::string list_revision_;
    Backoff watch_backoff_;
    int failures_ = 0; ///< since the last success
    bool is_reported_ = false;
    bool is_refused_ = false; ///< the last list, with 403
};

using ListWatches = std::vector<std::unique_ptr<ListWatch>>;

void put_back(const ListWatches& watches, Moment now);

} // namespace cybele::apiserver
