// SPDX-License-Identifier: Apache-2.0
#include "submission/journal/journal.hpp"

#include "submission/journal/rows.hpp"
#include "support/file.hpp"
#include "support/own_folder.hpp"
#include "support/own_path.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {
constexpr int kJournalVersion = 1;
constexpr DatabaseUse kJournalUse{
    "the journal of jobs",
    "free disk space (df), then `cybelectl job attach`",
    "name a folder that you can write: CYBELE_STATE_DIR=DIR",
    "keep another journal: CYBELE_STATE_DIR=DIR",
    15'000,
    true,
};
/// Jobs that live, in the order of a list: those that have ended are not looked through.
constexpr const char* kLiving = "CREATE INDEX IF NOT EXISTS living ON jobs(asked) WHERE ended = 0";
constexpr std::size_t kShortest = 8; ///< characters of a UUID that stand for it
} // namespace

int Entry::shell_code() const {
    constexpr int kTimeLimit = 124;
    constexpr int kLost = 125;
    constexpr int kSignals = 128;
    constexpr int kTermination = 15;
    if (state == State::kTimeout) {
        return kTimeLimit;
    }
    if (signal > 0) {
        return kSignals + static_cast<int>(signal);
    }
    if (code >= 0 && state != State::kLost) {
        return static_cast<int>(code);
    }
    return state == State::kCancelled ? kSignals + kTermination : kLost;
}

fs::path Journal::folder(const Environment& environment) {
    if (const auto own = environment.get("CYBELE_STATE_DIR")) {
        return *own;
    }
    if (const auto state = environment.get_absolute("XDG_STATE_HOME")) {
        return *state / "cybelectl";
    }
    return environment.home() / ".local" / "state" / "cybelectl";
}

Result<Journal> Journal::open(const Environment& environment) {
    const fs::path where = folder(environment);
    CYBELE_CHECK(make_own_folder({where, "the journal of jobs", "CYBELE_STATE_DIR"}));
    fs::path path = where / "jobs.sqlite";
    const fs::path mark = where / "jobs.made";
    std::error_code error;
    const bool is_there = fs::exists(path, error);
    const bool was_made = fs::exists(mark, error);
    if (is_there) {
        CYBELE_CHECK(open_own(path, {.group_above = true}));
    }
    CYBELE_TRY(Database database, Database::open(path, Database::Mode::kWrite, kJournalUse));
    Journal journal(std::move(database), std::move(path));
    CYBELE_CHECK(journal.prepare(is_there && was_made));
    if (!was_made) {
        (void)write_file(mark, "", 0600);
    }
    return journal;
}

Result<Journal> Journal::in_memory() {
    CYBELE_TRY(Database database, Database::open("memory", Database::Mode::kMemory, kJournalUse));
    Journal journal(std::move(database), "memory");
    CYBELE_CHECK(journal.prepare(false));
    return journal;
}

Result<void> Journal::check_empty(bool held_jobs) const {
    CYBELE_TRY(Statement tables, database_.prepare("SELECT count(*) FROM sqlite_master"));
    CYBELE_TRY(const bool has_row, tables.step());
    const bool is_foreign = has_row && tables.number(0) != 0;
    if (!is_foreign && !held_jobs) {
        return {};
    }
    struct stat status {};
    (void)::stat(path_.c_str(), &status);
    constexpr unsigned kPermissions = 07777;
    return fail(
        ErrorCode::kEnvironment,
        problem("journal-foreign",
                printable(path_.native()) +
                    (is_foreign ? " is not a journal of jobs" : " is empty")),
        fmt::format("{} (owner {}, mode {:04o}); with a new one, the jobs that run would be "
                    "forgotten, and submitted a second time",
                    is_foreign ? "it holds other tables" : "it held the journal of jobs",
                    status.st_uid,
                    status.st_mode & kPermissions),
        "restore it from a copy; or move it away, and reattach to the running jobs: cybelectl job "
        "attach .cybelectl/UUID");
}

Result<void> Journal::prepare(bool held_jobs) const {
    CYBELE_TRY(const std::int64_t version, database_.version());
    if (version == kJournalVersion) {
        // A journal of an older cybelectl lacks it; one that cannot be changed does without.
        (void)database_.run(kLiving);
        CYBELE_CHECK(Rows(database_).add_columns());
        return database_.commit_in_place();
    }
    if (version != 0) {
        return fail(ErrorCode::kEnvironment,
                    problem("journal-version",
                            "the journal of jobs is of version " + std::to_string(version) +
                                ", this cybelectl reads version " +
                                std::to_string(kJournalVersion)),
                    printable(path_.native()) + " was written by another cybelectl",
                    "call that one, or keep another journal: CYBELE_STATE_DIR=DIR");
    }
    CYBELE_CHECK(database_.commit_in_place());
    CYBELE_TRY(Transaction transaction, Transaction::begin(database_));
    CYBELE_TRY(const std::int64_t meanwhile, database_.version());
    if (meanwhile == kJournalVersion) { // another client was quicker
        return transaction.commit();
    }
    CYBELE_CHECK(check_empty(held_jobs));
    CYBELE_CHECK(database_.run(Rows::table().c_str()));
    CYBELE_CHECK(database_.run("CREATE INDEX IF NOT EXISTS by_id ON jobs(id)"));
    CYBELE_CHECK(database_.run("CREATE INDEX IF NOT EXISTS by_state ON jobs(state)"));
    CYBELE_CHECK(database_.run(kLiving));
    CYBELE_CHECK(database_.run(("PRAGMA user_version=" + std::to_string(kJournalVersion)).c_str()));
    return transaction.commit();
}

Result<void> Journal::put(const Entry& entry) const {
    return Rows(database_).put({&entry});
}

Result<void> Journal::put(const std::vector<const Entry*>& entries) const {
    CYBELE_TRY(Transaction transaction, Transaction::begin(database_));
    CYBELE_CHECK(Rows(database_).put(entries));
    return transaction.commit();
}

Result<void> Journal::put(const std::vector<Entry>& entries) const {
    std::vector<const Entry*> places;
    places.reserve(entries.size());
    for (const Entry& entry : entries) {
        places.push_back(&entry);
    }
    return put(places);
}

Result<void> Journal::change(const std::string& uuid,
                             const std::function<void(Entry&)>& apply) const {
    CYBELE_TRY(Transaction transaction, Transaction::begin(database_));
    CYBELE_TRY(std::vector<Entry> found, Rows(database_).select("WHERE uuid = ?1", {uuid}));
    for (Entry& entry : found) {
        apply(entry);
        CYBELE_CHECK(Rows(database_).put({&entry}));
    }
    return transaction.commit();
}

namespace {

/// Of jobs with one name: the only one, or of one scheduler's, whose numbers come again, the one
/// that lives, else the newest. Of several schedulers none: the wrong one could be meant.
const Entry* meant_of(const std::vector<Entry>& found) {
    if (found.empty()) {
        return nullptr;
    }
    const bool is_one_scheduler = std::ranges::all_of(found, [&found](const Entry& entry) {
        return entry.scheduler == found.front().scheduler && entry.login == found.front().login &&
               entry.id == found.front().id;
    });
    if (found.size() == 1 || !is_one_scheduler) {
        return found.size() == 1 ? &found.front() : nullptr;
    }
    const auto is_living = [](const Entry& entry) { return entry.ended == 0; };
    const auto living = std::ranges::count_if(found, is_living);
    if (living > 1) {
        return nullptr;
    }
    return living == 1 ? &*std::ranges::find_if(found, is_living) : &found.back();
}

/// `slurm:12` is the job 12 of Slurm.
struct WantedJob {
    std::string scheduler; ///< empty: any
    std::string name;
};
WantedJob wanted_job(const std::string& text) {
    const std::size_t colon = text.find(':');
    return colon == std::string::npos ? WantedJob{{}, text}
                                      : WantedJob{text.substr(0, colon), text.substr(colon + 1)};
}

} // namespace

Result<std::vector<Entry>> Journal::matches(const std::string& text) const {
    const Rows rows(database_);
    const auto [scheduler, name] = wanted_job(text);
    const bool is_prefix = name.size() >= kShortest &&
                           name.find_first_not_of("0123456789abcdef-") == std::string::npos;
    CYBELE_TRY(std::vector<Entry> found,
               rows.select("WHERE id = ?1 OR (?2 = '1' AND substr(uuid, 1, length(?1)) = ?1) OR "
                           "(instr(id, '.') > 0 AND substr(id, 1, instr(id, '.') - 1) = ?1) "
                           "ORDER BY asked, rowid",
                           {name, is_prefix ? "1" : "0"}));
    if (!scheduler.empty()) {
        std::erase_if(found,
                      [&wanted = scheduler](const Entry& one) { return one.scheduler != wanted; });
    }
    if (const Entry* const meant = meant_of(found)) {
        return std::vector<Entry>{*meant};
    }
    return found;
}

Result<Entry> Journal::find(const std::string& text) const {
    return find_one(text).map_error(during("looking for the job in the journal"));
}

Result<Entry> Journal::find_one(const std::string& text) const {
    CYBELE_TRY(const std::vector<Entry> found, matches(text));
    if (found.size() == 1) {
        return found.front();
    }
    constexpr std::string_view kRow = "-row";
    if (const auto row = text.rfind(kRow);
        found.empty() && row != std::string::npos && text::number(text.substr(row + kRow.size()))) {
        return fail(ErrorCode::kInput,
                    problem("job-is-row", "'" + printable(text) + "' is not a job"),
                    "ID-rowN is a row of a packed sweep, which `job status` and `job logs` accept",
                    "name its job: " + printable(text.substr(0, row)));
    }
    if (found.empty()) {
        CYBELE_TRY(const std::vector<Entry> named,
                   Rows(database_).select("WHERE name = ?1 ORDER BY asked, rowid",
                                          {wanted_job(text).name}));
        return fail(ErrorCode::kInput,
                    problem("job-unknown", "there is no job '" + printable(text) + "'"),
                    "the journal " + printable(path_.native()) + " knows none by that id or UUID",
                    !named.empty() && !named.back().id.empty()
                        ? "job " + named.back().id + " was called so last: name its id"
                        : "`cybelectl job list --all` shows them; reattach to a record with "
                          "`cybelectl job attach .cybelectl/UUID`");
    }
    const bool is_of_several_schedulers = std::ranges::any_of(
        found, [&found](const Entry& entry) { return entry.scheduler != found.front().scheduler; });
    std::string jobs;
    for (const Entry& entry : found) {
        jobs += (jobs.empty() ? "" : ", ") + entry.uuid + " (" + entry.scheduler +
                (entry.login.empty() ? "" : " of " + printable(entry.login)) + ")";
    }
    return fail(
        ErrorCode::kInput,
        problem("job-ambiguous",
                "'" + printable(text) + "' names " + std::to_string(found.size()) + " jobs"),
        "they are " + jobs,
        is_of_several_schedulers ? "name one by its UUID, or as `" + found.front().scheduler + ":" +
                                       printable(found.front().id) + "`"
                                 : "name one by its UUID, of which the first eight characters "
                                   "are enough");
}

Result<std::vector<Entry>> Journal::list(bool is_with_ended) const {
    const Rows rows(database_);
    if (!is_with_ended) {
        return rows.select("WHERE ended = 0 ORDER BY asked, rowid", {});
    }
    // Nearly sorted as it is stored; SQLite would sort complete rows, in a file.
    CYBELE_TRY(std::vector<Entry> all, rows.select("ORDER BY rowid", {}));
    std::ranges::stable_sort(all, {}, &Entry::asked);
    return all;
}

Result<std::vector<Entry>> Journal::unacknowledged(const Entry& like, std::int64_t since) const {
    return Rows(database_).select(
        "WHERE (state = 'submitting' OR client = ?5 AND id <> '' AND (ended = 0 OR asked >= "
        "CAST(?6 AS INTEGER))) AND script = ?1 AND folder = ?2 AND scheduler = ?3 AND login = ?4 "
        "ORDER BY asked",
        {like.script, like.folder, like.scheduler, like.login, kFound, std::to_string(since)});
}

} // namespace cybele::submission
