// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/connection.hpp"
#include "apiserver/exchange.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

namespace cybele::bridge {

/// Lets the connection and all parts that use it work: the Lease, the watches and the writes.
class Pump {
public:
    explicit Pump(apiserver::Connection& connection) : connection_(connection) {}

    void add(apiserver::Receiver& part) {
        parts_.push_back(&part);
    }
    /// A descriptor that ends a wait early.
    void watch(int fd) {
        descriptor_ = fd;
    }
    /// Works, and waits until `limit` at most; once, where nothing else is to be waited for.
    void work(apiserver::Moment limit);
    /// Works until `is_done`, or until `limit`.
    void work_until(const std::function<bool()>& is_done, apiserver::Moment limit);
    /// Does what can be done without waiting.
    void work_now();

    /// Reads an object; unset: no answer in time.
    [[nodiscard]] std::optional<apiserver::Reply> get(const std::string& path,
                                                      std::chrono::milliseconds limit);
    [[nodiscard]] std::optional<apiserver::Reply>
    post(const std::string& path, std::string body, std::chrono::milliseconds limit);
    [[nodiscard]] std::optional<apiserver::Reply> patch(const std::string& path,
                                                        std::string_view type,
                                                        std::string body,
                                                        std::chrono::milliseconds limit);

    [[nodiscard]] apiserver::Connection& connection() {
        return connection_;
    }

private:
    [[nodiscard]] std::optional<apiserver::Reply> send(const apiserver::Call& call);

    apiserver::Connection& connection_;
    std::vector<apiserver::Receiver*> parts_;
    int descriptor_ = -1;
};

} // namespace cybele::bridge
