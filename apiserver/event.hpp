// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apiserver/write.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace cybele::apiserver {

/// The object that an Event is about.
struct EventSubject {
    std::string api_version; ///< "cybelectl.io/v1"
    std::string kind;
    std::string name_space; ///< empty for an object of the cluster: the Event is in "default"
    std::string name;
    std::string uid;
};

struct EventText {
    std::string reason; ///< "Submitted"
    std::string action; ///< "Submit"
    std::string note;   ///< cut after 1,024 bytes
    bool is_warning = false;
    /// Events of one object with the same reason and key are one Event, which counts.
    std::string key;
};

/// The name of an Event: the same one for the same object, reason and key.
[[nodiscard]] std::string event_name(const EventSubject& subject, const EventText& text);

struct EventRecorderSettings {
    std::string controller; ///< "cybelectl.io/bridge"
    std::string instance;   ///< which of its processes
    std::size_t most_pending = 1'000;
};

/// Writes events.k8s.io/v1 Events. A repetition counts up the existing one. An Event that cannot be
/// written (its namespace is being deleted, the server does not answer) is dropped: nothing may
/// depend on one.
class EventRecorder : public Receiver {
public:
    EventRecorder(EventRecorderSettings settings,
                  Transport& transport,
                  Writer& writer,
                  std::function<std::string()> stamp);
    ~EventRecorder() override;

    void record(const EventSubject& subject, const EventText& text, Moment now);
    [[nodiscard]] std::uint64_t written() const {
        return written_;
    }
    [[nodiscard]] std::uint64_t dropped() const {
        return dropped_;
    }
    [[nodiscard]] std::size_t pending() const {
        return pending_.size();
    }

    void on_reply(std::uint64_t id, const Reply& reply, Moment now) override;
    void wake(Moment now) override;
    [[nodiscard]] Moment next_wake() const override;

private:
    struct Pending {
        std::string collection;
        std::string name;
        std::string body;
        std::uint64_t write = 0;
        std::uint64_t read = 0;
        int turns = 0; ///< conflicts while counting up
    };

    void submit(std::uint64_t number, Write write, Moment now);
    void take_outcome(std::uint64_t number, bool was_creation, const WriteResult& outcome);
    void drop(std::uint64_t number);

    EventRecorderSettings settings_;
    Transport& transport_;
    Writer& writer_;
    std::function<std::string()> stamp_;
    std::uint64_t last_ = 0;
    std::uint64_t written_ = 0;
    std::uint64_t dropped_ = 0;
    std::map<std::uint64_t, Pending> pending_;
    std::map<std::uint64_t, std::uint64_t> reads_; ///< exchange -> number
};

} // namespace cybele::apiserver
