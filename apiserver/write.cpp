// SPDX-License-Identifier: Apache-2.0
#include "apiserver/write.hpp"

#include "apiserver/patch.hpp"
#include "support/json.hpp"

#include <algorithm>

namespace cybele::apiserver {

namespace {

using Json = nlohmann::json;

bool is_passing(const Reply& reply) {
    return reply.is_passing || reply.status == 429 || reply.status == 401 || reply.status >= 500;
}

/// The server may have done it although no answer says so. 429 is refused before anything.
bool is_unclear(const Reply& reply) {
    return reply.status == 0 || reply.status >= 500;
}

WriteResult::Kind kind_of(const Reply& reply) {
    switch (reply.status) {
    case 403:
        return WriteResult::Kind::kForbidden;
    case 404:
        return WriteResult::Kind::kGone;
    case 409:
        return WriteResult::Kind::kConflict;
    default:
        return reply.ok() ? WriteResult::Kind::kDone : WriteResult::Kind::kRefused;
    }
}

std::string without_subresource(const std::string& path) {
    constexpr std::string_view kStatus = "/status";
    return path.ends_with(kStatus) ? path.substr(0, path.size() - kStatus.size()) : path;
}

std::string revision_of(const std::string& body) {
    const Json object = parse_json(body);
    if (object.is_object() && object.contains("metadata") && object["metadata"].is_object()) {
        const Json& metadata = object["metadata"];
        if (metadata.contains("resourceVersion") && metadata["resourceVersion"].is_string()) {
            return metadata["resourceVersion"].get<std::string>();
        }
    }
    return {};
}

} // namespace

bool is_failed_test(const Reply& reply) {
    constexpr int kUnprocessable = 422;
    if (reply.status != kUnprocessable) {
        return false;
    }
    const Json status = parse_json(reply.body);
    const Json details = status.is_object() ? status.value("details", Json()) : Json();
    return !details.is_object() || (!details.contains("causes") && !details.contains("name"));
}

Writer::Writer(const WriterSettings& settings, Transport& transport, std::uint64_t seed)
    : settings_(settings), transport_(transport), jitter_(seed),
      pace_(settings.per_second, settings.burst) {}

Writer::~Writer() {
    for (const auto& [exchange, number] : open_) {
        transport_.end(exchange);
    }
}

std::optional<std::uint64_t> Writer::submit(Write write, Moment now) {
    if (entries_.size() >= settings_.longest_queue) {
        return std::nullopt;
    }
    const std::uint64_t number = ++last_;
    Entry& entry = entries_[number];
    entry.deadline = now + write.patience;
    entry.write = std::move(write);
    entry.backoff = settings_.backoff;
    queue_of(number).push_back(number);
    schedule(now);
    return number;
}

void Writer::cancel(std::uint64_t number) {
    const auto found = entries_.find(number);
    if (found == entries_.end()) {
        return;
    }
    if (found->second.exchange != 0) {
        transport_.end(found->second.exchange);
        open_.erase(found->second.exchange);
    }
    entries_.erase(found); // its number in the queues is passed over
}

Moment Writer::next_wake() const {
    return std::min(pace_due_, paused_.empty() ? kNever : paused_.begin()->first);
}

void Writer::wake(Moment now) {
    while (!paused_.empty() && paused_.begin()->first <= now) {
        const std::uint64_t number = paused_.begin()->second;
        if (entries_.contains(number)) {
            queue_of(number).push_back(number);
        }
        paused_.erase(paused_.begin());
    }
    schedule(now);
}

std::deque<std::uint64_t>& Writer::queue_of(std::uint64_t number) {
    return entries_.at(number).write.is_urgent ? urgent_ : ready_;
}

void Writer::schedule(Moment now) {
    pace_due_ = kNever;
    for (std::deque<std::uint64_t>* queue : {&urgent_, &ready_}) {
        while (!queue->empty() && open_.size() < settings_.streams) {
            const auto found = entries_.find(queue->front());
            if (found != entries_.end()) {
                const bool is_urgent = found->second.write.is_urgent;
                if (!pace_.take(now, is_urgent)) {
                    pace_due_ = pace_.next(now, is_urgent);
                    return;
                }
                send(found->second, found->first);
            }
            queue->pop_front();
        }
    }
}

void Writer::send(Entry& entry, std::uint64_t number) {
    Call call;
    if (entry.reads) {
        call.path = entry.write.read_path.empty() ? without_subresource(entry.write.path)
                                                  : entry.write.read_path;
    } else {
        call.method = entry.write.method;
        call.path = entry.write.path;
        call.content_type = entry.write.content_type;
        call.accept = entry.write.accept;
        call.body = entry.write.body;
    }
    entry.exchange = transport_.send(call, *this);
    open_[entry.exchange] = number;
}

void Writer::on_reply(std::uint64_t id, const Reply& reply, Moment now) {
    const auto found = open_.find(id);
    if (found == open_.end()) {
        return;
    }
    const std::uint64_t number = found->second;
    open_.erase(found);
    Entry& entry = entries_.at(number);
    entry.exchange = 0;
    if (reply.status == 429) {
        pace_.slow_down(now);
    }
    if (entry.reads) {
        take_read(entry, number, reply, now);
    } else {
        take_write(entry, number, reply, now);
    }
    schedule(now);
}

void Writer::retry(Entry& entry, std::uint64_t number, const Reply& reply, Moment now) {
    const Moment due = now + entry.backoff.pause(reply, jitter_);
    if (due > entry.deadline) {
        finish(
            number,
            {WriteResult::Kind::kUnavailable, {}, refusal("writing " + entry.write.path, reply)});
        return;
    }
    paused_.emplace(due, number);
}

void Writer::take_write(Entry& entry, std::uint64_t number, const Reply& reply, Moment now) {
    if (is_passing(reply)) {
        entry.reads = is_unclear(reply) && !entry.write.revision.empty();
        retry(entry, number, reply, now);
        return;
    }
    WriteResult outcome{kind_of(reply), reply.body, {}};
    if (entry.write.content_type == kJsonPatch && is_failed_test(reply)) {
        outcome.kind = WriteResult::Kind::kConflict;
    }
    if (outcome.kind != WriteResult::Kind::kDone) {
        outcome.error = refusal("writing " + entry.write.path, reply);
    }
    finish(number, outcome);
}

void Writer::take_read(Entry& entry, std::uint64_t number, const Reply& reply, Moment now) {
    if (is_passing(reply)) {
        retry(entry, number, reply, now);
        return;
    }
    const std::string revision = reply.ok() ? revision_of(reply.body) : std::string();
    if (reply.ok() && revision.empty()) {
        retry(entry, number, reply, now);
        return;
    }
    if (reply.ok() && revision == entry.write.revision) {
        entry.reads = false; // it did not happen
        queue_of(number).push_front(number);
        return;
    }
    WriteResult outcome{reply.ok() ? WriteResult::Kind::kConflict : kind_of(reply), reply.body, {}};
    outcome.error =
        reply.ok() ? Error(ErrorCode::kEnvironment,
                           problem("api-write-unknown", "it is not known whether a write happened"),
                           "no answer came, and the object has changed since",
                           "read the object and decide again")
                   : refusal("reading " + entry.write.path, reply);
    finish(number, outcome);
}

void Writer::finish(std::uint64_t number, const WriteResult& outcome) {
    const auto found = entries_.find(number);
    const std::function<void(const WriteResult&)> on_end = std::move(found->second.write.on_end);
    entries_.erase(found);
    if (on_end) {
        on_end(outcome); // may submit
    }
}

} // namespace cybele::apiserver
