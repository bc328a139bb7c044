// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// What proc(5) shows of control groups. A file that cannot be read shows nothing.
namespace cybele {

/// Where version 2 is mounted.
struct ControlGroupMount {
    std::filesystem::path point;
    std::string top; ///< which group that folder is: "/", or another one in a container
};

/// By `process`/mountinfo; `process` is `/proc/self`.
[[nodiscard]] std::optional<ControlGroupMount>
control_group_mount(const std::filesystem::path& process);

/// The group that a process is in, "/user.slice/…", by `process`/cgroup. `controller`: of version
/// 1; empty: the group of version 2.
[[nodiscard]] std::optional<std::string> control_group(const std::filesystem::path& process,
                                                       std::string_view controller = {});

} // namespace cybele
