// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/oci/images.hpp"
#include "registry/oci/reference.hpp"
#include "support/digest.hpp"
#include "support/encoding.hpp"
#include "tests/unit/registry/shop.hpp"
#include "tests/unit/server_process.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

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
    std::string control(const std::string& method, const std::string& body) const {
        HttpRequest request;
        request.method = method;
        request.url = process->url("/control");
        request.body = body;
        request.access.allows_plain = true;
        const auto answer = client.send(request);
        REQUIRE(answer);
        REQUIRE(answer->status == 200);
        return answer->body;
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
