// SPDX-License-Identifier: Apache-2.0
#include "submission/local/session.hpp"

#include "submission/backends/command_backend.hpp"
#include "submission/records/process_identity.hpp"
#include "support/file.hpp"
#include "support/start_time.hpp"
#include "support/text.hpp"

#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

fs::path attempt_file(const fs::path& record, std::int64_t attempt) {
    return record / ("attempt-" + std::to_string(attempt));
}

bool take_attempt(const fs::path& file) {
    const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const std::string text = text_of(id_of_process(::getpid()));
    return fd.valid() &&
           ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::set<pid_t> session_members(pid_t session) {
    constexpr std::size_t kMost = 4096;
    constexpr std::size_t kSession = 3; // behind the name: state, parent, group, session
    std::set<pid_t> members;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
        const auto pid = text::number(entry.path().filename().native());
        const auto text = pid ? read_file(entry.path() / "stat", kMost) : Result<std::string>("");
        const std::size_t name_end = text ? text->rfind(") ") : std::string::npos;
        if (!pid || name_end == std::string::npos) {
            continue;
        }
        const auto words = text::split(std::string_view(*text).substr(name_end + 2), ' ');
        if (words.size() > kSession && text::number(words[kSession]) == session &&
            words.front() != "Z" && words.front() != "X") {
            members.insert(*pid);
        }
    }
    return members;
}

void end_session(const fs::path& attempt) {
    const ReadBack text = read_piece({attempt, 0, 4096});
    const auto leader = read_process_id(text.bytes);
    if (!leader || id_of_process(::getpid()).boot != leader->boot) {
        return;
    }
    const std::string now = start_time(leader->pid);
    if (!now.empty() && now != leader->start) {
        return; // the number is another process's: no session of ours is left, or it would be kept
    }
    using Clock = std::chrono::steady_clock;
    const auto kill_after = Clock::now() + std::chrono::seconds(3);
    const auto give_up_after = kill_after + std::chrono::seconds(2);
    bool is_told = false;
    while (Clock::now() < give_up_after) {
        const auto members = session_members(leader->pid);
        if (members.empty()) {
            return;
        }
        const bool is_late = Clock::now() > kill_after;
        for (const pid_t pid : members) {
            if (is_late || !is_told) {
                ::kill(pid, is_late ? SIGKILL : SIGTERM);
            }
        }
        is_told = true;
        constexpr int kPause = 20;
        ::poll(nullptr, 0, kPause);
    }
}

} // namespace cybele::submission
