// SPDX-License-Identifier: Apache-2.0
#include "support/http_session.hpp"

#include "support/encoding.hpp"
#include "support/http_failure.hpp"
#include "support/json.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include <sys/socket.h>

namespace cybele {

namespace {

using Json = nlohmann::json;

/// No answer that is asked for is longer, in base64.
constexpr std::size_t kLongestSessionLine = std::size_t{128} << 20U;
constexpr std::size_t kSessionPiece = std::size_t{256} << 10U;
/// Read per call, so that one busy exchange does not keep the caller for long.
constexpr int kPiecesPerCall = 16;

Json session_headers(const std::vector<HttpHeader>& headers) {
    Json array = Json::array();
    for (const HttpHeader& header : headers) {
        array.push_back({header.name, header.value});
    }
    return array;
}

std::string session_line(const Json& object) {
    return json_text(object, -1) + "\n";
}

void read_headers_into(const Json& object, HttpEvent& event) {
    for (const Json& header : object.at("headers")) {
        event.headers.push_back({header.at(0).get<std::string>(), header.at(1).get<std::string>()});
    }
}

void fail_event(HttpEvent& event,
                const std::string& kind,
                const std::string& message,
                const std::string& url) {
    event.failure = http_failure(kind, message, url);
    event.is_passing = is_passing_http_failure(kind);
    event.is_too_large = kind == "too-large";
    event.is_untrusted = event.failure->faults().front().id == "server-untrusted";
}

/// False: not what the helper writes.
bool read_event(const Json& object, const std::string& url, HttpEvent& event) {
    std::string encoded;
    try {
        if (object.contains("line")) {
            event.kind = HttpEvent::Kind::kLine;
            encoded = object.at("line").get<std::string>();
        } else if (object.contains("start")) {
            event.kind = HttpEvent::Kind::kStart;
            event.status = object.at("start").get<int>();
            read_headers_into(object, event);
        } else if (object.contains("failure")) {
            const Json& failure = object.at("failure");
            fail_event(event,
                       failure.value("kind", std::string()),
                       failure.value("message", std::string()),
                       url);
        } else {
            event.status = object.at("status").get<int>();
            read_headers_into(object, event);
            encoded = object.at("body").get<std::string>();
        }
    } catch (const Json::exception&) {
        return false;
    }
    auto text = base64_decode(encoded);
    if (text) {
        event.text = std::move(*text);
    }
    return text.has_value();
}

} // namespace

std::string_view HttpEvent::header(std::string_view name) const {
    const auto found = std::ranges::find(headers, name, &HttpHeader::name);
    return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

Result<HttpSession> HttpSession::start(const HttpClient& client,
                                       const HttpSessionSettings& settings) {
    CYBELE_TRY(const Command command, client.command("--session"));
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return fail(system_error("cannot make a socket", errno));
    }
    UniqueFd own(ends[0]);
    const UniqueFd other(ends[1]);
    CYBELE_TRY(const pid_t process, start_process(command, other.get()));
    HttpSession session(std::move(own), process, client.environment());
    session.configure(settings);
    return session;
}

HttpSession::HttpSession(UniqueFd socket, pid_t process, Environment environment)
    : socket_(std::move(socket)), process_(process), environment_(std::move(environment)) {}

HttpSession::HttpSession(HttpSession&& other) noexcept
    : socket_(std::move(other.socket_)), process_(std::exchange(other.process_, -1)),
      environment_(std::move(other.environment_)), output_(std::move(other.output_)),
      input_(std::move(other.input_)), searched_(other.searched_), last_id_(other.last_id_),
      urls_(std::move(other.urls_)), lost_(std::move(other.lost_)) {}

HttpSession::~HttpSession() {
    if (process_ > 0) {
        ::kill(process_, SIGKILL); // it holds nothing that could be left incomplete
        (void)wait_for(process_);
    }
}

void HttpSession::configure(const HttpSessionSettings& settings) {
    const std::filesystem::path pool =
        settings.ca_file.empty() ? system_certificates(environment_) : settings.ca_file;
    write(session_line({{"session",
                         {{"ca", settings.ca},
                          {"ca-file", pool.native()},
                          {"certificate", settings.certificate},
                          {"key", settings.key},
                          {"proxy", settings.proxy},
                          {"connect-to", settings.connect_to},
                          {"insecure", settings.is_insecure}}}}));
}

std::uint64_t HttpSession::send(const HttpCall& call) {
    const std::uint64_t id = ++last_id_;
    urls_.emplace(id, call.url);
    write(session_line({{"version", CYBELE_VERSION},
                        {"id", id},
                        {"method", call.method},
                        {"url", call.url},
                        {"headers", session_headers(call.headers)},
                        {"credentials", session_headers(call.credentials)},
                        {"body", base64(call.body)},
                        {"unix-socket", call.unix_socket.native()},
                        {"connect-limit-ms", call.connect_limit.count()},
                        {"limit-ms", call.limit.count()},
                        {"stall-limit-s", call.stall_limit.count()},
                        {"maximum-size", call.maximum_size},
                        {"stream", call.is_stream},
                        {"compressed", call.is_compressed},
                        {"allows-plain", call.allows_plain}}));
    return id;
}

void HttpSession::end(std::uint64_t id) {
    if (urls_.erase(id) != 0) {
        write(session_line({{"end", id}}));
    }
}

pollfd HttpSession::wait() const {
    const bool writes = !output_.empty();
    // Without a helper the exchanges end in the next take(): a descriptor cannot say so.
    return {socket_.get(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0};
}

void HttpSession::write(const std::string& line) {
    output_ += line;
    push();
}

void HttpSession::push() {
    std::size_t done = 0;
    while (socket_.valid() && done < output_.size()) {
        const ssize_t count = ::send(socket_.get(),
                                     output_.data() + done,
                                     output_.size() - done,
                                     MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            done += static_cast<std::size_t>(count);
        } else if (errno != EINTR) {
            break; // full, or closed, which reading shows
        }
    }
    output_.erase(0, done);
}

void HttpSession::lose(const std::string& because, std::vector<HttpEvent>& events) {
    socket_.reset();
    output_.clear();
    input_.clear();
    if (lost_.empty()) {
        lost_ = because;
    }
    for (const auto& [id, url] : urls_) {
        HttpEvent event;
        event.id = id;
        fail_event(event, "unreachable", lost_, url);
        events.push_back(std::move(event));
    }
    urls_.clear();
}

void HttpSession::take_line(std::string_view line, std::vector<HttpEvent>& events) {
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("id") || !object["id"].is_number_unsigned()) {
        lose("the helper cybelectl-http wrote something unexpected", events);
        return;
    }
    HttpEvent event;
    event.id = object["id"].get<std::uint64_t>();
    const auto found = urls_.find(event.id);
    if (found == urls_.end()) {
        return; // ended early
    }
    if (!read_event(object, found->second, event)) {
        lose("the helper cybelectl-http wrote something unexpected", events);
        return;
    }
    if (event.kind == HttpEvent::Kind::kEnd) {
        urls_.erase(found);
    }
    events.push_back(std::move(event));
}

std::vector<HttpEvent> HttpSession::take() {
    std::vector<HttpEvent> events;
    push();
    std::vector<char> buffer(kSessionPiece);
    for (int pieces = 0; pieces < kPiecesPerCall && socket_.valid(); ++pieces) {
        const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (count <= 0) {
            lose("the helper cybelectl-http has ended", events);
            break;
        }
        input_.append(buffer.data(), static_cast<std::size_t>(count));
        std::size_t from = 0;
        for (std::size_t end = 0;
             socket_.valid() && (end = input_.find('\n', searched_)) != std::string::npos;) {
            const std::string_view line = std::string_view(input_).substr(from, end - from);
            from = searched_ = end + 1;
            take_line(line, events);
        }
        if (socket_.valid()) {
            input_.erase(0, from);
            searched_ = input_.size();
        }
        if (input_.size() > kLongestSessionLine) {
            lose("the helper cybelectl-http wrote a line without an end", events);
        }
    }
    if (!socket_.valid() && !urls_.empty()) {
        lose({}, events);
    }
    return events;
}

} // namespace cybele
