// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_session.hpp"

#include "libexec/http_stream.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <map>
#include <memory>

#include <curl/curl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace cybele::http {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestInputLine = std::size_t{16} << 20U;
constexpr std::size_t kMostExchanges = 256;
constexpr long kMostConnections = 16;
constexpr std::size_t kFlushSize = std::size_t{256} << 10U;
constexpr int kWaitMs = 1000;

std::string failure_line(std::uint64_t id, Failure failure) {
    Answer answer;
    answer.failure = std::move(failure);
    return "{\"id\":" + std::to_string(id) + "," + write_answer(answer).substr(1);
}

class Session {
public:
    Session() : multi_(curl_multi_init(), curl_multi_cleanup) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() {
        while (!streams_.empty()) {
            end(streams_.begin()->first);
        }
    }
    int run();

private:
    struct Running {
        std::unique_ptr<Stream> stream;
        CURL* handle = nullptr;
    };

    bool read_input();
    bool take_line(std::string_view line);
    void take_settings(const Json& object);
    void begin(std::string_view line);
    void end(std::uint64_t id);
    void collect_ends();
    void write(const std::string& line);
    bool flush();

    std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi_;
    std::shared_ptr<const SessionSettings> settings_ = std::make_shared<SessionSettings>();
    std::map<std::uint64_t, Running> streams_;
    std::string input_;
    std::string output_;
    bool is_output_closed_ = false;
};

void Session::write(const std::string& line) {
    output_ += line;
    if (output_.size() >= kFlushSize) {
        (void)flush();
    }
}

bool Session::flush() {
    std::string_view rest = output_;
    while (!rest.empty() && !is_output_closed_) {
        const ssize_t count = ::write(STDOUT_FILENO, rest.data(), rest.size());
        if (count > 0) {
            rest.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            is_output_closed_ = true;
        }
    }
    output_.clear();
    return !is_output_closed_;
}

void Session::take_settings(const Json& object) {
    auto settings = std::make_shared<SessionSettings>();
    settings->ca = object.value("ca", "");
    settings->ca_file = object.value("ca-file", "");
    settings->certificate = object.value("certificate", "");
    settings->key = object.value("key", "");
    settings->proxy = object.value("proxy", "");
    settings->connect_to = object.value("connect-to", "");
    settings->is_insecure = object.value("insecure", false);
    settings_ = std::move(settings);
}

/// False: not a line of the client, so nothing more is read.
bool Session::take_line(std::string_view line) {
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) {
        return false;
    }
    try {
        if (object.contains("session")) {
            take_settings(object.at("session"));
        } else if (object.contains("end")) {
            end(object.at("end").get<std::uint64_t>());
        } else {
            begin(line);
        }
    } catch (const Json::exception&) {
        return false; // what it says may quote a secret
    }
    return true;
}

void Session::begin(std::string_view line) {
    Request request;
    std::optional<Failure> failure = read_request(line, request);
    const std::uint64_t id = request.session.id;
    if (!failure && (streams_.size() >= kMostExchanges || streams_.count(id) != 0)) {
        failure =
            Failure{"request", "too many exchanges at the same time, or a number that is in use"};
    }
    if (failure) {
        write(failure_line(id, std::move(*failure)));
        return;
    }
    Running running;
    running.stream = std::make_unique<Stream>(
        std::move(request), settings_, [this](const std::string& text) { write(text); });
    running.handle = running.stream->handle();
    if (running.handle == nullptr ||
        curl_multi_add_handle(multi_.get(), running.handle) != CURLM_OK) {
        write(failure_line(id, {"request", "libcurl does not accept the request"}));
        return;
    }
    streams_.emplace(id, std::move(running));
}

void Session::end(std::uint64_t id) {
    const auto found = streams_.find(id);
    if (found != streams_.end()) {
        (void)curl_multi_remove_handle(multi_.get(), found->second.handle);
        streams_.erase(found);
    }
}

void Session::collect_ends() {
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left)) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        for (auto at = streams_.begin(); at != streams_.end(); ++at) {
            if (at->second.handle == message->easy_handle) {
                at->second.stream->finish(message->data.result); // NOLINT: libcurl's union
                end(at->first);
                break;
            }
        }
    }
}

/// Takes the lines that are there; false at the end of the input.
bool Session::read_input() {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count <= 0) {
        return count < 0 && (errno == EINTR || errno == EAGAIN);
    }
    const std::size_t begun = input_.size();
    input_.append(buffer.data(), static_cast<std::size_t>(count));
    std::size_t from = 0;
    for (std::size_t at = begun; (at = input_.find('\n', at)) != std::string::npos; ++at) {
        if (!take_line(std::string_view(input_).substr(from, at - from))) {
            return false;
        }
        from = at + 1;
    }
    input_.erase(0, from);
    return input_.size() <= kLongestInputLine;
}

int Session::run() {
    if (multi_ == nullptr ||
        curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, kMostConnections) !=
            CURLM_OK) {
        return 1;
    }
    for (;;) {
        int running = 0;
        if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) {
            return 1;
        }
        collect_ends();
        if (!flush()) {
            return 0; // the client is gone
        }
        curl_waitfd input{STDIN_FILENO, CURL_WAIT_POLLIN, 0};
        if (curl_multi_poll(multi_.get(), &input, 1, kWaitMs, nullptr) != CURLM_OK) {
            return 1;
        }
        // libcurl does not report that the other end was closed.
        pollfd ready{STDIN_FILENO, POLLIN, 0};
        if (::poll(&ready, 1, 0) > 0 && !read_input()) {
            return 0;
        }
    }
}

} // namespace

int run_session() {
    // Its memory holds keys and tokens. Its client decides when it ends: signals for a complete
    // process group or control group reach the client, which may need a last exchange.
    if (::prctl(PR_SET_DUMPABLE, 0) != 0) { // NOLINT: prctl(2) is variadic
        return 1;
    }
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        if (std::signal(number, SIG_IGN) == SIG_ERR) { // NOLINT: no thread runs yet
            return 1;
        }
    }
    return Session().run();
}

} // namespace cybele::http
