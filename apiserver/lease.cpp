// SPDX-License-Identifier: Apache-2.0
#include "apiserver/lease.hpp"

#include "apiserver/revision.hpp"
#include "support/json.hpp"

#include <algorithm>

namespace cybele::apiserver {

namespace {

using Json = nlohmann::json;

constexpr double kLookJitter = 0.1;

Json part_of(const Json& object, const char* name) {
    const Json found = object.is_object() ? object.value(name, Json::object()) : Json::object();
    return found.is_object() ? found : Json::object();
}

std::string word_of(const Json& object, const char* name) {
    return object.contains(name) && object[name].is_string() ? object[name].get<std::string>()
                                                             : std::string();
}

} // namespace

Lease::Lease(LeaseSettings settings,
             Transport& transport,
             std::function<std::string()> stamp,
             std::uint64_t seed)
    : settings_(std::move(settings)), transport_(transport), stamp_(std::move(stamp)),
      jitter_(seed) {}

Lease::~Lease() {
    if (exchange_ != 0) {
        transport_.end(exchange_);
    }
}

std::string Lease::collection() const {
    return "/apis/coordination.k8s.io/v1/namespaces/" + settings_.name_space + "/leases";
}

Moment Lease::next_wake() const {
    return exchange_ != 0 || state_ == State::kEnded ? kNever : due_;
}

void Lease::wake(Moment now) {
    if (exchange_ != 0 || now < due_ || state_ == State::kEnded) {
        return;
    }
    if (state_ == State::kGiving) {
        give();
    } else if (state_ == State::kReading) {
        read();
    } else {
        write(now);
    }
}

void Lease::read() {
    state_ = State::kReading;
    Call call;
    call.path = collection() + "/" + settings_.name;
    call.limit = settings_.renew * 2;
    exchange_ = transport_.send(call, *this);
}

void Lease::put(const Json& object) {
    const bool is_new = object_ == nullptr;
    Call call;
    call.method = is_new ? "POST" : "PUT";
    call.path = is_new ? collection() : collection() + "/" + settings_.name;
    call.content_type = "application/json";
    call.body = json_text(object, -1);
    call.limit = settings_.renew * 2;
    exchange_ = transport_.send(call, *this);
}

/// Creates, takes over or renews: what it is follows from the object as it was read.
void Lease::write(Moment now) {
    state_ = State::kWriting;
    sent_ = now;
    const std::string time = stamp_();
    const bool is_new = object_ == nullptr;
    Json object =
        is_new ? Json{{"apiVersion", "coordination.k8s.io/v1"},
                      {"kind", "Lease"},
                      {"metadata", {{"name", settings_.name}, {"namespace", settings_.name_space}}}}
               : *object_;
    Json spec = part_of(object, "spec");
    if (word_of(spec, "holderIdentity") != settings_.identity) {
        const Json before = spec.value("leaseTransitions", Json(0));
        spec["leaseTransitions"] =
            is_new ? 0 : (before.is_number_integer() ? before.get<int>() : 0) + 1;
        spec["acquireTime"] = time;
    }
    spec["holderIdentity"] = settings_.identity;
    spec["renewTime"] = time;
    spec["leaseDurationSeconds"] = std::max<std::int64_t>(1, settings_.duration.count() / 1000);
    object["spec"] = std::move(spec);
    if (!settings_.rewound_mark.empty() && !new_mark_.empty()) {
        object["metadata"]["annotations"][settings_.rewound_mark] = new_mark_;
    }
    put(object);
}

void Lease::give() {
    Json object = *object_;
    object["spec"]["holderIdentity"] = "";
    object["spec"]["renewTime"] = stamp_();
    object["spec"]["leaseDurationSeconds"] = 1;
    put(object);
}

void Lease::release(Moment now) {
    const bool is_ours = object_ != nullptr && holder_ == settings_.identity;
    lose();
    is_releasing_ = true;
    if (exchange_ != 0) {
        return; // its answer shows what there is to give back
    }
    state_ = is_ours ? State::kGiving : State::kEnded;
    due_ = now;
}

void Lease::lose() {
    held_until_ = Moment(0);
}

/// Who sees the earlier revision first marks it with the same write that makes it a later one.
void Lease::compare(const Json& metadata) {
    const std::string uid = word_of(metadata, "uid");
    const std::string revision = word_of(metadata, "resourceVersion");
    const std::string mark =
        settings_.rewound_mark.empty()
            ? std::string()
            : word_of(part_of(metadata, "annotations"), settings_.rewound_mark.c_str());
    const bool is_same = !uid_.empty() && uid == uid_;
    if (is_same && compare_revisions(revision, revision_) == std::partial_ordering::less) {
        ++rewinds_;
        mark_rewound();
    } else if (is_same && mark != mark_) { // no news to who was about to write one
        rewinds_ += new_mark_.empty() ? 1 : 0;
        new_mark_.clear();
    }
    mark_ = mark;
    uid_ = uid;
    revision_ = revision;
}

/// Notes whether the Lease changed since it was seen last.
void Lease::observe(const Json& object, Moment now) {
    const Json spec = part_of(object, "spec");
    compare(part_of(object, "metadata"));
    const std::string seen = revision_ + " " + word_of(spec, "renewTime");
    holder_ = word_of(spec, "holderIdentity");
    if (seen != seen_ || still_since_ == kNever) {
        seen_ = seen;
        still_since_ = now;
    }
    const Json seconds = spec.value("leaseDurationSeconds", Json(0));
    other_duration_ = std::chrono::seconds(
        seconds.is_number_integer() ? std::clamp<std::int64_t>(seconds.get<std::int64_t>(), 0, 3600)
                                    : 0);
    object_ = std::make_unique<Json>(object);
}

bool Lease::may_take(Moment now) const {
    return object_ == nullptr || holder_.empty() || holder_ == settings_.identity ||
           now - still_since_ >= std::max(settings_.duration, other_duration_);
}

void Lease::on_reply(std::uint64_t id, const Reply& reply, Moment now) {
    if (id != exchange_) {
        return;
    }
    exchange_ = 0;
    if (reply.ok() || (state_ == State::kReading && reply.status == 404)) {
        last_error_.reset();
    } else if (reply.status != 409) {
        last_error_ =
            refusal("holding the Lease " + settings_.name_space + "/" + settings_.name, reply);
    }
    switch (state_) {
    case State::kReading:
        take_read(reply, now);
        break;
    case State::kWriting:
        take_write(reply, now);
        break;
    case State::kGiving:
    default:
        state_ = State::kEnded;
        break;
    }
}

void Lease::take_read(const Reply& reply, Moment now) {
    const Json object = reply.ok() ? parse_json(reply.body) : Json();
    const bool is_read = object.is_object() && object.contains("metadata");
    if (is_read) {
        observe(object, now);
    } else if (reply.status == 404) {
        object_.reset();
        holder_.clear();
        still_since_ = kNever;
    }
    if (holder_ != settings_.identity && (is_read || reply.status == 404)) {
        lose(); // somebody else took it, or it was deleted
    }
    if (is_releasing_) {
        state_ = is_read && holder_ == settings_.identity ? State::kGiving : State::kEnded;
        due_ = now;
        return;
    }
    due_ = now + jitter_.stretch(is_held(now) ? settings_.renew / 5 : settings_.watch, kLookJitter);
    if (!is_read && reply.status != 404) {
        return;
    }
    if (may_take(now)) {
        state_ = State::kWriting;
        due_ = now;
    } else { // not later than it may be taken
        const auto duration = std::max(settings_.duration, other_duration_);
        due_ = std::max(now, std::min(due_, still_since_ + duration));
    }
}

void Lease::take_write(const Reply& reply, Moment now) {
    const Json object = reply.ok() ? parse_json(reply.body) : Json();
    if (object.is_object() && object.contains("metadata")) {
        observe(object, now);
        if (is_releasing_) {
            state_ = State::kGiving;
            due_ = now;
            return;
        }
        // The others measure from a later moment than the one at which it was sent.
        held_until_ = sent_ + settings_.give_up;
        state_ = State::kHolding;
        due_ = std::max(now, sent_ + settings_.renew);
        return;
    }
    // A conflict, or no answer: what there is decides. An unanswered renewal may have happened.
    state_ = State::kReading;
    const bool is_refused = reply.status >= 400 && reply.status < 500;
    const auto pause = is_refused ? settings_.watch : settings_.renew / 5;
    due_ = reply.status == 409 ? now : now + jitter_.stretch(pause, kLookJitter);
}

} // namespace cybele::apiserver
