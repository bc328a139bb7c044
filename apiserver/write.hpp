// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/backoff.hpp"
#include "apiserver/exchange.hpp"
#include "apiserver/pace.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace cybele::apiserver {

/// Whether a JSON patch was refused because one of its tests failed. An object that would not be
/// valid after the patch is a 422 as well, whose details name it.
[[nodiscard]] bool is_failed_test(const Reply& reply);

/// How a write ended.
struct WriteResult {
    enum class Kind {
        kDone,
        kConflict,    ///< 409, or a test that failed (422): read the object, decide again
        kGone,        ///< 404: the object does not exist any more
        kForbidden,   ///< 403: concerns this namespace or resource only
        kRefused,     ///< any other 4xx: the same write will never succeed
        kUnavailable, ///< no success within Write::patience
    };

    Kind kind = Kind::kDone;
    std::string body; ///< of the answer: the object (or its metadata) after a success
    std::optional<Error> error;
};

struct Write {
    std::string method = "PATCH"; ///< PATCH, PUT, POST, DELETE
    std::string path;
    std::string content_type; ///< patch.hpp
    std::string body;
    std::string accept = "application/json";
    /// The resourceVersion that the write is based on. When no answer came, the object at
    /// `read_path` is read: where it still has this one, the write did not happen and is repeated;
    /// else it is a conflict. Empty: repeated without reading, since it is harmless (a deletion
    /// with its uid), or its repetition is refused by the server (a creation).
    std::string revision;
    std::string read_path; ///< empty: `path`, without a subresource
    std::chrono::milliseconds patience{300'000};
    bool is_urgent = false; ///< sent before others that wait, and by the half of the burst for it
    std::function<void(const WriteResult&)> on_end;
};

struct WriterSettings {
    double per_second = 50;
    double burst = 100;
    std::size_t streams = 4;
    std::size_t longest_queue = 20'000;
    Backoff backoff;
};

/// Sends writes in their order, urgent ones first, several at the same time, at a pace of its own,
/// and repeats those that failed for a passing reason.
class Writer : public Receiver {
public:
    Writer(const WriterSettings& settings, Transport& transport, std::uint64_t seed);
    ~Writer() override;

    /// The number of the write; unset: the queue is full.
    [[nodiscard]] std::optional<std::uint64_t> submit(Write write, Moment now);
    /// Forgets a write; one that was sent may happen all the same.
    void cancel(std::uint64_t number);

    void on_reply(std::uint64_t id, const Reply& reply, Moment now) override;
    void wake(Moment now) override;
    [[nodiscard]] Moment next_wake() const override;

    [[nodiscard]] std::size_t pending() const {
        return entries_.size();
    }
    [[nodiscard]] double rate() const {
        return pace_.rate();
    }

private:
    struct Entry {
        Write write;
        Backoff backoff;
        Moment deadline{0};
        Moment due{0};
        std::uint64_t exchange = 0; ///< 0: none is open
        bool reads = false;         ///< next, or now: the object, after a write without an answer
    };

    void send(Entry& entry, std::uint64_t number);
    void retry(Entry& entry, std::uint64_t number, const Reply& reply, Moment now);
    void take_write(Entry& entry, std::uint64_t number, const Reply& reply, Moment now);
    void take_read(Entry& entry, std::uint64_t number, const Reply& reply, Moment now);
    void finish(std::uint64_t number, const WriteResult& outcome);
    void schedule(Moment now);
    std::deque<std::uint64_t>& queue_of(std::uint64_t number);

    WriterSettings settings_;
    Transport& transport_;
    Jitter jitter_;
    Pace pace_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Entry> entries_;
    std::deque<std::uint64_t> urgent_;            ///< in their order
    std::deque<std::uint64_t> ready_;             ///< in their order, after those
    std::multimap<Moment, std::uint64_t> paused_; ///< until then
    std::map<std::uint64_t, std::uint64_t> open_; ///< exchange -> number
    Moment pace_due_ = kNever;
};

} // namespace cybele::apiserver
