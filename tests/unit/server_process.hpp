// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/environment.hpp"
#include "support/file.hpp"
#include "support/http.hpp"

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

/// A server of tests/parts for one test: started, asked for its port, and gone with the test.
namespace cybele {

class ServerProcess {
public:
    /// `argv[0]` is a script of tests/parts, which prints its port and ends with its standard
    /// input.
    explicit ServerProcess(std::vector<std::string> argv) {
        argv[0] = std::string(CYBELE_TESTS_DIR) + "/parts/" + argv[0];
        std::vector<char*> words;
        for (std::string& word : argv) {
            words.push_back(word.data());
        }
        words.push_back(nullptr);
        std::array<int, 2> input{};
        std::array<int, 2> output{};
        REQUIRE(::pipe2(input.data(), O_CLOEXEC) == 0);
        REQUIRE(::pipe2(output.data(), O_CLOEXEC) == 0);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::dup2(input[0], STDIN_FILENO);
            ::dup2(output[1], STDOUT_FILENO);
            ::execv(words[0], words.data());
            ::_exit(127);
        }
        ::close(input[0]);
        ::close(output[1]);
        input_.reset(input[1]);
        const UniqueFd answers(output[0]);
        char letter = 0;
        while (::read(answers.get(), &letter, 1) == 1 && letter != '\n') {
            port_ += letter;
        }
        REQUIRE(!port_.empty());
    }
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;
    ~ServerProcess() {
        ::kill(pid_, SIGTERM);
        ::waitpid(pid_, nullptr, 0);
    }

    [[nodiscard]] std::string url(const std::string& path = {}) const {
        return "http://127.0.0.1:" + port_ + path;
    }
    [[nodiscard]] const std::string& port() const {
        return port_;
    }

private:
    pid_t pid_ = -1;
    UniqueFd input_;
    std::string port_;
};

/// The client with the helper program of this build tree; no proxy stands before loopback.
inline HttpClient build_tree_client(EnvironmentMap more = {}) {
    std::array<char, 4096> program{};
    REQUIRE(::readlink("/proc/self/exe", program.data(), program.size() - 1) > 0);
    more.emplace("PATH", "/usr/bin:/bin");
    more.emplace("no_proxy", "*");
    return HttpClient::find(Environment(std::move(more)), program.data());
}

} // namespace cybele
