// SPDX-License-Identifier: Apache-2.0
#include "submission/local/queue.hpp"

#include "submission/backends/command_backend.hpp"
#include "support/own_folder.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

namespace cybele::submission {

namespace fs = std::filesystem;

namespace {

constexpr int kQueueVersion = 1;
constexpr DatabaseUse kQueueUse{
    "the local scheduler's queue",
    "free disk space (df), then try again",
    "name a folder that you can write: CYBELE_STATE_DIR=DIR",
    "keep another queue: CYBELE_STATE_DIR=DIR",
    15'000,
    true,
};

constexpr const char* kTables =
    "CREATE TABLE jobs(number INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, host TEXT NOT NULL, "
    "name TEXT NOT NULL, record TEXT NOT NULL, workdir TEXT NOT NULL, stdout TEXT NOT NULL, "
    "stderr TEXT NOT NULL, after TEXT NOT NULL, most INTEGER NOT NULL, cpus INTEGER NOT NULL, "
    "memory INTEGER NOT NULL, gpus INTEGER NOT NULL, seconds INTEGER NOT NULL, "
    "exclusive INTEGER NOT NULL, oversubscribed INTEGER NOT NULL, "
    "script TEXT NOT NULL DEFAULT '');"
    "CREATE TABLE parts(number INTEGER NOT NULL, part INTEGER NOT NULL, phase INTEGER NOT NULL, "
    "attempt INTEGER NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL, "
    "supervisor TEXT NOT NULL, cpus TEXT NOT NULL, gpus TEXT NOT NULL, outcome TEXT NOT NULL, "
    "reason TEXT NOT NULL, PRIMARY KEY(number, part)) WITHOUT ROWID;"
    // What has ended is never looked through, however much of it there is.
    "CREATE INDEX active ON parts(number, part) WHERE phase < 2;";

constexpr std::string_view kJobColumns =
    "number, uuid, host, name, record, workdir, stdout, stderr, after, most, cpus, memory, gpus, "
    "seconds, exclusive, oversubscribed, script";
constexpr std::string_view kPartColumns =
    "number, part, phase, attempt, started, ended, supervisor, cpus, gpus, outcome, reason";
constexpr int kPartCount = 11; ///< of those columns

void read_spec(const Statement& row, LocalSpec& spec, int at = 0) {
    spec.number = row.number(at++);
    for (std::string* text : {&spec.uuid,
                              &spec.host,
                              &spec.name,
                              &spec.record,
                              &spec.workdir,
                              &spec.output,
                              &spec.errors,
                              &spec.after}) {
        *text = row.view(at++);
    }
    spec.most = row.number(at++);
    spec.demand.cpus = static_cast<std::uint64_t>(row.number(at++));
    spec.demand.memory = static_cast<std::uint64_t>(row.number(at++));
    spec.demand.gpus = static_cast<std::uint64_t>(row.number(at++));
    spec.demand.seconds = row.number(at++);
    spec.demand.is_exclusive = row.number(at++) != 0;
    spec.demand.is_oversubscribed = row.number(at++) != 0;
    spec.script = row.view(at++);
}

Result<void> put_spec(Statement& into, const LocalSpec& spec) {
    into.bind(spec.number);
    for (const std::string* text : {&spec.uuid,
                                    &spec.host,
                                    &spec.name,
                                    &spec.record,
                                    &spec.workdir,
                                    &spec.output,
                                    &spec.errors,
                                    &spec.after}) {
        into.bind(*text);
    }
    into.bind(spec.most);
    into.bind(static_cast<std::int64_t>(spec.demand.cpus));
    into.bind(static_cast<std::int64_t>(spec.demand.memory));
    into.bind(static_cast<std::int64_t>(spec.demand.gpus));
    into.bind(spec.demand.seconds);
    into.bind(std::int64_t{spec.demand.is_exclusive ? 1 : 0});
    into.bind(std::int64_t{spec.demand.is_oversubscribed ? 1 : 0});
    into.bind(spec.script);
    return into.run();
}

void read_part(const Statement& row, LocalPart& part) {
    int at = 0;
    part.number = row.number(at++);
    part.index = row.number(at++);
    part.phase = static_cast<LocalPart::Phase>(row.number(at++));
    part.attempt = row.number(at++);
    part.started = row.number(at++);
    part.ended = row.number(at++);
    for (std::string* text :
         {&part.supervisor, &part.cpus, &part.gpus, &part.outcome, &part.reason}) {
        *text = row.view(at++);
    }
}

Result<void> put_part(Statement& into, const LocalPart& part) {
    into.bind(part.number).bind(part.index).bind(static_cast<std::int64_t>(part.phase));
    into.bind(part.attempt).bind(part.started).bind(part.ended);
    for (const std::string* text :
         {&part.supervisor, &part.cpus, &part.gpus, &part.outcome, &part.reason}) {
        into.bind(*text);
    }
    return into.run();
}

/// `number, part` of `parts`: `parts.number, parts.part`.
std::string of_table(std::string_view table, std::string_view columns) {
    std::string text;
    for (const std::string_view column : text::split(columns, ',')) {
        text.append(text.empty() ? "" : ", ")
            .append(table)
            .append(".")
            .append(text::trimmed(column));
    }
    return text;
}

std::string places(std::string_view columns) {
    std::string text = "?";
    for (const char letter : columns) {
        text += letter == ',' ? ", ?" : "";
    }
    return text;
}

} // namespace

std::string LocalPart::id() const {
    return std::to_string(number) + (index < 0 ? "" : "_" + std::to_string(index));
}

fs::path LocalPart::record(const LocalSpec& spec) const {
    return index < 0 ? fs::path(spec.record) : fs::path(spec.record) / std::to_string(index);
}

bool Queue::exists(const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / "local.sqlite", error);
}

Result<Queue> Queue::open(const fs::path& folder) {
    CYBELE_CHECK(make_own_folder({folder, "the local queue", "CYBELE_STATE_DIR"}));
    CYBELE_TRY(Database database,
               Database::open(folder / "local.sqlite", Database::Mode::kWrite, kQueueUse));
    Queue queue(std::move(database));
    CYBELE_CHECK(queue.prepare());
    return queue;
}

Result<void> Queue::prepare() const {
    CYBELE_TRY(const std::int64_t version, database_.version());
    if (version == kQueueVersion) {
        if (!database_.prepare("SELECT script FROM jobs LIMIT 0")) { // an older cybelectl's
            CYBELE_TRY(Transaction transaction, Transaction::begin(database_));
            (void)database_.run("ALTER TABLE jobs ADD COLUMN script TEXT NOT NULL DEFAULT ''");
            CYBELE_CHECK(transaction.commit());
        }
        return database_.commit_in_place();
    }
    if (version != 0) {
        return fail(ErrorCode::kEnvironment,
                    problem("local-queue-version",
                            "the local scheduler's queue is of version " + std::to_string(version) +
                                ", this cybelectl reads version " + std::to_string(kQueueVersion)),
                    "local.sqlite was written by another cybelectl",
                    "call that one, or keep another queue: CYBELE_STATE_DIR=DIR");
    }
    CYBELE_CHECK(database_.commit_in_place());
    CYBELE_TRY(Transaction transaction, Transaction::begin(database_));
    CYBELE_TRY(const std::int64_t again, database_.version());
    if (again != 0) {
        return transaction.commit(); // made by another process meanwhile
    }
    CYBELE_CHECK(database_.run(kTables));
    CYBELE_CHECK(database_.run(("PRAGMA user_version=" + std::to_string(kQueueVersion)).c_str()));
    return transaction.commit();
}

Result<LocalState> Queue::active() const {
    LocalState state;
    CYBELE_TRY(const std::int64_t count,
               database_.number("SELECT count(*) FROM parts WHERE phase < 2"));
    state.parts.reserve(static_cast<std::size_t>(count));
    // In one sweep: with thousands that wait, none is looked for one by one.
    CYBELE_TRY(Statement rows,
               database_.prepare("SELECT " + of_table("parts", kPartColumns) + ", " +
                                 of_table("jobs", kJobColumns) +
                                 " FROM parts JOIN jobs ON jobs.number = parts.number "
                                 "WHERE parts.phase < 2 ORDER BY parts.number, parts.part"));
    for (;;) {
        CYBELE_TRY(const bool has_row, rows.step());
        if (!has_row) {
            return state;
        }
        const bool is_first = state.parts.empty() || state.parts.back().number != rows.number(0);
        read_part(rows, state.parts.emplace_back());
        if (is_first) {
            read_spec(rows, state.specs[state.parts.back().number], kPartCount);
        }
    }
}

Result<std::vector<LocalPart>> Queue::parts_of(std::int64_t number) const {
    CYBELE_TRY(Statement statement,
               database_.prepare("SELECT " + std::string(kPartColumns) +
                                 " FROM parts WHERE number = ? ORDER BY part"));
    statement.bind(number);
    std::vector<LocalPart> parts;
    for (;;) {
        CYBELE_TRY(const bool has_row, statement.step());
        if (!has_row) {
            return parts;
        }
        read_part(statement, parts.emplace_back());
    }
}

Result<std::optional<LocalSpec>> Queue::find(const std::string& uuid) const {
    CYBELE_TRY(
        Statement statement,
        database_.prepare("SELECT " + std::string(kJobColumns) + " FROM jobs WHERE uuid = ?"));
    statement.bind(uuid);
    CYBELE_TRY(const bool has_row, statement.step());
    if (!has_row) {
        return std::nullopt;
    }
    LocalSpec spec;
    read_spec(statement, spec);
    return spec;
}

Result<std::int64_t> Queue::last_number() const {
    return database_.number("SELECT max(number) FROM jobs");
}

Result<void> Queue::put(const std::vector<LocalSpec>& specs,
                        const std::vector<LocalPart>& parts) const {
    CYBELE_TRY(Transaction transaction, Transaction::begin(database_));
    if (!specs.empty()) {
        CYBELE_TRY(Statement jobs,
                   database_.prepare("INSERT INTO jobs(" + std::string(kJobColumns) + ") VALUES(" +
                                     places(kJobColumns) + ")"));
        for (const LocalSpec& spec : specs) {
            CYBELE_CHECK(put_spec(jobs, spec));
        }
    }
    CYBELE_TRY(Statement rows,
               database_.prepare("INSERT OR REPLACE INTO parts(" + std::string(kPartColumns) +
                                 ") VALUES(" + places(kPartColumns) + ")"));
    for (const LocalPart& part : parts) {
        CYBELE_CHECK(put_part(rows, part));
    }
    return transaction.commit();
}

Result<std::optional<QueueLock>> QueueLock::take(const fs::path& folder,
                                                 int patience_milliseconds) {
    return take_file(folder / "local.lock", patience_milliseconds);
}

std::optional<QueueLock> QueueLock::stand_next(const fs::path& folder) {
    auto taken = take_file(folder / "local.next", 0);
    return taken ? std::move(*taken) : std::nullopt;
}

Result<std::optional<QueueLock>> QueueLock::take_file(const fs::path& path,
                                                      int patience_milliseconds) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return fail(system_error("cannot lock " + printable(path.native()), errno));
    }
    QueueLock lock(fd);
    constexpr int kPause = 5;
    for (int waited = 0;; waited += kPause) {
        if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return std::optional(std::move(lock));
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return fail(system_error("cannot lock " + printable(path.native()), errno));
        }
        if (waited >= patience_milliseconds) {
            lock.abandon();
            return std::optional<QueueLock>();
        }
        ::poll(nullptr, 0, kPause);
    }
}

QueueLock::~QueueLock() {
    if (fd_ >= 0) {
        ::flock(fd_, LOCK_UN); // also where a process that was forked still has it open
        abandon();
    }
}

void QueueLock::abandon() {
    if (fd_ >= 0) {
        ::close(fd_);
        fd_ = -1;
    }
}

} // namespace cybele::submission
