// SPDX-License-Identifier: Apache-2.0
#include "submission/submit/dependencies.hpp"

#include "submission/journal/journal.hpp"
#include "submission/submit/choose_connection.hpp"
#include "support/characters.hpp"
#include "support/quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cybele::submission {

namespace {

using launchers::After;

/// Names of jobs begin with a letter (schedulers/dialects/need_forms.cpp), ids with a digit.
bool is_job_name(const After& after) {
    return !after.job.empty() && !is_digit(after.job.front());
}

enum class Condition { kOpen, kMet, kNever };

/// What is known of the condition once the job has ended.
Condition condition_of(const Entry& entry, const std::string& when) {
    if (!is_over(entry.state) || entry.state == State::kLost) {
        return Condition::kOpen; // the scheduler knows, or tells that it does not
    }
    const bool is_good = entry.state == State::kDone && entry.shell_code() == 0;
    if (when == "ok") {
        return is_good ? Condition::kMet : Condition::kNever;
    }
    if (when == "failed") {
        return is_good ? Condition::kNever : Condition::kMet;
    }
    return Condition::kMet;
}

struct Search {
    const std::vector<Entry>& entries;
    const std::string& scheduler;
    std::string login; ///< as the journal keeps the connection

    [[nodiscard]] const Entry* last_named(const std::string& name) const {
        const auto found = std::find_if(entries.rbegin(), entries.rend(), [&](const Entry& entry) {
            return entry.name == name && entry.scheduler == scheduler && entry.login == login &&
                   !entry.id.empty();
        });
        return found == entries.rend() ? nullptr : &*found;
    }
};

Fault unknown_dependency(const JobInput& input, const std::string& field, const Search& search) {
    const std::string who =
        search.login.empty() ? input.dialect : input.dialect + " of " + printable(search.login);
    return input.job.fault_at(
        field,
        problem("dependency-unknown", "no job of this name was submitted"),
        "names are looked up among your own jobs (`cybelectl job list --all`) under " + who,
        "submit that job first, or write the id that the scheduler gave");
}

Fault never(const JobInput& input, const std::string& field, const Entry& entry) {
    return input.job.fault_at(
        field,
        problem("dependency-never-met",
                fmt::format("job {} ended as {}, so this job would wait for ever",
                            printable(entry.id),
                            state_text(entry.state))),
        fmt::format("it ended with code {}", entry.shell_code()),
        "submit it again, or change `when`");
}

} // namespace

Result<void> resolve_dependencies(JobInput& input,
                                  const Environment& environment,
                                  const Connection& connection) {
    auto& all = input.job.after;
    if (std::ranges::none_of(all, is_job_name)) {
        return {};
    }
    CYBELE_TRY(const Journal journal, Journal::open(environment));
    CYBELE_TRY(const std::vector<Entry> entries, journal.list());
    const Search search{entries, input.dialect, text_of(connection)};
    Faults faults;
    std::vector<After> kept;
    for (std::size_t index = 0; index < all.size(); ++index) {
        After& after = all[index];
        const std::string field = fmt::format("after[{}].job", index);
        const Entry* entry = is_job_name(after) ? search.last_named(after.job) : nullptr;
        if (!is_job_name(after)) {
            kept.push_back(after);
        } else if (entry == nullptr) {
            faults.add(unknown_dependency(input, field, search));
        } else if (const auto state = condition_of(*entry, after.when);
                   state == Condition::kNever) {
            faults.add(never(input, field, *entry));
        } else if (state == Condition::kOpen) {
            kept.push_back({entry->id, after.when});
        }
    }
    all = std::move(kept); // without those in error, which a further check would report again
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return {};
}

Result<void> resolve_dependencies(JobInput& input, const Environment& environment) {
    if (std::ranges::none_of(input.job.after, is_job_name)) {
        return {};
    }
    CYBELE_TRY(const Connection connection, choose_connection(input));
    return resolve_dependencies(input, environment, connection);
}

} // namespace cybele::submission
