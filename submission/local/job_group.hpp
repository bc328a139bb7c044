// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// Tells a cybelectl inside a job in which control group its supervisors belong: the job's own goes
/// with the job.
inline constexpr const char* kMachineGroup = "CYBELE_MACHINE_GROUP";

/// The folder of this process's control group (version 2), by `root`/proc/self; unset: no such
/// hierarchy is mounted. `root` is `/`, or a folder in the shape of a machine's.
[[nodiscard]] std::optional<std::filesystem::path>
own_control_group(const std::filesystem::path& root);

/// Where a job's group may be made, the best first: beside the own group, where that place has been
/// handed to this user, since only there memory can be limited; else below it.
[[nodiscard]] std::vector<std::filesystem::path> group_places(const std::filesystem::path& own);

/// A control group of a job's own: what it starts stays in it, whatever sessions and parents that
/// finds. Where none can be made, there is none, and nothing is told.
class JobGroup {
public:
    /// Its place is written into the record (`group`) before it is made, so that end_group() finds
    /// it. `memory` bytes are all that it gets, where the place limits memory; 0: no limit.
    [[nodiscard]] static JobGroup
    make(const std::filesystem::path& record, const std::string& name, std::uint64_t memory);

    /// The folder, for CLONE_INTO_CGROUP; negative: there is none.
    [[nodiscard]] int fd() const {
        return fd_.get();
    }
    /// Processes of it that the kernel ended since memory was short.
    [[nodiscard]] std::uint64_t ended_for_memory() const;

private:
    std::filesystem::path folder_;
    UniqueFd fd_;
};

/// Ends what is left in the group that the record names, removes the group; no group is fine.
void end_group(const std::filesystem::path& record);

/// Out of the job's group in which this process was started; where it is in none, nothing.
void leave_group(const std::string& home);

} // namespace cybele::submission
