// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What the parts of this module and their transport say to each other.
namespace cybele::apiserver {

/// Time since the machine started, suspended time included (support/boot_time.hpp). The wall clock
/// decides nothing here.
using Moment = std::chrono::milliseconds;

/// Never: no time at which something is due.
inline constexpr Moment kNever = Moment::max();

struct Call {
    std::string method = "GET";
    std::string path; ///< with its query: "/api/v1/pods?limit=500"
    std::string content_type;
    std::string accept = "application/json";
    std::string body;
    std::chrono::milliseconds limit{30'000};
    std::uint64_t maximum_size = std::uint64_t{4} << 20U; ///< of the body, or of a streamed line
    bool is_stream = false; ///< Receiver::on_line() for each line of a 200
};

/// The end of an exchange.
struct Reply {
    int status = 0; ///< 0: no answer, see `failure`
    std::string body;
    std::optional<std::chrono::seconds> retry_after;
    std::optional<Error> failure;
    bool is_passing = false; ///< the failure may not occur again
    bool is_too_large = false;

    [[nodiscard]] bool ok() const {
        return status >= 200 && status < 300;
    }
};

/// A part that sends calls. One that is destroyed first ends its exchanges.
class Receiver {
public:
    Receiver() = default;
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;
    virtual ~Receiver() = default;

    /// A streamed answer begins.
    virtual void on_start(std::uint64_t /*id*/, Moment /*now*/) {}
    virtual void on_line(std::uint64_t /*id*/, std::string_view /*line*/, Moment /*now*/) {}
    virtual void on_reply(std::uint64_t id, const Reply& reply, Moment now) = 0;
    /// Does what is due. Called after each reply too.
    virtual void wake(Moment now) = 0;
    /// When wake() is to be called at the latest.
    [[nodiscard]] virtual Moment next_wake() const = 0;
};

/// Sends calls. Replies come later, never within send().
class Transport {
public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    [[nodiscard]] virtual std::uint64_t send(const Call& call, Receiver& receiver) = 0;
    /// Nothing more comes of that exchange.
    virtual void end(std::uint64_t id) = 0;
};

/// An answer of the server that is not a success, as a user reads it: status and the message of
/// the server's Status object, or the beginning of its text.
[[nodiscard]] Error refusal(const std::string& what, const Reply& reply);

} // namespace cybele::apiserver
