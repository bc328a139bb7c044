// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/containers/limits.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

/// A cgroup (version 2) of a container, with its limits.
namespace cybele::runtime {

/// Where a process may make one.
struct LimitPlace {
    std::filesystem::path top; ///< where the hierarchy is mounted; empty: nowhere
    std::string own;           ///< the cgroup of this process below it: "/user.slice/..."
    bool is_root = false;
};
[[nodiscard]] LimitPlace find_limit_place();

/// A cgroup of its own, which is removed by the destructor when no process is left in it.
class LimitGroup {
public:
    /// Made with these settings: as root below `cybelectl` at the top, unless the own cgroup is
    /// delegated; as a user below the own one, whose processes go to a leaf of it first (in a
    /// cgroup with controllers there are no processes). kEnvironment: the first option that cannot
    /// be had, and why.
    [[nodiscard]] static Result<LimitGroup>
    make(const LimitPlace& place, const std::vector<LimitSetting>& settings, pid_t name);
    LimitGroup(LimitGroup&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    LimitGroup& operator=(LimitGroup&&) = delete;
    LimitGroup(const LimitGroup&) = delete;
    LimitGroup& operator=(const LimitGroup&) = delete;
    ~LimitGroup();

    [[nodiscard]] const std::filesystem::path& path() const {
        return path_;
    }
    /// Puts the calling process into it.
    [[nodiscard]] Result<void> join() const;

private:
    LimitGroup() = default;
    std::filesystem::path path_;
};

/// Puts the calling process into the cgroup with limits that another process is in; does nothing
/// where that is in none. kEnvironment: this user may not.
[[nodiscard]] Result<void> join_limits_of(pid_t other, const LimitPlace& place);

/// What the processes of a cgroup with limits use.
struct LimitUsage {
    std::uint64_t cpu = 0;          ///< microseconds so far
    std::uint64_t memory = 0;       ///< bytes
    std::uint64_t memory_limit = 0; ///< bytes; without a limit the memory of the host
    std::uint64_t read = 0;         ///< bytes of block devices
    std::uint64_t written = 0;
    std::uint64_t processes = 0;
};
/// Of the one that a process is in; nothing where that is in none.
[[nodiscard]] std::optional<LimitUsage> limit_usage(pid_t process, const LimitPlace& place);

/// Runs `body` in a child with these limits, waits, passing on signals, and gives what `body` gave,
/// or the program's exit code.
[[nodiscard]] Result<int> run_limited(const std::vector<LimitSetting>& settings,
                                      const std::function<Result<int>()>& body);

} // namespace cybele::runtime
