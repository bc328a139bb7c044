// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/local/queue.hpp"
#include "submission/records/record.hpp"
#include "support/environment.hpp"
#include "support/machine.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cybele::submission {

/// Tells a cybelectl inside a job which hardware threads the machine has: it sees the job's alone.
inline constexpr const char* kMachineCpus = "CYBELE_MACHINE_CPUS";

/// What a process that was forked is to do: follow this part of a job to its end (serve.hpp).
struct SupervisorTask {
    LocalSpec spec;
    LocalPart part;
};

/// The queue as a turn under its lock sees and changes it.
struct LocalDraft {
    LocalState state;
    std::vector<LocalSpec> fresh; ///< new submissions; in `state` too
    std::vector<bool> is_changed; ///< of state.parts
    std::vector<Decision> waits;  ///< of state.parts: why those that wait do
    std::int64_t now = 0;         ///< Unix seconds
    std::int64_t last_number = 0;

    void add(const LocalSpec& spec, const std::vector<std::int64_t>& indices);
    void end(std::size_t at, const std::string& outcome, const std::string& reason);
    [[nodiscard]] const LocalSpec& spec_of(const LocalPart& part) const {
        return state.specs.at(part.number);
    }
};

/// The embedded scheduler. No process of it stays: whoever calls takes the queue's lock, looks what
/// became of the jobs that run, starts what fits (plan.hpp) and writes it all down, in a turn. The
/// supervisor of a job that ends takes a turn too, so the next one starts by itself.
class LocalScheduler {
public:
    /// `folder` is the journal's. The machine is the one that this process may use, or that of the
    /// job in which it runs (CYBELE_MACHINE_CPUS).
    LocalScheduler(std::filesystem::path folder, const Environment& environment);

    using Change = std::function<Result<void>(LocalDraft&)>;
    struct Turn {
        LocalDraft draft;
        bool was_taken = false; ///< the lock was free; else nothing was changed
        std::optional<SupervisorTask>
            task; ///< this process was forked: it has this to do and no more
    };
    /// Waits for the lock so long; a part that could not be had leaves `was_taken` false. `place`
    /// is given up between the lock and the first look at the queue.
    [[nodiscard]] Result<Turn> turn(const Change& change,
                                    int patience_milliseconds,
                                    std::optional<QueueLock> place = std::nullopt) const;

    [[nodiscard]] const Machine& machine() const {
        return machine_;
    }
    /// The hardware threads that it started from, before any quota.
    [[nodiscard]] const std::vector<int>& allowed() const {
        return allowed_;
    }
    [[nodiscard]] const std::filesystem::path& folder() const {
        return folder_;
    }

private:
    [[nodiscard]] Result<void> settle(const Queue& queue, LocalDraft& draft) const;
    [[nodiscard]] std::vector<std::size_t> plan(LocalDraft& draft) const;
    [[nodiscard]] Result<void> write(const LocalDraft& draft) const;
    [[nodiscard]] Result<void>
    start(const std::vector<std::size_t>& chosen, Turn& turn, QueueLock& lock) const;

    std::filesystem::path folder_;
    std::vector<int> allowed_;
    std::string group_; ///< of supervisors, where this process is in a job's
    Machine machine_;
};

/// Ends, in the draft, the parts whose supervisor is dead: as the script's own record says, or
/// lost; one whose script never began waits again.
void recover(LocalDraft& draft, const std::string& host);

} // namespace cybele::submission
