// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/images.hpp"
#include "registry/oci/reference.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "tests/unit/registry/shop.hpp"
#include "tests/unit/server_process.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

/// A registry for one test (tests/parts/memory-registry), and what a client of it needs.
namespace cybele::registry {

inline std::string sha256_text(std::string_view bytes) {
    return "sha256:" + hex(sha256(bytes));
}

/// One that is started once: the first test that needs it, or the second of one test, does it.
class SharedServer {
public:
    SharedServer() : place_(in_use()++) {
        static std::vector<std::unique_ptr<ServerProcess>> started;
        while (started.size() <= place_) {
            started.push_back(
                std::make_unique<ServerProcess>(std::vector<std::string>{"memory-registry"}));
        }
        process_ = started[place_].get();
    }
    SharedServer(const SharedServer&) = delete;
    SharedServer& operator=(const SharedServer&) = delete;
    ~SharedServer() {
        --in_use();
    }
    const ServerProcess* operator->() const {
        return process_;
    }

private:
    static std::size_t& in_use() {
        static std::size_t count = 0;
        return count;
    }
    std::size_t place_;
    const ServerProcess* process_ = nullptr;
};

struct RegistryServer {
    SharedServer process;
    HttpClient client = build_tree_client();
    Shop shop;
    std::int64_t now = kNow;
    std::vector<std::int64_t> pauses; ///< milliseconds that were waited
    std::vector<std::string> said;
    Transport transport;

    RegistryServer() {
        (void)control("POST", "");
        transport.client = &client;
        transport.environment = Environment(EnvironmentMap{{"HOME", shop.folder.path().native()}});
        transport.access.is_plain = true;
        transport.access.clock = [this] { return now; };
        transport.access.wait = [this](std::chrono::milliseconds pause) {
            pauses.push_back(pause.count());
        };
        transport.access.say = [this](const std::string& line) { said.push_back(line); };
    }
    RegistryServer(const RegistryServer&) = delete;
    RegistryServer& operator=(const RegistryServer&) = delete;

    [[nodiscard]] std::string host() const {
        return "127.0.0.1:" + process->port();
    }
    [[nodiscard]] Reference reference(const std::string& name) const {
        const auto read = read_reference("oras://" + host() + "/" + name);
        REQUIRE(read);
        return *read;
    }
    [[nodiscard]] Registry registry(const std::string& name,
                                    const std::string& actions = "pull,push") const {
        return {client, transport.access, transport.environment, reference(name), actions};
    }
    /// Without the helper program, whose start costs more than the rest of a test.
    std::string control(const std::string& method, const std::string& body) const {
        const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(process->port())));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::connect(socket.get(),
                          reinterpret_cast<const sockaddr*>(&address), // NOLINT
                          sizeof address) == 0);
        REQUIRE(write_all(socket.get(),
                          method + " /control HTTP/1.0\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body,
                          "the registry"));
        std::string answer;
        std::array<char, 4096> piece{};
        for (ssize_t size = 0; (size = ::read(socket.get(), piece.data(), piece.size())) > 0;) {
            answer.append(piece.data(), static_cast<std::size_t>(size));
        }
        REQUIRE(answer.find(" 200 ") < answer.find('\n'));
        return answer.substr(answer.find("\r\n\r\n") + 4);
    }
    void set(const nlohmann::json& settings) const {
        (void)control("PUT", settings.dump());
    }
    /// One fault, as memory-registry describes them.
    void spoil(const nlohmann::json& fault) const {
        set({{"faults", nlohmann::json::array({fault})}});
    }
    /// What came since the last time, one request per line.
    [[nodiscard]] std::vector<std::string> seen() const {
        std::vector<std::string> lines;
        const std::string text = control("GET", "");
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            lines.push_back(text.substr(at, end - at));
            at = end + 1;
        }
        return lines;
    }
    /// How many of the requests since the last time begin so.
    [[nodiscard]] std::ptrdiff_t count(std::string_view begin) const {
        const auto lines = seen();
        return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.starts_with(begin);
        });
    }
    void log_in(const std::string& user, const std::string& password) {
        transport.access.login = Login{user, password, {}, "a test"};
    }
    [[nodiscard]] Result<PushResult> push_text(const std::string& text,
                                               const std::string& name) const {
        PushRequest request;
        request.reference = reference(name);
        request.file = shop.image(text);
        request.title = text + ".sif";
        return push(transport, request);
    }
    [[nodiscard]] PullRequest pull_request(const std::string& name) const {
        PullRequest request;
        request.reference = reference(name);
        request.architecture = "amd64";
        request.now = kNow;
        return request;
    }
};

/// The id of the first problem; empty: there is none.
template <class Value>
std::string id_of(const Result<Value>& result) {
    return result ? std::string() : result.error().faults().front().id;
}

template <class Value>
std::string because_of(const Result<Value>& result) {
    return result ? std::string() : result.error().faults().front().because;
}

} // namespace cybele::registry
