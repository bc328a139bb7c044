// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/local/plan.hpp"
#include "support/database.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cybele::submission {

/// A submission to the local scheduler.
struct LocalSpec {
    std::int64_t number = 0; ///< the native id; they are given out upwards and never again
    std::string uuid;
    std::string host; ///< the machine that runs it: homes are shared
    std::string name;
    std::string record;
    std::string workdir;
    std::string output; ///< absolute; `%a` is still there
    std::string errors;
    std::int64_t most = 0; ///< elements at once; 0: no limit
    Demand demand;
    std::string after;  ///< `ok:12 any:13_2`; empty: nothing
    std::string script; ///< sha256:…; empty: an older cybelectl submitted it
};

/// Why a part waits that its user holds; it starts when he releases it.
inline constexpr const char* kHeldByUser = "JobHeldUser";

/// The job itself, or one element of its array.
struct LocalPart {
    enum class Phase { kWaiting, kRunning, kEnded };
    std::int64_t number = 0;
    std::int64_t index = -1; ///< -1: no array
    Phase phase = Phase::kWaiting;
    std::int64_t attempt = 1; ///< starts that were tried; one that failed before the script counts
    std::string supervisor;   ///< pid, start and boot
    std::string cpus;         ///< `0-3`
    std::string gpus;
    std::int64_t started = 0; ///< Unix seconds
    std::int64_t ended = 0;
    std::string outcome; ///< done, failed, timeout, cancelled, lost
    std::string reason;  ///< of its end; of one that waits: kHeldByUser, or empty

    /// `12`, or `12_3`.
    [[nodiscard]] std::string id() const;
    [[nodiscard]] std::filesystem::path record(const LocalSpec& spec) const;
};

/// Everything that waits or runs, on any host, by number and index.
struct LocalState {
    std::unordered_map<std::int64_t, LocalSpec> specs; ///< by number
    std::vector<LocalPart> parts;
};

/// The local scheduler's memory: one SQLite file beside the journal, of the same kind. Who
/// changes it holds its lock (QueueLock), and opens it for moments only: a process that was forked
/// with an open database must not touch it.
class Queue {
public:
    /// Made where it is missing. Another version is kEnvironment.
    [[nodiscard]] static Result<Queue> open(const std::filesystem::path& folder);
    [[nodiscard]] static bool exists(const std::filesystem::path& folder);

    [[nodiscard]] Result<LocalState> active() const;
    /// The parts of a job, ended ones too; none: there is no such job.
    [[nodiscard]] Result<std::vector<LocalPart>> parts_of(std::int64_t number) const;
    [[nodiscard]] Result<std::optional<LocalSpec>> find(const std::string& uuid) const;
    [[nodiscard]] Result<std::int64_t> last_number() const;
    /// In one transaction; durable when it returns.
    [[nodiscard]] Result<void> put(const std::vector<LocalSpec>& specs,
                                   const std::vector<LocalPart>& parts) const;

private:
    explicit Queue(Database database) : database_(std::move(database)) {}
    [[nodiscard]] Result<void> prepare() const;
    Database database_;
};

/// One process at a time changes the queue. A lock of the kernel, so it goes with its process.
class QueueLock {
public:
    /// Waits as long as that, 0: not at all; unset: somebody else has it.
    [[nodiscard]] static Result<std::optional<QueueLock>> take(const std::filesystem::path& folder,
                                                               int patience_milliseconds);
    /// The place of the one who waits for the lock for the sake of a job that ended; unset: it is
    /// taken, by somebody who has not looked at the queue yet.
    [[nodiscard]] static std::optional<QueueLock> stand_next(const std::filesystem::path& folder);
    QueueLock(QueueLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    QueueLock& operator=(QueueLock&&) = delete;
    QueueLock(const QueueLock&) = delete;
    QueueLock& operator=(const QueueLock&) = delete;
    ~QueueLock();

    /// In a process that was forked: closes it without giving it back.
    void abandon();

private:
    explicit QueueLock(int fd) : fd_(fd) {}
    [[nodiscard]] static Result<std::optional<QueueLock>>
    take_file(const std::filesystem::path& path, int patience_milliseconds);
    int fd_ = -1;
};

} // namespace cybele::submission
