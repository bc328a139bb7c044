// SPDX-License-Identifier: Apache-2.0
#include "bridge/server/pump.hpp"

#include "apiserver/loop.hpp"
#include "support/boot_time.hpp"

#include <algorithm>

namespace cybele::bridge {
namespace {

using apiserver::Moment;

class OneReply : public apiserver::Receiver {
public:
    void on_reply(std::uint64_t /*id*/, const apiserver::Reply& reply, Moment /*now*/) override {
        reply_ = reply;
    }
    void wake(Moment /*now*/) override {}
    [[nodiscard]] Moment next_wake() const override {
        return apiserver::kNever;
    }
    [[nodiscard]] std::optional<apiserver::Reply> take() {
        return std::move(reply_);
    }
    [[nodiscard]] bool has_reply() const {
        return reply_.has_value();
    }

private:
    std::optional<apiserver::Reply> reply_;
};

} // namespace

void Pump::work(Moment limit) {
    std::vector<pollfd> others;
    if (descriptor_ >= 0) {
        others.push_back({descriptor_, POLLIN, 0});
    }
    apiserver::turn(connection_, parts_, boot_time, limit, others.empty() ? nullptr : &others);
}

void Pump::work_now() {
    apiserver::turn(connection_, parts_, boot_time, boot_time());
}

void Pump::work_until(const std::function<bool()>& is_done, Moment limit) {
    while (!is_done() && boot_time() < limit) {
        // Without the descriptor: what waits for an answer is not ended by a signal.
        apiserver::turn(connection_, parts_, boot_time, limit);
    }
}

std::optional<apiserver::Reply> Pump::send(const apiserver::Call& call) {
    OneReply receiver;
    const std::uint64_t id = connection_.send(call, receiver);
    work_until([&] { return receiver.has_reply(); }, boot_time() + call.limit);
    if (!receiver.has_reply()) {
        connection_.end(id);
    }
    return receiver.take();
}

std::optional<apiserver::Reply> Pump::get(const std::string& path,
                                          std::chrono::milliseconds limit) {
    apiserver::Call call;
    call.path = path;
    call.limit = limit;
    return send(call);
}

std::optional<apiserver::Reply>
Pump::post(const std::string& path, std::string body, std::chrono::milliseconds limit) {
    apiserver::Call call;
    call.method = "POST";
    call.path = path;
    call.content_type = "application/json";
    call.body = std::move(body);
    call.limit = limit;
    return send(call);
}

std::optional<apiserver::Reply> Pump::patch(const std::string& path,
                                            std::string_view type,
                                            std::string body,
                                            std::chrono::milliseconds limit) {
    apiserver::Call call;
    call.method = "PATCH";
    call.path = path;
    call.content_type = type;
    call.body = std::move(body);
    call.limit = limit;
    return send(call);
}

} // namespace cybele::bridge
