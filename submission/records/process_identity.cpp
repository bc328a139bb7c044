// SPDX-License-Identifier: Apache-2.0
#include "submission/records/process_identity.hpp"

#include "support/file.hpp"
#include "support/start_time.hpp"
#include "support/text.hpp"

#include <sys/utsname.h>

namespace cybele::submission {
namespace {

std::string boot_id() {
    const auto text = read_file("/proc/sys/kernel/random/boot_id", 4096);
    return text ? std::string(text::trimmed(*text)) : std::string();
}

std::string own_host() {
    utsname names{};
    return ::uname(&names) == 0 ? names.nodename : "";
}

} // namespace

bool ProcessIdentity::is_alive() const {
    return pid > 0 && !start.empty() && start_time(pid) == start && boot_id() == boot;
}

bool ProcessIdentity::is_elsewhere() const {
    return !host.empty() && host != own_host() && boot != boot_id();
}

ProcessIdentity id_of_process(pid_t pid) {
    return {pid, start_time(pid), boot_id(), own_host()};
}

std::string text_of(const ProcessIdentity& id) {
    return std::to_string(id.pid) + " " + id.start + " " + id.boot +
           (id.host.empty() ? "" : " " + id.host) + "\n";
}

std::optional<ProcessIdentity> read_process_id(const std::string& text) {
    const auto words = text::split(text::trimmed(text), ' ');
    const bool has_host = words.size() == 4; // those of version 0.1 and before have none
    const auto pid = words.size() == 3 || has_host ? text::number(words[0]) : std::nullopt;
    if (!pid) {
        return std::nullopt;
    }
    return ProcessIdentity{
        *pid, std::string(words[1]), std::string(words[2]), std::string(has_host ? words[3] : "")};
}

} // namespace cybele::submission
