// SPDX-License-Identifier: Apache-2.0
#include "apiserver/list_watch.hpp"

#include "apiserver/revision.hpp"
#include "support/encoding.hpp"
#include "support/json.hpp"

#include <algorithm>

namespace cybele::apiserver {

namespace {

using Json = nlohmann::json;

constexpr double kWatchJitter = 0.1;
/// An answer may be late by this much after the time that the watch asked for.
constexpr std::chrono::milliseconds kWatchGrace{30'000};
/// A watch that ends sooner without having shown anything counts as a failure.
constexpr std::chrono::milliseconds kShortWatch{1'000};
constexpr std::uint64_t kLargestPage = std::uint64_t{4} << 20U;
constexpr std::uint64_t kLargestEvent = std::uint64_t{4} << 20U;

/// A text of an object, by its path; empty where it is not there.
std::string text_at(const Json& object, const char* outer, const char* inner) {
    if (object.is_object() && object.contains(outer) && object[outer].is_object()) {
        const Json& within = object[outer];
        if (within.contains(inner) && within[inner].is_string()) {
            return within[inner].get<std::string>();
        }
    }
    return {};
}

Reply unreadable() {
    Reply reply;
    reply.failure =
        Error(ErrorCode::kEnvironment,
              problem("api-server-answer-unreadable", "cannot read an answer of the API server"),
              "its body is not complete JSON",
              "check the proxies and load balancers between here and the server");
    reply.is_passing = true;
    return reply;
}

} // namespace

ListWatch::ListWatch(ListWatchSettings settings,
                     Transport& transport,
                     Observer& observer,
                     std::uint64_t seed)
    : settings_(std::move(settings)), transport_(transport), observer_(observer), jitter_(seed),
      page_(settings_.page), watch_backoff_(settings_.backoff) {}

ListWatch::~ListWatch() {
    stop_exchanges();
}

void ListWatch::stop_exchanges() {
    for (std::uint64_t* const id : {&exchange_, &probe_}) {
        if (*id != 0) {
            transport_.end(*id);
            *id = 0;
        }
    }
}

std::string ListWatch::query(const std::string& parameters) const {
    const std::string more = settings_.selector.empty() ? "" : "&" + settings_.selector;
    return settings_.path + "?" + parameters + more;
}

Moment ListWatch::next_wake() const {
    const Moment probe_due = state_ == State::kWatching && probe_ == 0 ? probe_due_ : kNever;
    return std::min({due_, probe_due, settles_});
}

void ListWatch::wake(Moment now) {
    if (now >= settles_) {
        succeed();
    }
    if (state_ == State::kWatching && probe_ == 0 && now >= probe_due_) {
        Call call;
        call.path = query("limit=1");
        asked_at_ = revision_;
        probe_due_ = now + settings_.probe_time;
        probe_ = transport_.send(call, *this);
    }
    if (exchange_ != 0 || now < due_) {
        return;
    }
    switch (state_) {
    case State::kListing:
        list(now);
        break;
    case State::kProbing:
        probe(now);
        break;
    case State::kWatching:
        watch(now);
        break;
    }
    due_ = kNever;
}

void ListWatch::list(Moment now) {
    if (continue_.empty()) {
        listed_ = now;
        asked_at_ = revision_;
        list_revision_.clear();
        observer_.on_list_begin();
    }
    Call call;
    call.path = query("limit=" + std::to_string(page_) +
                      (continue_.empty() ? "" : "&continue=" + percent_encoded(continue_)));
    call.maximum_size = kLargestPage;
    exchange_ = transport_.send(call, *this);
}

void ListWatch::probe(Moment now) {
    Call call;
    call.path = query("limit=1");
    asked_at_ = revision_;
    probe_due_ = now + settings_.probe_time;
    exchange_ = transport_.send(call, *this);
}

void ListWatch::watch(Moment now) {
    const auto time = jitter_.stretch(settings_.watch_time, kWatchJitter);
    const auto seconds = std::max<std::int64_t>(1, time.count() / 1000);
    Call call;
    call.path =
        query("watch=1&allowWatchBookmarks=true&resourceVersion=" + percent_encoded(revision_) +
              "&timeoutSeconds=" + std::to_string(seconds));
    call.limit = time + kWatchGrace;
    call.maximum_size = kLargestEvent;
    call.is_stream = true;
    watch_began_ = now;
    has_lines_ = false;
    exchange_ = transport_.send(call, *this);
}

void ListWatch::list_again(Moment when) {
    stop_exchanges();
    state_ = State::kListing;
    settles_ = kNever;
    continue_.clear();
    due_ = std::max(when, listed_ + kListPause);
}

void ListWatch::report(const Error& error) {
    // One failed try is not worth a message: the next one follows within two seconds.
    if (++failures_ >= 2 && !is_reported_) {
        is_reported_ = true;
        observer_.on_error(error);
    }
}

/// The watch works.
void ListWatch::succeed() {
    settles_ = kNever;
    failures_ = 0;
    watch_backoff_.reset();
    if (is_reported_) {
        is_reported_ = false;
        observer_.on_recovered();
    }
}

/// The exchange of the state failed: the same again after a pause.
void ListWatch::fail(const Reply& reply, Backoff& backoff, Moment now) {
    due_ = now + backoff.pause(reply, jitter_);
    report(refusal("listing " + settings_.path, reply));
}

void ListWatch::check_revision(const std::string& current) {
    if (compare_revisions(current, asked_at_) == std::partial_ordering::less) {
        observer_.on_rewound(asked_at_, current);
        asked_at_.clear();
        revision_.clear();
    }
}

void ListWatch::put_back(Moment now) {
    observer_.on_rewound(revision_, {});
    asked_at_.clear();
    revision_.clear();
    list_again(now);
}

void ListWatch::on_start(std::uint64_t id, Moment now) {
    if (id == exchange_ && state_ == State::kWatching) {
        settles_ = now + kShortWatch;
    }
}

void ListWatch::on_reply(std::uint64_t id, const Reply& reply, Moment now) {
    if (id == probe_) {
        probe_ = 0;
        if (reply.ok()) {
            take_probe(reply, now);
        } // else the next one: the watch is not disturbed
    } else if (id == exchange_) {
        exchange_ = 0;
        switch (state_) {
        case State::kListing:
            take_page(reply, now);
            break;
        case State::kProbing:
            reply.ok() ? take_probe(reply, now) : fail(reply, settings_.backoff, now);
            break;
        case State::kWatching:
            end_watch(reply, now);
            break;
        }
    }
}

void ListWatch::take_page(const Reply& reply, Moment now) {
    if (reply.is_too_large && page_ > 1) { // objects with large scripts
        page_ = std::max<std::size_t>(1, page_ / 4);
        due_ = now;
        return;
    }
    if (reply.status == 410 && !continue_.empty()) { // the token has expired
        list_again(now + settings_.backoff.pause(jitter_));
        return;
    }
    constexpr int kForbidden = 403;
    is_refused_ = reply.status == kForbidden;
    if (!reply.ok()) {
        fail(reply, settings_.backoff, now);
        return;
    }
    Json page = parse_json(reply.body);
    const std::string revision = text_at(page, "metadata", "resourceVersion");
    if (revision.empty() || !page.contains("items") || !page["items"].is_array()) {
        fail(unreadable(), settings_.backoff, now); // the same page again
        return;
    }
    settings_.backoff.reset();
    check_revision(revision);
    if (list_revision_.empty()) {
        list_revision_ = revision;
    }
    continue_ = text_at(page, "metadata", "continue");
    due_ = now;
    if (!continue_.empty()) { // the server makes the next page while this one is read
        list(now);
        due_ = kNever;
    }
    for (Json& object : page["items"]) {
        observer_.on_object(object);
    }
    if (!continue_.empty()) {
        return;
    }
    // A later page of an expired snapshot may have a newer revision: the oldest misses nothing.
    revision_ = list_revision_;
    page_ = settings_.page;
    state_ = State::kWatching;
    probe_due_ = now + settings_.probe_time;
    observer_.on_list_end();
}

void ListWatch::take_probe(const Reply& reply, Moment now) {
    const std::string current = text_at(parse_json(reply.body), "metadata", "resourceVersion");
    if (current.empty()) {
        if (state_ == State::kProbing) {
            fail(unreadable(), settings_.backoff, now);
        }
        return;
    }
    settings_.backoff.reset();
    check_revision(current);
    if (revision_.empty()) {
        list_again(now);
    } else if (state_ == State::kProbing) {
        state_ = State::kWatching;
        due_ = now;
    }
}

void ListWatch::on_line(std::uint64_t id, std::string_view line, Moment now) {
    if (id != exchange_ || state_ != State::kWatching) {
        return;
    }
    Json event = parse_json(line);
    if (!event.is_object() || !event.contains("type") || !event["type"].is_string() ||
        !event.contains("object") || !event["object"].is_object()) {
        cut_watch(now);
        return;
    }
    const std::string type = event["type"].get<std::string>();
    Json& object = event["object"];
    if (type == "ERROR") {
        take_error(object, now);
        return;
    }
    const std::string revision = text_at(object, "metadata", "resourceVersion");
    if (revision.empty()) {
        cut_watch(now);
        return;
    }
    has_lines_ = true;
    succeed();
    if (type == "ADDED" || type == "MODIFIED") {
        observer_.on_object(object);
    } else if (type == "DELETED") {
        observer_.on_deleted(object);
    }
    revision_ = newer_revision(revision_, revision);
}

/// What came is not an event: the rest of the stream is worth nothing, the revision still is.
void ListWatch::cut_watch(Moment now) {
    transport_.end(exchange_);
    exchange_ = 0;
    state_ = State::kProbing;
    settles_ = kNever;
    fail(unreadable(), watch_backoff_, now);
}

/// An ERROR event, which comes inside of an HTTP 200. 410: the revision has expired.
void ListWatch::take_error(const Json& status, Moment now) {
    const int code =
        status.value("code", Json(0)).is_number_integer() ? status.value("code", 0) : 0;
    if (code == 410) {
        list_again(now);
        return;
    }
    Reply reply;
    reply.status = code;
    reply.body = json_text(status, -1);
    report(refusal("watching " + settings_.path, reply));
    list_again(now + watch_backoff_.pause(jitter_));
}

void ListWatch::end_watch(const Reply& reply, Moment now) {
    if (probe_ != 0) { // the one that follows asks the same
        transport_.end(probe_);
        probe_ = 0;
    }
    state_ = State::kProbing;
    settles_ = kNever;
    if (reply.status == 410) {
        list_again(now);
    } else if (reply.ok()) {
        const bool is_short = !has_lines_ && now - watch_began_ < kShortWatch;
        due_ = is_short ? now + watch_backoff_.pause(jitter_) : now;
    } else if (reply.failure && has_lines_) { // a cut stream that had worked
        due_ = now;
    } else {
        fail(reply, watch_backoff_, now);
        if (reply.status == 400 || reply.status == 422) { // the revision is not accepted
            list_again(due_);
        }
    }
}

void put_back(const ListWatches& watches, Moment now) {
    for (const auto& watch : watches) {
        watch->put_back(now);
    }
}

} // namespace cybele::apiserver
