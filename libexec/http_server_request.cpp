// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_server_request.hpp"

#include "libexec/http_server_tls.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::http {
namespace {

constexpr std::size_t kLongestHead = 16384;
constexpr std::size_t kLongestFirstLine = 200;
constexpr int kSecondsOfHead = 10;
constexpr int kSecondsOfWrite = 60;

std::string lower(std::string_view text) {
    std::string lowered(text);
    std::transform(lowered.begin(), lowered.end(), lowered.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));
    });
    return lowered;
}

bool is_path(std::string_view text) {
    return text.starts_with('/') && std::all_of(text.begin(), text.end(), [](char letter) {
               return letter > ' ' && letter < '\x7f';
           });
}

struct Pipes {
    int input = -1;  ///< of the command, to write to
    int output = -1; ///< of the command, to read from
    pid_t process = -1;
};

Pipes start(const std::vector<std::string>& command) {
    int input[2] = {-1, -1};
    int output[2] = {-1, -1};
    if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) {
        return {};
    }
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str())); // NOLINT: execv(3) does not write
    }
    words.push_back(nullptr);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        const bool is_ready = ::dup2(input[0], STDIN_FILENO) >= 0 &&
                              ::dup2(output[1], STDOUT_FILENO) >= 0 &&
                              ::prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && // NOLINT: variadic
                              ::getppid() == parent;
        if (is_ready) {
            (void)std::signal(SIGXFSZ, SIG_DFL); // NOLINT: the only thread of the child
            ::execv(words.front(), words.data());
        }
        ::_exit(1);
    }
    ::close(input[0]);
    ::close(output[1]);
    return {input[1], output[0], child};
}

void limit_of(int client, int seconds) {
    const timeval limit{seconds, 0};
    (void)::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/// One connection with its TLS stream.
class Exchange {
public:
    Exchange(int client, SSL& stream) : client_(client), stream_(stream) {}

    [[nodiscard]] std::string read_text() {
        std::string text;
        char buffer[4096];
        while (text.size() < kLongestHead && text.find("\r\n\r\n") == std::string::npos) {
            const int count = SSL_read(&stream_, buffer, sizeof buffer);
            if (count <= 0) {
                return {};
            }
            text.append(buffer, static_cast<std::size_t>(count));
        }
        return text;
    }

    [[nodiscard]] bool write(std::string_view text) {
        return text.empty() || SSL_write(&stream_, text.data(), static_cast<int>(text.size())) > 0;
    }

    [[nodiscard]] bool begin(const std::string& status, const std::string& type) {
        return write("HTTP/1.1 " + status + " " + reason(status) + "\r\nContent-Type: " + type +
                     "\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    }

    [[nodiscard]] bool chunk(std::string_view text) {
        char size[32];
        (void)std::snprintf(size, sizeof size, "%zx\r\n", text.size()); // NOLINT: variadic
        return write(std::string(size) + std::string(text) + "\r\n");
    }

    /// Passes on what the command writes, while the client listens.
    void pass_on(const Pipes& pipes) {
        std::string held;
        bool has_begun = false;
        char buffer[16384];
        while (true) {
            pollfd waits[2] = {{pipes.output, POLLIN, 0}, {client_, POLLIN | POLLRDHUP, 0}};
            if (::poll(waits, 2, -1) < 0 && errno != EINTR) {
                return;
            }
            if (waits[1].revents != 0 && !is_open()) {
                return;
            }
            if (waits[0].revents == 0) {
                continue;
            }
            const ssize_t count = ::read(pipes.output, buffer, sizeof buffer);
            if (count <= 0) {
                break;
            }
            const std::string_view piece(buffer, static_cast<std::size_t>(count));
            if (!has_begun) {
                held += piece;
            }
            if (has_begun ? !chunk(piece) : !take_first(held, has_begun)) {
                return;
            }
        }
        if (!has_begun) {
            has_begun = begin("500", "text/plain") && chunk("the request could not be answered\n");
        }
        (void)(has_begun && write("0\r\n\r\n"));
    }

private:
    static std::string reason(const std::string& status) {
        struct Row {
            std::string_view status;
            std::string_view words;
        };
        constexpr Row kRows[] = {{"200", "OK"},
                                 {"400", "Bad Request"},
                                 {"401", "Unauthorized"},
                                 {"403", "Forbidden"},
                                 {"404", "Not Found"},
                                 {"405", "Method Not Allowed"},
                                 {"503", "Service Unavailable"}};
        const auto* const row = std::find_if(std::begin(kRows),
                                             std::end(kRows),
                                             [&](const Row& one) { return one.status == status; });
        return std::string(row == std::end(kRows) ? "Internal Server Error" : row->words);
    }

    /// The client sends nothing more; what it does send ends the connection.
    [[nodiscard]] bool is_open() const {
        char letter = 0;
        const ssize_t count = ::recv(client_, &letter, 1, MSG_PEEK | MSG_DONTWAIT);
        return count < 0 && (errno == EAGAIN || errno == EINTR);
    }

    [[nodiscard]] bool take_first(const std::string& held, bool& has_begun) {
        const std::size_t end = held.find('\n');
        if (end == std::string::npos) {
            return held.size() < kLongestFirstLine;
        }
        const std::size_t space = held.find(' ');
        if (space != 3 || end < space) {
            return false;
        }
        has_begun = begin(held.substr(0, space), held.substr(space + 1, end - space - 1));
        const std::string_view rest = std::string_view(held).substr(end + 1);
        return has_begun && (rest.empty() || chunk(rest));
    }

    int client_;
    SSL& stream_;
};

/// Ends the command; one that ignores SIGTERM is killed, and the connection ends all the same.
void end(pid_t process) {
    constexpr int kStepMs = 20;
    constexpr int kSteps = 5'000 / kStepMs;
    for (const int signal : {SIGTERM, SIGKILL}) {
        ::kill(process, signal);
        for (int step = 0; step < kSteps; ++step) {
            if (::waitpid(process, nullptr, WNOHANG) != 0) {
                return;
            }
            (void)::poll(nullptr, 0, kStepMs);
        }
    }
}

void answer(Exchange& exchange,
            const RequestHead& head,
            const TlsPeer& peer,
            const std::vector<std::string>& command) {
    if (head.method != "GET") {
        const std::string status = head.method.empty() ? "400" : "405";
        (void)(exchange.begin(status, "text/plain") && exchange.write("0\r\n\r\n"));
        return;
    }
    const nlohmann::json request{{"method", head.method},
                                 {"path", head.path},
                                 {"token", head.token},
                                 {"certificate", peer.certificate},
                                 {"user", peer.user},
                                 {"groups", peer.groups}};
    const std::string line =
        request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    const Pipes pipes = start(command);
    const bool is_written = pipes.process > 0 && ::write(pipes.input, line.data(), line.size()) ==
                                                     static_cast<ssize_t>(line.size());
    if (is_written) {
        ::close(pipes.input);
        exchange.pass_on(pipes);
    }
    if (pipes.process > 0) {
        end(pipes.process);
    }
}

} // namespace

RequestHead read_head(std::string_view text) {
    constexpr std::string_view kBearer = "bearer ";
    RequestHead head;
    const std::size_t end = text.find("\r\n\r\n");
    const std::size_t line_end = text.find("\r\n");
    const std::size_t first = text.find(' ');
    const std::size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
    if (end == std::string_view::npos || second == std::string_view::npos || second > line_end ||
        !text.substr(second + 1).starts_with("HTTP/1.")) {
        return head;
    }
    const std::string_view path = text.substr(first + 1, second - first - 1);
    if (!is_path(path)) {
        return head;
    }
    for (std::size_t at = line_end + 2; at < end;) {
        const std::size_t next = text.find("\r\n", at);
        const std::string_view line = text.substr(at, next - at);
        at = next + 2;
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) {
            return {};
        }
        if (lower(line.substr(0, colon)) != "authorization") {
            continue;
        }
        std::string_view value = line.substr(colon + 1);
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        if (lower(value.substr(0, kBearer.size())) == kBearer) {
            head.token = value.substr(kBearer.size());
        }
    }
    head.method = text.substr(0, first);
    head.path = path;
    return head;
}

void serve_connection(int client, SSL_CTX& tls, const std::vector<std::string>& command) {
    const TlsStream stream(SSL_new(&tls));
    limit_of(client, kSecondsOfHead);
    ::alarm(2 * kSecondsOfHead); // who sends a letter per second
    if (!stream || SSL_set_fd(stream.get(), client) != 1 || SSL_accept(stream.get()) != 1) {
        return;
    }
    Exchange exchange(client, *stream);
    const TlsPeer peer = peer_of(*stream);
    const RequestHead head = read_head(exchange.read_text());
    ::alarm(0); // what is followed may last
    limit_of(client, kSecondsOfWrite);
    answer(exchange, head, peer, command);
    (void)SSL_shutdown(stream.get());
}

} // namespace cybele::http
