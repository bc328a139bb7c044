// SPDX-License-Identifier: Apache-2.0
#include "apiserver/connection.hpp"

#include "support/characters.hpp"

#include <algorithm>
#include <utility>

namespace cybele::apiserver {

namespace {

constexpr Moment kRefreshTime{60'000};
/// After this many failures and this time without any answer, the helper is replaced: its
/// connections may lead nowhere.
constexpr int kMostSilentFailures = 3;
constexpr Moment kLongestSilence{60'000};

std::optional<std::chrono::seconds> read_retry_after(std::string_view text) {
    constexpr std::size_t kMostDigits = 6;
    if (text.empty() || text.size() > kMostDigits) {
        return std::nullopt; // a date, which needs a common clock
    }
    int seconds = 0;
    for (const char letter : text) {
        if (!is_digit(letter)) {
            return std::nullopt;
        }
        seconds = seconds * 10 + (letter - '0');
    }
    return std::chrono::seconds(seconds);
}

struct Address {
    std::string host;
    std::string port;
    std::string prefix; ///< a path
};

Address address_of(const std::string& server) {
    constexpr std::size_t kScheme = 8; // https://
    const std::size_t path = std::min(server.find('/', kScheme), server.size());
    const std::string authority = server.substr(kScheme, path - kScheme);
    const std::size_t bracket = authority.rfind(']');
    const std::size_t colon = authority.rfind(':');
    const bool has_port =
        colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
    return {has_port ? authority.substr(0, colon) : authority,
            has_port ? authority.substr(colon + 1) : "443",
            server.substr(path)};
}

} // namespace

Connection::Connection(HttpClient client, Access access, std::uint64_t seed)
    : client_(std::move(client)), access_(std::move(access)), jitter_(seed),
      base_(access_.server()) {
    if (const std::string& name = access_.tls_server_name(); !name.empty()) {
        const Address address = address_of(access_.server());
        base_ = "https://" + name + ":" + address.port + address.prefix;
        connect_to_ = name + ":" + address.port + ":" + address.host + ":" + address.port;
    }
}

HttpSessionSettings Connection::settings() const {
    const Credentials& credentials = access_.credentials();
    HttpSessionSettings settings;
    settings.ca = credentials.ca;
    settings.certificate = credentials.certificate;
    settings.key = credentials.key;
    settings.proxy = access_.proxy();
    settings.connect_to = connect_to_;
    settings.is_insecure = access_.is_insecure();
    return settings;
}

std::uint64_t Connection::send(const Call& call, Receiver& receiver) {
    const std::uint64_t id = ++last_;
    Exchange& exchange = exchanges_[id];
    exchange.call = call;
    exchange.receiver = &receiver;
    transmit(id, exchange);
    return id;
}

void Connection::transmit(std::uint64_t id, Exchange& exchange) {
    if (!session_ || !session_->is_alive()) {
        unsent_.push_back(id);
        return;
    }
    HttpCall call;
    call.method = exchange.call.method;
    call.url = base_ + exchange.call.path;
    call.headers = {{"Accept", exchange.call.accept}};
    if (!exchange.call.content_type.empty()) {
        call.headers.push_back({"Content-Type", exchange.call.content_type});
    }
    if (!access_.credentials().token.empty()) {
        call.credentials = {{"Authorization", "Bearer " + access_.credentials().token}};
    }
    call.body = exchange.call.body;
    call.limit = exchange.call.limit;
    call.maximum_size = exchange.call.maximum_size;
    call.is_stream = exchange.call.is_stream;
    call.is_compressed = exchange.call.method == "GET" && !exchange.call.is_stream;
    exchange.generation = generation_;
    exchange.session_id = session_->send(call);
    by_session_[exchange.session_id] = id;
}

void Connection::end(std::uint64_t id) {
    const auto found = exchanges_.find(id);
    if (found == exchanges_.end()) {
        return;
    }
    const std::uint64_t session_id = found->second.session_id;
    if (session_ && by_session_.erase(session_id) != 0) {
        session_->end(session_id);
    }
    exchanges_.erase(found);
}

pollfd Connection::wait() const {
    return session_ ? session_->wait() : pollfd{-1, 0, 0};
}

Moment Connection::next_wake() const {
    if (!unsent_.empty()) {
        return Moment(0);
    }
    return session_ ? refresh_ : restart_;
}

void Connection::start_helper(Moment now) {
    auto started = HttpSession::start(client_, settings());
    restart_ = now + backoff_.pause(jitter_);
    if (!started) {
        start_error_ = std::move(started).error();
        return;
    }
    start_error_.reset();
    session_ = std::make_unique<HttpSession>(std::move(*started));
    answered_ = now;
    silent_failures_ = 0;
}

/// What was open has ended with a failure by then.
void Connection::drop_helper(Moment now) {
    session_.reset();
    by_session_.clear();
    restart_ = std::max(restart_, now);
}

void Connection::take_credentials(Result<bool> changed) {
    credentials_error_.reset();
    if (!changed) {
        credentials_error_ = std::move(changed).error();
    } else if (*changed) {
        ++generation_;
        if (session_) {
            session_->configure(settings());
        }
    }
}

void Connection::refresh(Moment now) {
    refresh_ = now + kRefreshTime;
    take_credentials(access_.refresh());
}

/// The server refused them.
void Connection::renew(Moment now) {
    if (now - renewed_ >= kRenewPause) {
        renewed_ = now;
        take_credentials(access_.renew());
    } else {
        take_credentials(access_.refresh());
    }
}

void Connection::process(Moment now) {
    if (!session_ && now >= restart_) {
        start_helper(now);
    }
    if (now >= refresh_) {
        refresh(now);
    }
    send_unsent(now);
    if (session_) {
        for (HttpEvent& event : session_->take()) {
            dispatch(event, now);
        }
        const bool is_stuck =
            silent_failures_ >= kMostSilentFailures && now - answered_ >= kLongestSilence;
        if (!session_->is_alive() || is_stuck) {
            for (const auto& [session_id, id] : by_session_) {
                lost_.push_back(id);
            }
            drop_helper(now);
        }
    }
    fail_lost(now);
}

/// What was asked for while there was no helper. It fails where there is none now: its sender
/// decides how long to wait.
void Connection::send_unsent(Moment now) {
    const std::vector<std::uint64_t> unsent = std::exchange(unsent_, {});
    for (const std::uint64_t id : unsent) {
        const auto found = exchanges_.find(id);
        if (found != exchanges_.end() && session_) {
            transmit(id, found->second);
        }
    }
    if (!session_) {
        lost_.insert(lost_.end(), unsent.begin(), unsent.end());
        fail_lost(now);
    }
}

void Connection::fail_lost(Moment now) {
    for (const std::uint64_t id : std::exchange(lost_, {})) {
        HttpEvent event;
        event.failure = start_error_
                            ? *start_error_
                            : Error(ErrorCode::kEnvironment,
                                    problem("api-server-unreachable", "cannot reach " + base_),
                                    "the helper cybelectl-http is being started again",
                                    "try again later");
        event.is_passing = true;
        finish(id, event, now);
    }
}

void Connection::dispatch(HttpEvent& event, Moment now) {
    const auto found = by_session_.find(event.id);
    if (found == by_session_.end()) {
        return;
    }
    const std::uint64_t id = found->second;
    Exchange& exchange = exchanges_.at(id);
    Receiver* const receiver = exchange.receiver;
    if (!event.failure) {
        answered_ = now;
        silent_failures_ = 0;
        backoff_.reset();
    }
    switch (event.kind) {
    case HttpEvent::Kind::kStart:
        receiver->on_start(id, now);
        break;
    case HttpEvent::Kind::kLine:
        receiver->on_line(id, event.text, now);
        receiver->wake(now);
        break;
    case HttpEvent::Kind::kEnd:
        by_session_.erase(found);
        silent_failures_ += event.is_passing ? 1 : 0;
        if (event.status == 401 && !exchange.is_repeated) {
            if (exchange.generation == generation_) {
                renew(now);
            }
            if (exchange.generation != generation_) {
                exchange.is_repeated = true;
                transmit(id, exchange);
                break;
            }
        }
        finish(id, event, now);
        break;
    }
}

Reply Connection::reply_of(HttpEvent& event) {
    Reply reply;
    reply.status = event.status;
    reply.body = std::move(event.text);
    reply.retry_after = read_retry_after(event.header("retry-after"));
    reply.failure = std::move(event.failure);
    reply.is_passing = event.is_passing;
    reply.is_too_large = event.is_too_large;
    if (event.is_untrusted && reply.failure) {
        Fault fault = reply.failure->faults().front();
        fault.help = "name its authority in the kubeconfig: certificate-authority: FILE.pem";
        reply.failure = Error(std::move(fault));
        reply.is_passing = true; // a certificate authority that is being replaced
    }
    return reply;
}

void Connection::finish(std::uint64_t id, HttpEvent& event, Moment now) {
    const auto found = exchanges_.find(id);
    if (found == exchanges_.end()) {
        return;
    }
    Receiver* const receiver = found->second.receiver;
    exchanges_.erase(found);
    receiver->on_reply(id, reply_of(event), now);
    receiver->wake(now);
}

} // namespace cybele::apiserver
