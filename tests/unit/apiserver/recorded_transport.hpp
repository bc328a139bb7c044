// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/exchange.hpp"

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

/// Keeps the calls of one part, and lets a test answer them. To a part it is like a server.
namespace cybele::apiserver {

class RecordedTransport : public Transport {
public:
    std::uint64_t send(const Call& call, Receiver& receiver) override {
        calls.push_back(call);
        open_[++last_] = &receiver;
        return last_;
    }
    void end(std::uint64_t id) override {
        open_.erase(id);
        ended.push_back(id);
    }

    /// The newest call.
    [[nodiscard]] const Call& last() const {
        REQUIRE_FALSE(calls.empty());
        return calls.back();
    }
    [[nodiscard]] std::uint64_t last_id() const {
        return last_;
    }
    [[nodiscard]] bool is_open(std::uint64_t id) const {
        return open_.count(id) == 1;
    }
    [[nodiscard]] std::size_t open() const {
        return open_.size();
    }

    void advance(Receiver& part, std::chrono::milliseconds time) {
        now += time;
        part.wake(now);
    }
    /// Moves the clock to what is due next.
    void skip(Receiver& part) {
        REQUIRE(part.next_wake() != kNever);
        now = std::max(now, part.next_wake());
        part.wake(now);
    }

    void start(std::uint64_t id = 0) {
        receiver(id).on_start(number(id), now);
    }
    void line(std::string_view text, std::uint64_t id = 0) {
        receiver(id).on_line(number(id), text, now);
    }
    void answer(int status, std::string body, std::uint64_t id = 0) {
        Reply reply;
        reply.status = status;
        reply.body = std::move(body);
        give(reply, id);
    }
    /// No answer: a cut connection.
    void cut(std::uint64_t id = 0) {
        Reply reply;
        reply.failure = Error(
            ErrorCode::kEnvironment, problem("test", "cannot reach the server"), "cut", "retry");
        reply.is_passing = true;
        give(reply, id);
    }
    void give(const Reply& reply, std::uint64_t id = 0) {
        Receiver& part = receiver(id);
        const std::uint64_t which = number(id);
        open_.erase(which);
        part.on_reply(which, reply, now);
        part.wake(now);
    }

    Moment now{1'000'000};
    std::vector<Call> calls;
    std::vector<std::uint64_t> ended;

private:
    [[nodiscard]] std::uint64_t number(std::uint64_t id) const {
        return id == 0 ? last_ : id;
    }
    Receiver& receiver(std::uint64_t id) {
        REQUIRE(open_.count(number(id)) == 1);
        return *open_.at(number(id));
    }

    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Receiver*> open_;
};

} // namespace cybele::apiserver
