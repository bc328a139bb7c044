// SPDX-License-Identifier: Apache-2.0
// Processes under one hand: each stops before and after every system call, and goes on or is killed
// as a test decides. Tests of stores and journals try orders and kills by it.
#pragma once

#include "support/environment.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace explorer {

/// A number of an environment variable, by which a test runs longer or otherwise.
inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const auto text = cybele::Environment::of_this_process().get(name);
    return text ? std::strtoull(text->c_str(), nullptr, 10) : otherwise;
}

/// splitmix64: the same numbers for a seed everywhere.
class Chance {
public:
    explicit Chance(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    std::uint64_t below(std::uint64_t count) {
        return next() % count;
    }

private:
    std::uint64_t state_;
};

/// A child that does `work` one system call after the other.
class Actor {
public:
    explicit Actor(const std::function<int()>& work) : pid_(::fork()) {
        if (pid_ < 0) {
            throw std::runtime_error("no process");
        }
        if (pid_ == 0) {
            if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
                ::_exit(120);
            }
            ::raise(SIGSTOP);
            try {
                ::_exit(work());
            } catch (...) { // the parent's own way on is not this process's
                ::_exit(121);
            }
        }
        int status = 0;
        if (::waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status) ||
            ::ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) !=
                0) {
            throw std::runtime_error("no process can be traced");
        }
    }
    Actor(const Actor&) = delete;
    Actor& operator=(const Actor&) = delete;
    ~Actor() {
        kill();
    }

    /// Goes on to the next system call, or out of it. False: it waits for something.
    bool step() {
        if (!is_over_ && !is_away_) {
            is_away_ = true;
            const int signal = signal_;
            signal_ = 0;
            (void)::ptrace(PTRACE_SYSCALL, pid_, nullptr, signal);
        }
        for (int tries = 0; !is_over_ && is_away_; ++tries) {
            int status = 0;
            if (::waitpid(pid_, &status, WNOHANG) == pid_) {
                take(status);
            } else if (tries > 20 && is_asleep()) {
                return false;
            } else if (tries > 10) {
                pause();
            }
        }
        return true;
    }
    void kill() {
        if (!is_over_) {
            (void)::kill(pid_, SIGKILL);
            int status = 0;
            while (!is_over_ && ::waitpid(pid_, &status, 0) == pid_) {
                take(status);
            }
        }
    }
    [[nodiscard]] bool is_over() const {
        return is_over_;
    }
    /// What it ended with; none where it was killed.
    [[nodiscard]] std::optional<int> code() const {
        return code_;
    }
    [[nodiscard]] pid_t pid() const {
        return pid_;
    }
    static void pause() {
        const timespec moment{0, 50'000};
        (void)::nanosleep(&moment, nullptr);
    }

private:
    void take(int status) {
        is_away_ = false;
        if (WIFEXITED(status)) {
            is_over_ = true;
            code_ = WEXITSTATUS(status);
        } else if (WIFSIGNALED(status)) {
            is_over_ = true;
        } else if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            signal_ = WSTOPSIG(status);
        }
    }
    [[nodiscard]] bool is_asleep() const {
        std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
        std::string text;
        std::getline(file, text);
        const auto end = text.rfind(')');
        return end != std::string::npos && end + 2 < text.size() && text[end + 2] == 'S';
    }

    pid_t pid_;
    bool is_over_ = false;
    bool is_away_ = false; ///< not stopped
    int signal_ = 0;       ///< that came, and is given to it with its next step
    std::optional<int> code_;
};

/// One of several processes that run in turns.
struct Part {
    std::function<int()> work;
    std::uint64_t killed_at = 0; ///< this step of its own; 0: never
};

/// How each part ended: its code, or none where it was killed. The order is that of `seed`.
inline std::vector<std::optional<int>> run_in_turns(const std::vector<Part>& parts,
                                                    std::uint64_t seed) {
    constexpr int kMostWaits = 600'000; // half a minute: then they wait for each other
    Chance chance(seed);
    std::vector<std::unique_ptr<Actor>> actors;
    std::vector<std::uint64_t> steps(parts.size());
    actors.reserve(parts.size());
    for (const Part& part : parts) {
        actors.push_back(std::make_unique<Actor>(part.work));
    }
    std::size_t over = 0;
    int waits = 0;
    while (over < parts.size()) {
        const std::size_t one = chance.below(parts.size());
        Actor& actor = *actors[one];
        for (std::uint64_t turn = 1 + chance.below(chance.below(3) == 0 ? 60 : 6);
             turn > 0 && !actor.is_over();
             --turn) {
            if (parts[one].killed_at != 0 && ++steps[one] >= parts[one].killed_at) {
                actor.kill();
            } else if (!actor.step()) {
                Actor::pause();
                if (++waits > kMostWaits) {
                    throw std::runtime_error("processes wait for each other");
                }
                break;
            }
        }
        over = 0;
        for (const auto& each : actors) {
            over += static_cast<std::size_t>(each->is_over());
        }
    }
    std::vector<std::optional<int>> codes;
    codes.reserve(actors.size());
    for (const auto& each : actors) {
        codes.push_back(each->code());
    }
    return codes;
}

/// Takes parts of a story away, halves first, as long as it still fails: what is left is short.
template <typename Event>
std::vector<Event> shrunk(std::vector<Event> story,
                          const std::function<bool(const std::vector<Event>&)>& fails) {
    for (std::size_t length = story.size() / 2; length > 0; length /= 2) {
        for (std::size_t from = 0; from < story.size();) {
            std::vector<Event> shorter = story;
            const auto begin = shorter.begin() + static_cast<std::ptrdiff_t>(from);
            shorter.erase(
                begin, begin + static_cast<std::ptrdiff_t>(std::min(length, story.size() - from)));
            if (!shorter.empty() && fails(shorter)) {
                story = std::move(shorter);
            } else {
                from += length;
            }
        }
    }
    return story;
}

} // namespace explorer
