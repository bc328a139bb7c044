// SPDX-License-Identifier: Apache-2.0
#include "submission/backends/command_backend.hpp"
#include "submission/local/local_job.hpp"
#include "support/file.hpp"
#include "support/start_time.hpp"

namespace cybele::submission {
namespace {

std::string boot_id() {
    const auto text = read_file("/proc/sys/kernel/random/boot_id", 4096);
    return text ? std::string(trimmed(*text)) : std::string();
}

} // namespace

bool SupervisorId::is_alive() const {
    return pid > 0 && !start.empty() && start_time(pid) == start && boot_id() == boot;
}

SupervisorId id_of_process(pid_t pid) {
    return {pid, start_time(pid), boot_id()};
}

std::string text_of(const SupervisorId& id) {
    return std::to_string(id.pid) + " " + id.start + " " + id.boot + "\n";
}

std::optional<SupervisorId> read_process_id(const std::string& text) {
    const auto words = split(trimmed(text), ' ');
    const auto pid = words.size() == 3 ? number_of(words[0]) : std::nullopt;
    if (!pid) {
        return std::nullopt;
    }
    return SupervisorId{*pid, std::string(words[1]), std::string(words[2])};
}

} // namespace cybele::submission
