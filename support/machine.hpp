// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele {

/// A physical core: those of its hardware threads that may be used, in ascending order.
struct Core {
    std::vector<int> cpus;
};

/// What this machine, or the part of it that this process may use, has.
struct Machine {
    std::string host;
    std::vector<Core> cores;  ///< by their first thread
    std::uint64_t memory = 0; ///< bytes; 0: not known
    std::vector<int> gpus;    ///< numbers as the driver counts

    /// Hardware threads in all.
    [[nodiscard]] std::size_t threads() const;
    /// Every hardware thread, in ascending order.
    [[nodiscard]] std::vector<int> cpus() const;
};

/// Where the facts of a machine are read: `/`, or a folder with another machine's files.
struct MachineSources {
    std::filesystem::path root = "/";
    std::vector<int> allowed; ///< the affinity mask
};

/// The cores in the mask (whole ones, by /sys/devices/system/cpu), at most as many as the control
/// group's quota pays for (cpu.max, cpu.cfs_quota_us; one at least); the smaller of MemTotal and
/// the group's memory limit (memory.max, memory.limit_in_bytes), groups above it included; the
/// device files of GPUs (/dev/nvidiaN, else /dev/dri/renderD*). What cannot be read limits nothing.
[[nodiscard]] Machine read_machine(const MachineSources& sources);

/// The hardware threads that this process may run on.
[[nodiscard]] std::vector<int> allowed_cpus();
/// Lets this process, and what it starts, run on these alone; false where the kernel refuses.
[[nodiscard]] bool run_on(const std::vector<int>& cpus);

/// `0-3,8`, as the kernel writes sets; unset where it is none.
[[nodiscard]] std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
[[nodiscard]] std::string cpu_list(const std::vector<int>& cpus);

} // namespace cybele
