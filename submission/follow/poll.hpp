// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/backends/backend.hpp"
#include "submission/follow/conclude.hpp"
#include "submission/journal/journal.hpp"
#include "support/environment.hpp"
#include "support/error.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cybele::submission {

/// What following and finding jobs needs: the journal, the schedulers, the clock.
class JobContext {
public:
    using Clock = std::function<std::int64_t()>; ///< Unix seconds

    JobContext(Journal journal, Environment environment, Clock clock)
        : journal_(std::move(journal)), environment_(std::move(environment)),
          clock_(std::move(clock)) {}
    /// With the journal of this user.
    [[nodiscard]] static Result<JobContext> open(const Environment& environment, Clock clock);

    [[nodiscard]] const Journal& journal() const {
        return journal_;
    }
    [[nodiscard]] std::int64_t now() const {
        return clock_();
    }
    /// One back end for each scheduler and login, kept.
    [[nodiscard]] Result<Backend*> backend(const Entry& entry);
    /// This one for jobs of that scheduler and login, from now on.
    void use(const Entry& like, std::unique_ptr<Backend> backend) {
        backends_[{like.scheduler, like.login}] = std::move(backend);
    }

    /// This program: the HTTP helper lies beside it.
    std::filesystem::path program;
    /// How long a job without any trace is waited for; kPatienceSeconds unless set.
    std::int64_t patience = kPatienceSeconds;
    /// What is done while a scheduler's command on this machine has not answered.
    Meanwhile meanwhile = std::make_shared<std::function<void()>>();

private:
    Journal journal_;
    Environment environment_;
    Clock clock_;
    std::map<std::pair<std::string, std::string>, std::unique_ptr<Backend>> backends_;
};

/// What became of a round of questions.
struct Round {
    bool has_changed = false;
    bool is_unexplained = false;  ///< a script was told to end, and only the scheduler knows why
    std::optional<Error> failure; ///< of a scheduler that did not answer
};

/// Asks how the jobs are: one question for each scheduler and login, the second witness for those
/// that ended without a word; what changed is in the journal when it returns. Entries that have
/// ended, or whose id is not known, stay as they are. `files` are read in the same round trip, for
/// the scheduler and login of the first entry.
[[nodiscard]] Result<Round> ask(JobContext& context,
                                std::vector<Entry>& entries,
                                const std::vector<Reading>& files = {},
                                std::vector<ReadBack>* read = nullptr);

/// The same by the records alone, where they can be seen from here; no scheduler is asked.
[[nodiscard]] Result<Round> look_at_records(JobContext& context, std::vector<Entry>& entries);

/// Writes down that the end of jobs is asked for, then asks (cancel_all).
[[nodiscard]] Result<std::vector<Error>> ask_to_cancel(JobContext& context,
                                                       const std::vector<Entry>& entries);

/// Asks for the end of jobs that have an id: each scheduler and login once, however many they are.
/// Gives what those said that did not take it; what becomes of the others, `ask` says.
[[nodiscard]] Result<std::vector<Error>> cancel_all(JobContext& context,
                                                    const std::vector<Entry>& entries);

/// The same for jobs that are to be held, or to be released.
[[nodiscard]] Result<std::vector<Error>>
hold_all(JobContext& context, const std::vector<Entry>& entries, bool is_held);

/// Takes up a submission that was never acknowledged: asks the scheduler for its UUID. True: it is
/// known now what became of it (submitted, or not). Nothing is ever submitted a second time by it.
[[nodiscard]] Result<bool> resolve(JobContext& context, Entry& entry);

/// How long the scheduler may take to show a job that it took, before a submission that was not
/// acknowledged is called not submitted.
constexpr std::int64_t kSearchSeconds = 60;

[[nodiscard]] JobRef ref_of(const Entry& entry);

/// Enters the native id of a job that was submitted.
void acknowledge(Entry& entry, const std::string& id, std::int64_t now);

} // namespace cybele::submission
