// SPDX-License-Identifier: Apache-2.0
#include "libexec/http_server.hpp"

#include "libexec/http_server_request.hpp"
#include "libexec/http_server_tls.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#include <netdb.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cybele::http {
namespace {

using ServerJson = nlohmann::json;

constexpr std::size_t kMostServed = 64;
constexpr std::size_t kLongestSettings = 1U << 20U;

void say(const ServerJson& line) {
    const std::string text = line.dump(-1, ' ', false, ServerJson::error_handler_t::replace) + "\n";
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
    (void)std::fflush(stdout);
}

int refuse(const std::string& words) {
    say({{"failure", words}});
    return 1;
}

std::string first_line() {
    std::string line;
    char letter = 0;
    while (line.size() < kLongestSettings && ::read(STDIN_FILENO, &letter, 1) == 1) {
        if (letter == '\n') {
            return line;
        }
        line += letter;
    }
    return {};
}

int listen_at(const std::string& address, const std::string& port) {
    addrinfo wish{};
    wish.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    wish.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(address.c_str(), port.c_str(), &wish, &found) != 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    const int on = 1;
    const int fd =
        ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol);
    bool is_good = fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
    is_good = is_good && ::bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    is_good = is_good && ::listen(fd, SOMAXCONN) == 0;
    ::freeaddrinfo(found);
    return is_good ? fd : -1;
}

int port_of(int fd) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
        return 0;
    }
    return name.ss_family == AF_INET6
               ? ntohs(reinterpret_cast<const sockaddr_in6*>(&name)->sin6_port)
               : ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
}

/// Connections are processes of their own: what one does to itself, the others do not see.
class Server {
public:
    Server(int listener, SSL_CTX& tls, std::vector<std::string> command)
        : listener_(listener), tls_(tls), command_(std::move(command)) {}

    int run() {
        constexpr int kStep = 1'000;
        while (true) {
            pollfd waits[2] = {{STDIN_FILENO, POLLIN, 0}, {listener_, POLLIN, 0}};
            if (children_.size() >= kMostServed) {
                waits[1].fd = -1;
            }
            if (::poll(waits, 2, kStep) < 0 && errno != EINTR) {
                break;
            }
            reap();
            char letter = 0;
            if (waits[0].revents != 0 && ::read(STDIN_FILENO, &letter, 1) <= 0) {
                break;
            }
            if (waits[1].revents != 0) {
                accept_one();
            }
        }
        for (const pid_t child : children_) {
            ::kill(child, SIGKILL);
        }
        return 0;
    }

private:
    void reap() {
        for (pid_t ended = ::waitpid(-1, nullptr, WNOHANG); ended > 0;
             ended = ::waitpid(-1, nullptr, WNOHANG)) {
            children_.erase(ended);
        }
    }

    void accept_one() {
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) {
            return;
        }
        const pid_t parent = ::getpid();
        const pid_t child = ::fork();
        if (child == 0) {
            if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || // NOLINT: prctl(2) is variadic
                ::getppid() != parent) {
                ::_exit(1);
            }
            ::close(listener_);
            serve_connection(client, tls_, command_);
            ::_exit(0);
        }
        if (child > 0) {
            children_.insert(child);
        }
        ::close(client);
    }

    int listener_;
    SSL_CTX& tls_;
    std::vector<std::string> command_;
    std::set<pid_t> children_;
};

} // namespace

int run_server() {
    TlsSettings tls;
    std::string address;
    std::string port;
    std::vector<std::string> command;
    try {
        const ServerJson settings = ServerJson::parse(first_line());
        address = settings.at("address").get<std::string>();
        port = std::to_string(settings.at("port").get<int>());
        tls.names = settings.at("names").get<std::vector<std::string>>();
        tls.certificate = settings.at("certificate").get<std::string>();
        tls.key = settings.at("key").get<std::string>();
        tls.clients = settings.at("clients").get<std::string>();
        command = settings.at("command").get<std::vector<std::string>>();
    } catch (const ServerJson::exception&) {
        return refuse("the settings are not valid");
    }
    if (::prctl(PR_SET_DUMPABLE, 0) != 0) { // NOLINT: prctl(2) is variadic
        return refuse("the key cannot be protected");
    }
    std::string certificate;
    const TlsContext context = make_tls(tls, certificate);
    if (!context || command.empty()) {
        return refuse("the certificate, its key or the authorities of clients cannot be used");
    }
    const int listener = listen_at(address, port);
    if (listener < 0) {
        return refuse(std::string("cannot listen at ") + address + " port " + port + ": " +
                      std::strerror(errno)); // NOLINT: one thread
    }
    say({{"port", port_of(listener)}, {"certificate", certificate}});
    return Server(listener, *context, std::move(command)).run();
}

} // namespace cybele::http
