// SPDX-License-Identifier: Apache-2.0
#include "apiserver/event.hpp"

#include "apiserver/patch.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"

namespace cybele::apiserver {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestNote = 1024;
constexpr std::size_t kLongestNamePart = 230;
constexpr std::size_t kHashDigits = 16;
constexpr int kMostTurns = 4;
constexpr std::chrono::milliseconds kEventPatience{60'000};

/// Not in the middle of a character.
std::string shortened(const std::string& text) {
    if (text.size() <= kLongestNote) {
        return text;
    }
    std::size_t end = kLongestNote;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
        --end;
    }
    return text.substr(0, end);
}

std::string event_body(const EventSubject& subject,
                       const EventText& text,
                       const EventRecorderSettings& settings,
                       const std::string& time) {
    const std::string name_space = subject.name_space.empty() ? "default" : subject.name_space;
    Json regarding{{"apiVersion", subject.api_version},
                   {"kind", subject.kind},
                   {"name", subject.name},
                   {"uid", subject.uid}};
    if (!subject.name_space.empty()) {
        regarding["namespace"] = subject.name_space;
    }
    const Json event{{"apiVersion", "events.k8s.io/v1"},
                     {"kind", "Event"},
                     {"metadata", {{"name", event_name(subject, text)}, {"namespace", name_space}}},
                     {"eventTime", time},
                     {"reportingController", settings.controller},
                     {"reportingInstance", settings.instance},
                     {"action", text.action},
                     {"reason", text.reason},
                     {"regarding", std::move(regarding)},
                     {"note", shortened(text.note)},
                     {"type", text.is_warning ? "Warning" : "Normal"}};
    return json_text(event, -1);
}

/// How often it was seen, as it says.
std::int64_t count_of(const Json& event) {
    const Json series = event.value("series", Json());
    if (series.is_object() && series.contains("count") && series["count"].is_number_integer()) {
        return series["count"].get<std::int64_t>();
    }
    return 1;
}

} // namespace

std::string event_name(const EventSubject& subject, const EventText& text) {
    std::string part = subject.name.substr(0, kLongestNamePart);
    while (!part.empty() && (part.back() == '.' || part.back() == '-')) {
        part.pop_back();
    }
    const std::string seed = subject.uid + "\n" + text.reason + "\n" + text.key;
    return part + "." + hex(sha256(seed)).substr(0, kHashDigits);
}

EventRecorder::EventRecorder(EventRecorderSettings settings,
                             Transport& transport,
                             Writer& writer,
                             std::function<std::string()> stamp)
    : settings_(std::move(settings)), transport_(transport), writer_(writer),
      stamp_(std::move(stamp)) {}

EventRecorder::~EventRecorder() {
    for (const auto& [number, pending] : pending_) {
        if (pending.write != 0) {
            writer_.cancel(pending.write);
        }
        if (pending.read != 0) {
            transport_.end(pending.read);
        }
    }
}

void EventRecorder::wake(Moment /*now*/) {}

Moment EventRecorder::next_wake() const {
    return kNever;
}

void EventRecorder::record(const EventSubject& subject, const EventText& text, Moment now) {
    if (pending_.size() >= settings_.most_pending) {
        ++dropped_;
        return;
    }
    const std::uint64_t number = ++last_;
    Pending& pending = pending_[number];
    pending.collection = "/apis/events.k8s.io/v1/namespaces/" +
                         (subject.name_space.empty() ? "default" : subject.name_space) + "/events";
    pending.name = event_name(subject, text);
    Write write;
    write.method = "POST";
    write.path = pending.collection;
    write.content_type = kJsonBody;
    write.accept = kMetadataOnly;
    write.body = event_body(subject, text, settings_, stamp_());
    submit(number, std::move(write), now);
}

void EventRecorder::submit(std::uint64_t number, Write write, Moment now) {
    const bool is_creation = write.method == "POST";
    write.patience = kEventPatience;
    write.on_end = [this, number, is_creation](const WriteResult& outcome) {
        take_outcome(number, is_creation, outcome);
    };
    const auto submitted = writer_.submit(std::move(write), now);
    if (submitted) {
        pending_.at(number).write = *submitted;
    } else {
        drop(number);
    }
}

void EventRecorder::drop(std::uint64_t number) {
    ++dropped_;
    pending_.erase(number);
}

void EventRecorder::take_outcome(std::uint64_t number,
                                 bool was_creation,
                                 const WriteResult& outcome) {
    Pending& pending = pending_.at(number);
    pending.write = 0;
    if (outcome.kind == WriteResult::Kind::kDone) {
        ++written_;
        pending_.erase(number);
        return;
    }
    // It exists already, or was changed meanwhile.
    const bool is_conflict = outcome.kind == WriteResult::Kind::kConflict;
    if (!is_conflict || ++pending.turns > kMostTurns || (was_creation && pending.turns > 1)) {
        drop(number);
        return;
    }
    Call call;
    call.path = pending.collection + "/" + pending.name;
    pending.read = transport_.send(call, *this);
    reads_[pending.read] = number;
}

void EventRecorder::on_reply(std::uint64_t id, const Reply& reply, Moment now) {
    const auto found = reads_.find(id);
    if (found == reads_.end()) {
        return;
    }
    const std::uint64_t number = found->second;
    reads_.erase(found);
    Pending& pending = pending_.at(number);
    pending.read = 0;
    const Json event = reply.ok() ? parse_json(reply.body) : Json();
    const Json metadata = event.is_object() ? event.value("metadata", Json::object()) : Json();
    if (!metadata.is_object() || !metadata.contains("resourceVersion") ||
        !metadata["resourceVersion"].is_string()) {
        drop(number);
        return;
    }
    const std::string revision = metadata["resourceVersion"].get<std::string>();
    Write write;
    write.path = pending.collection + "/" + pending.name;
    write.content_type = kMergePatch;
    write.accept = kMetadataOnly;
    write.revision = revision;
    write.body = merge_patch(
        {{"series", {{"count", count_of(event) + 1}, {"lastObservedTime", stamp_()}}}}, revision);
    submit(number, std::move(write), now);
}

} // namespace cybele::apiserver
