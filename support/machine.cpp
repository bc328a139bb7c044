// SPDX-License-Identifier: Apache-2.0
#include "support/machine.hpp"

#include "support/control_group.hpp"
#include "support/file.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include <sched.h>
#include <sys/utsname.h>

namespace cybele {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostStatus = std::size_t{1} << 20U;
constexpr int kMostCpus = 1 << 16;

std::string text_of(const fs::path& path) {
    return read_file(path, kMostStatus).value_or(std::string());
}

/// The number at the start of a text; unset: there is none, as in `max`.
std::optional<std::uint64_t> number_in(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string_view line_of(std::string_view text) {
    return text.substr(0, text.find('\n'));
}

/// The control groups that this process is in, those above them too, by the controller's name;
/// empty: version 2.
std::vector<fs::path> groups_of(const fs::path& root, std::string_view controller) {
    std::vector<fs::path> found;
    const auto group = control_group(root / "proc/self", controller);
    for (fs::path at = fs::path(group.value_or("")).relative_path(); group; at = at.parent_path()) {
        found.push_back(root / "sys/fs/cgroup" / controller / at);
        if (at.empty()) {
            break;
        }
    }
    return found;
}

/// The smallest of what the groups write in a file, as `value` reads it.
template <class Value>
double smallest(const std::vector<fs::path>& groups, const Value& value) {
    double least = std::numeric_limits<double>::infinity();
    for (const fs::path& group : groups) {
        least = std::min(least, value(group));
    }
    return least;
}

double cpus_of_group(const fs::path& group) {
    const std::string both = text_of(group / "cpu.max"); // `QUOTA PERIOD`, `max PERIOD`
    const std::size_t blank = both.find(' ');
    auto quota = number_in(both);
    auto period = blank == std::string::npos ? std::nullopt : number_in(both.substr(blank));
    if (both.empty()) {
        quota = number_in(text_of(group / "cpu.cfs_quota_us")); // -1: none
        period = number_in(text_of(group / "cpu.cfs_period_us"));
    }
    if (!quota || !period || *period == 0) {
        return std::numeric_limits<double>::infinity();
    }
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

double memory_of_group(const fs::path& group) {
    auto limit = number_in(text_of(group / "memory.max"));
    if (!limit) {
        limit = number_in(text_of(group / "memory.limit_in_bytes"));
    }
    return limit ? static_cast<double>(*limit) : std::numeric_limits<double>::infinity();
}

std::vector<Core> cores_of(const MachineSources& sources) {
    const std::set<int> allowed(sources.allowed.begin(), sources.allowed.end());
    std::set<int> taken;
    std::vector<Core> cores;
    for (const int cpu : allowed) {
        if (taken.contains(cpu)) {
            continue;
        }
        const fs::path topology =
            sources.root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
        const std::string siblings = text_of(topology / "thread_siblings_list");
        Core core;
        for (const int other : parse_cpu_list(line_of(siblings)).value_or(std::vector<int>{})) {
            if (allowed.contains(other) && taken.insert(other).second) {
                core.cpus.push_back(other);
            }
        }
        if (taken.insert(cpu).second) { // its siblings are not known
            core.cpus = {cpu};
        }
        cores.push_back(std::move(core));
    }
    return cores;
}

std::uint64_t memory_of(const fs::path& root) {
    const std::string text = text_of(root / "proc/meminfo");
    constexpr std::string_view kName = "MemTotal:";
    const std::size_t at = text.find(kName);
    const auto kibibytes = at == std::string::npos
                               ? std::nullopt
                               : number_in(std::string_view(text).substr(at + kName.size()));
    const double total = kibibytes ? static_cast<double>(*kibibytes << 10U)
                                   : std::numeric_limits<double>::infinity();
    const double limit = std::min(smallest(groups_of(root, ""), memory_of_group),
                                  smallest(groups_of(root, "memory"), memory_of_group));
    const double least = std::min(total, limit);
    return least == std::numeric_limits<double>::infinity() ? 0 : static_cast<std::uint64_t>(least);
}

/// The numbers behind a prefix in a folder, ascending.
std::vector<int> numbers_in(const fs::path& folder, std::string_view prefix) {
    std::vector<int> numbers;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(prefix)) {
            continue;
        }
        const auto number = parse_cpu_list(std::string_view(name).substr(prefix.size()));
        if (number && number->size() == 1) {
            numbers.push_back(number->front());
        }
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

std::vector<int> gpus_of(const fs::path& root) {
    std::vector<int> gpus = numbers_in(root / "dev", "nvidia");
    if (gpus.empty()) {
        gpus = numbers_in(root / "dev/dri", "renderD");
        for (std::size_t at = 0; at < gpus.size(); ++at) {
            gpus[at] = static_cast<int>(at); // drivers count from 0
        }
    }
    return gpus;
}

} // namespace

std::size_t Machine::threads() const {
    std::size_t count = 0;
    for (const Core& core : cores) {
        count += core.cpus.size();
    }
    return count;
}

std::vector<int> Machine::cpus() const {
    std::vector<int> all;
    for (const Core& core : cores) {
        all.insert(all.end(), core.cpus.begin(), core.cpus.end());
    }
    std::sort(all.begin(), all.end());
    return all;
}

Machine read_machine(const MachineSources& sources) {
    Machine machine;
    utsname names{};
    machine.host = ::uname(&names) == 0 ? names.nodename : "unknown";
    machine.cores = cores_of(sources);
    const double paid = std::min(smallest(groups_of(sources.root, ""), cpus_of_group),
                                 smallest(groups_of(sources.root, "cpu"), cpus_of_group));
    if (paid < static_cast<double>(machine.cores.size())) {
        machine.cores.resize(std::max<std::size_t>(static_cast<std::size_t>(paid), 1));
    }
    machine.memory = memory_of(sources.root);
    machine.gpus = gpus_of(sources.root);
    return machine;
}

std::vector<int> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
        for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &set)) {
                cpus.push_back(static_cast<int>(cpu));
            }
        }
    }
    return cpus;
}

bool run_on(const std::vector<int>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) {
        if (cpu >= 0 && cpu < CPU_SETSIZE) {
            CPU_SET(static_cast<std::size_t>(cpu), &set);
        }
    }
    return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
    std::vector<int> cpus;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
        int first = 0;
        auto [next, error] = std::from_chars(at, end, first);
        int last = first;
        if (error == std::errc() && next != end && *next == '-') {
            const auto range = std::from_chars(next + 1, end, last);
            next = range.ptr;
            error = range.ec;
        }
        if (error != std::errc() || first < 0 || last < first || last > kMostCpus) {
            return std::nullopt;
        }
        for (int cpu = first; cpu <= last; ++cpu) {
            cpus.push_back(cpu);
        }
        if (next == end) {
            return cpus;
        }
        if (*next != ',') {
            return std::nullopt;
        }
        at = next + 1;
    }
}

std::string cpu_list(const std::vector<int>& cpus) {
    std::string text;
    for (std::size_t at = 0; at < cpus.size();) {
        std::size_t last = at;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) {
            ++last;
        }
        text += (text.empty() ? "" : ",") + std::to_string(cpus[at]);
        if (last > at) {
            text += "-" + std::to_string(cpus[last]);
        }
        at = last + 1;
    }
    return text;
}

} // namespace cybele
