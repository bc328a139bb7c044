// SPDX-License-Identifier: Apache-2.0
#include "support/database.hpp"

#include "support/file.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

namespace cybele {

namespace {

constexpr std::chrono::milliseconds kBusyPause(5);
constexpr int kPrimaryCode = 0xff; ///< of an extended result code
constexpr std::string_view kWhenBusy =
    "try again; on a network file system, look whether it can lock files";
constexpr std::string_view kWhenBroken = "check the disk, its free space and your quota";

struct DatabaseFault {
    int code;
    std::string_view because;
    std::string_view id;
    std::string_view help; ///< empty: the user's own
    std::string_view DatabaseUse::*own = nullptr;
};
constexpr DatabaseFault kDatabaseFaults[] = {
    {SQLITE_BUSY, "other processes keep it locked", "database-locked", kWhenBusy},
    {SQLITE_FULL, "no space is left on the device", "no-space", {}, &DatabaseUse::when_full},
    {SQLITE_READONLY, "it cannot be written", "database-read-only", {}, &DatabaseUse::when_denied},
    {SQLITE_CANTOPEN, "it cannot be opened", "database-not-opened", {}, &DatabaseUse::when_denied},
    {SQLITE_IOERR, "the file system gives an error", "input-output-error", kWhenBroken},
};

tl::unexpected<Error> database_failed(const std::filesystem::path& path,
                                      const DatabaseUse& use,
                                      int code,
                                      sqlite3* handle) {
    const auto* const kind =
        std::ranges::find(kDatabaseFaults, (code & kPrimaryCode), &DatabaseFault::code);
    const std::string what = "cannot use " + std::string(use.name) + " " + printable(path.native());
    if (kind != std::end(kDatabaseFaults)) {
        return fail(ErrorCode::kEnvironment,
                    problem(kind->id, what),
                    std::string(kind->because),
                    std::string(kind->own == nullptr ? kind->help : use.*(kind->own)));
    }
    return fail(ErrorCode::kEnvironment,
                problem("database-failed", what),
                handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code),
                std::string(use.otherwise));
}

/// Where SQLite's journal is removed, that commits a transaction. Without a sync of its folder the
/// journal may be back after a power failure, and then the transaction is undone that was reported
/// as complete. `synchronous=EXTRA` would do the same, but fails where folders cannot be synced, as
/// on some network file systems.
int remove_durably(sqlite3_vfs* /*files*/, const char* path, int /*is_synced*/) {
    sqlite3_vfs* const own = sqlite3_vfs_find(nullptr);
    const int code = own->xDelete(own, path, 0);
    if (code == SQLITE_OK) {
        const std::filesystem::path folder = std::filesystem::path(path).parent_path();
        const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (fd.valid()) {
            (void)::fsync(fd.get());
        }
    }
    return code;
}

/// SQLite's files with remove_durably(); null, SQLite's own, where SQLite cannot start.
const char* durable_files() {
    static sqlite3_vfs files = [] {
        sqlite3_vfs* const own = sqlite3_vfs_find(nullptr);
        sqlite3_vfs made = own != nullptr ? *own : sqlite3_vfs();
        made.pNext = nullptr;
        made.zName = own != nullptr ? "cybelectl" : nullptr;
        made.xDelete = remove_durably;
        return made;
    }();
    static const bool is_known =
        files.zName != nullptr && sqlite3_vfs_register(&files, 0) == SQLITE_OK;
    return is_known ? files.zName : nullptr;
}

int flags_of(Database::Mode mode) {
    switch (mode) {
    case Database::Mode::kWrite:
        return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    case Database::Mode::kRead:
        return SQLITE_OPEN_READONLY;
    case Database::Mode::kChange:
    case Database::Mode::kMemory:
        break;
    }
    return SQLITE_OPEN_READWRITE;
}

} // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

Statement& Statement::bind(std::string_view text) {
    // SQLITE_TRANSIENT is a cast that the linter refuses; the caller's text may be gone by step().
    const sqlite3_uint64 size = text.size();
    char* const copy = static_cast<char*>(sqlite3_malloc64(size + 1));
    if (copy != nullptr) {
        std::copy(text.begin(), text.end(), copy);
        sqlite3_bind_text64(statement_.get(), ++bound_, copy, size, &sqlite3_free, SQLITE_UTF8);
    }
    return *this;
}

Statement& Statement::bind(std::int64_t number) {
    sqlite3_bind_int64(statement_.get(), ++bound_, number);
    return *this;
}

Result<bool> Statement::step() {
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code == SQLITE_DONE) {
        sqlite3_reset(statement_.get());
        bound_ = 0;
        return false;
    }
    return database_failed(path_, *use_, code, sqlite3_db_handle(statement_.get()));
}

Result<void> Statement::run() {
    for (;;) {
        CYBELE_TRY(const bool has_row, step());
        if (!has_row) {
            return {};
        }
    }
}

std::string_view Statement::view(int column) const {
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
    if (size == 0) {
        return {};
    }
    const unsigned char* const bytes = sqlite3_column_text(statement_.get(), column);
    return {reinterpret_cast<const char*>(bytes), size}; // NOLINT
}

std::string Statement::text(int column) const {
    return std::string(view(column));
}

std::int64_t Statement::number(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

void Database::Close::operator()(sqlite3* database) const {
    sqlite3_close(database);
}

Result<Database>
Database::open(const std::filesystem::path& path, Mode mode, const DatabaseUse& use) {
    Database database;
    database.path_ = path;
    database.use_ = &use;
    sqlite3* opened = nullptr;
    const char* const name = mode == Mode::kMemory ? ":memory:" : path.c_str();
    const int locks = use.is_of_one_thread ? SQLITE_OPEN_NOMUTEX : 0;
    const int code = sqlite3_open_v2(name, &opened, flags_of(mode) | locks, durable_files());
    database.handle_.reset(opened);
    if (code != SQLITE_OK) {
        return database_failed(path, use, code, opened);
    }
    database.wait_ = std::make_unique<Wait>(Wait{std::chrono::milliseconds(use.patience), {}});
    sqlite3_busy_handler(opened, wait_for_others, database.wait_.get());
    return database;
}

/// SQLite's own handler pauses the longer, the longer it has waited: who comes later asks more
/// often and overtakes, so that among 200 clients some waited for longer than their patience. Here
/// all ask equally often.
int Database::wait_for_others(void* wait, int calls) {
    auto& own = *static_cast<Wait*>(wait);
    const auto now = std::chrono::steady_clock::now();
    if (calls == 0) {
        own.since = now;
    }
    if (now - own.since >= own.patience) {
        return 0;
    }
    std::this_thread::sleep_for(std::min(kBusyPause, own.patience));
    return 1;
}

Result<Statement> Database::prepare(std::string_view sql) const {
    Statement statement;
    sqlite3_stmt* made = nullptr;
    const int code =
        sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &made, nullptr);
    if (code != SQLITE_OK) {
        return database_failed(path_, *use_, code, handle_.get());
    }
    statement.statement_.reset(made);
    statement.path_ = path_;
    statement.use_ = use_;
    return statement;
}

Result<void> Database::run(const char* sql) const {
    const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
        return database_failed(path_, *use_, code, handle_.get());
    }
    return {};
}

Result<void> Database::commit_in_place() const {
    // The limit is for what a transaction of thousands of jobs leaves.
    return run("PRAGMA journal_mode=PERSIST; PRAGMA journal_size_limit=1048576; "
               "PRAGMA synchronous=FULL");
}

bool Database::is_sound() const {
    auto statement = prepare("PRAGMA quick_check(1)");
    if (!statement) {
        return false;
    }
    const auto has_row = statement->step();
    return has_row && *has_row && statement->text(0) == "ok";
}

Result<std::int64_t> Database::number(std::string_view sql) const {
    CYBELE_TRY(Statement statement, prepare(sql));
    CYBELE_TRY(const bool has_row, statement.step());
    return has_row ? statement.number(0) : 0;
}

Result<Transaction> Transaction::begin(const Database& database) {
    CYBELE_CHECK(database.run("BEGIN IMMEDIATE"));
    return Transaction(&database);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
    if (database_ != nullptr) {
        (void)database_->run("ROLLBACK");
    }
}

Result<void> Transaction::commit() {
    CYBELE_CHECK(database_->run("COMMIT"));
    database_ = nullptr;
    return {};
}

} // namespace cybele
