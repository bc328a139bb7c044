// SPDX-License-Identifier: Apache-2.0
#include "bridge/service/listener.hpp"

#include "support/file.hpp"
#include "support/http.hpp"
#include "support/json.hpp"
#include "support/process.hpp"
#include "support/quote.hpp"

#include <array>
#include <csignal>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cybele::bridge {
namespace {

constexpr std::chrono::milliseconds kPauseOfListener{10'000};
constexpr int kStartOfListener = 10'000;
constexpr std::size_t kLongestAnswerOfListener = 65536;

std::string advertised(const launchers::BridgeListen& listen, const Environment& environment) {
    if (!listen.advertise.empty()) {
        return listen.advertise;
    }
    return environment.get_or("POD_IP", listen.address);
}

/// How `bridge answer` finds the same Bridge and the same API server.
std::vector<std::string> answer_command(const ServiceRequest& request) {
    std::vector<std::string> argv{request.program.native(),
                                  "bridge",
                                  "answer",
                                  "--config",
                                  request.configuration.file.native()};
    const auto add = [&argv](const char* option, const std::string& value) {
        if (!value.empty()) {
            argv.insert(argv.end(), {option, value});
        }
    };
    add("--kubeconfig", request.access.kubeconfig);
    add("--context", request.access.context);
    add("--namespace", request.name_space);
    if (request.access.allows_insecure) {
        argv.emplace_back("--insecure");
    }
    return argv;
}

std::string line_from(int fd) {
    std::string line;
    std::array<char, 4096> buffer{};
    while (line.find('\n') == std::string::npos && line.size() < kLongestAnswerOfListener) {
        pollfd wait{fd, POLLIN, 0};
        if (::poll(&wait, 1, kStartOfListener) <= 0) {
            return {};
        }
        const ssize_t count = ::read(fd, buffer.data(), buffer.size());
        if (count <= 0) {
            return {};
        }
        line.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return line;
}

tl::unexpected<Error> cannot_listen(const launchers::BridgeListen& listen, std::string because) {
    return fail(ErrorCode::kEnvironment,
                problem("bridge-cannot-listen",
                        "cannot answer requests at " + listen.address + " port " +
                            std::to_string(listen.port)),
                std::move(because),
                "change `listen` of the Bridge; jobs are carried without it");
}

} // namespace

Listener::~Listener() {
    end();
}

void Listener::end() {
    socket_.reset();
    if (process_ > 0) {
        ::kill(process_, SIGKILL); // requests that it answers end with it
        (void)wait_for(process_);
    }
    process_ = -1;
}

bool Listener::is_due(apiserver::Moment now) {
    if (is_running()) {
        pollfd wait{socket_.get(), POLLIN | POLLRDHUP, 0};
        if (::poll(&wait, 1, 0) == 0) {
            return false;
        }
        end();
    }
    return now >= next_;
}

Result<bool> Listener::keep(apiserver::Moment now, const std::string& client_authorities) {
    if (!is_due(now)) {
        return false;
    }
    next_ = now + kPauseOfListener;
    if (auto started = start(client_authorities); !started) {
        end();
        return tl::unexpected(started.error());
    }
    return true;
}

Result<void> Listener::start(const std::string& client_authorities) {
    const launchers::BridgeListen listen =
        request_.configuration.document.listen.value_or(launchers::BridgeListen());
    std::string certificate;
    std::string key;
    if (!listen.certificate.empty()) {
        CYBELE_TRY(certificate, read_file(listen.certificate));
        CYBELE_TRY(key, read_file(listen.key));
    }
    address_ = advertised(listen, request_.environment);
    const HttpClient client = HttpClient::find(request_.environment, request_.program);
    CYBELE_TRY(const Command command, client.command("--serve"));
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return fail(system_error("cannot make a socket", errno));
    }
    socket_ = UniqueFd(ends[0]);
    const UniqueFd other(ends[1]);
    CYBELE_TRY(process_, start_process(command, other.get()));
    const nlohmann::json settings{{"address", listen.address},
                                  {"port", listen.port},
                                  {"names", {address_, std::string("cybelectl-bridge")}},
                                  {"certificate", certificate},
                                  {"key", key},
                                  {"clients", client_authorities},
                                  {"command", answer_command(request_)}};
    const std::string line = json_text(settings, -1) + "\n";
    if (::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size())) {
        return cannot_listen(listen, "the helper cybelectl-http ended");
    }
    const nlohmann::json answer = parse_json(line_from(socket_.get()));
    if (!answer.is_object() || !answer.contains("port") || !answer["port"].is_number_integer()) {
        return cannot_listen(listen,
                             answer.is_object() && answer.contains("failure")
                                 ? printable(answer["failure"].get<std::string>())
                                 : "the helper cybelectl-http does not answer");
    }
    port_ = answer["port"].get<int>();
    certificate_ = answer["certificate"].get<std::string>();
    return {};
}

} // namespace cybele::bridge
