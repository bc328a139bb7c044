// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/exchange.hpp"
#include "bridge/service/service.hpp"
#include "support/error.hpp"
#include "support/file.hpp"

#include <optional>
#include <string>

#include <sys/types.h>

namespace cybele::bridge {

/// The https listener of `bridge run`: a helper that answers each request by `bridge answer`, so
/// that neither TLS nor a slow reader is in the process that carries jobs.
class Listener {
public:
    explicit Listener(const ServiceRequest& request) : request_(request) {}
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();

    /// Starts the helper where it does not run. Fails where it cannot listen; it is tried again
    /// after a pause. True: it was started now.
    [[nodiscard]] Result<bool> keep(apiserver::Moment now, const std::string& client_authorities);

    [[nodiscard]] bool is_running() const {
        return process_ > 0;
    }
    /// As others reach it.
    [[nodiscard]] const std::string& address() const {
        return address_;
    }
    [[nodiscard]] int port() const {
        return port_;
    }
    /// PEM text of what it shows.
    [[nodiscard]] const std::string& certificate() const {
        return certificate_;
    }
    /// Whether a start is due.
    [[nodiscard]] bool is_due(apiserver::Moment now);

private:
    [[nodiscard]] Result<void> start(const std::string& client_authorities);
    void end();

    const ServiceRequest& request_;
    UniqueFd socket_;
    pid_t process_ = -1;
    std::string address_;
    std::string certificate_;
    int port_ = 0;
    apiserver::Moment next_{0};
};

} // namespace cybele::bridge
