// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Limits of a container, and what they are called in the files of a cgroup (version 2).
namespace cybele::runtime {

/// What the options say, as they were given. Zero and empty: not given.
struct LimitRequest {
    std::string memory = {};                      ///< --memory
    std::string memory_reservation = {};          ///< --memory-reservation
    std::string memory_swap = {};                 ///< --memory-swap: memory and swap together
    std::string cpus = {};                        ///< --cpus
    std::string cpuset_cpus = {};                 ///< --cpuset-cpus
    std::string cpuset_mems = {};                 ///< --cpuset-mems
    std::int64_t cpu_shares = 0;                  ///< --cpu-shares
    std::int64_t pids = 0;                        ///< --pids-limit; -1: no limit
    std::int64_t weight = 0;                      ///< --blkio-weight
    std::vector<std::string> device_weights = {}; ///< --blkio-weight-device DEVICE:WEIGHT
    std::string file = {};                        ///< --apply-cgroups

    [[nodiscard]] bool is_empty() const {
        return *this == LimitRequest();
    }
    bool operator==(const LimitRequest&) const = default;
};

/// A value for a block device.
struct DeviceLimit {
    std::uint64_t major = 0;
    std::uint64_t minor = 0;
    std::string_view key; ///< rbps, wbps, riops, wiops; empty: the weight
    std::uint64_t value = 0;
};

/// The same as numbers, by the words of the OCI runtime specification.
struct Limits {
    std::optional<std::int64_t> memory; ///< bytes; -1: no limit
    std::optional<std::int64_t> reservation;
    std::optional<std::int64_t> swap; ///< memory and swap together; -1: no limit
    std::optional<std::int64_t> shares;
    std::optional<std::int64_t> quota; ///< microseconds per period
    std::optional<std::int64_t> period;
    std::string cpus;
    std::string mems;
    std::optional<std::int64_t> pids;
    std::optional<std::int64_t> weight; ///< 10 to 1000
    std::vector<DeviceLimit> devices;
    std::map<std::string, std::string> unified; ///< names of files to texts, as they are
};

/// A file of a cgroup, and what is written to it.
struct LimitSetting {
    std::string controller;
    std::string file;
    std::string text;
    std::string option; ///< what asked for it
    /// Written instead where the kernel has this file: BFQ's own scale of weights.
    std::string other_file = {};
    std::string other_text = {};

    bool operator==(const LimitSetting&) const = default;
};

/// The numbers of the options, or of the file. kUsage: a value that is none, or one with a file.
[[nodiscard]] Result<Limits> read_limits(const LimitRequest& request);

/// A file of --apply-cgroups: TOML with the tables cpu, memory, pids, blockIO and unified. kInput:
/// its line, where it sets what cgroup version 2 or this version does not have.
[[nodiscard]] Result<Limits> parse_limits(std::string_view text, const std::string& file);

/// What is written, in this order. kUsage: values that contradict each other.
[[nodiscard]] Result<std::vector<LimitSetting>> limit_settings(const Limits& limits);

/// The same for a request; nothing for an empty one. With a file it is the option of all.
[[nodiscard]] Result<std::vector<LimitSetting>> limit_settings(const LimitRequest& request);

} // namespace cybele::runtime
