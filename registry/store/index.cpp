// SPDX-License-Identifier: Apache-2.0
#include "registry/store/index.hpp"

#include "support/quote.hpp"

#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cybele::registry {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kVersion = 1;

constexpr DatabaseUse kUse{
    "the store's index",
    "free some space there, or run `cybelectl image prune`",
    "check the permissions of the store's folder",
    "move it away: it is made again from the images next to it",
};

constexpr const char* kSchema =
    "CREATE TABLE image(digest TEXT PRIMARY KEY, size INTEGER NOT NULL, created INTEGER NOT NULL,"
    " architecture TEXT NOT NULL, origin TEXT NOT NULL, inode INTEGER NOT NULL,"
    " modified INTEGER NOT NULL, changed INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE ref(name TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX ref_digest ON ref(digest);"
    "CREATE TABLE place(digest TEXT NOT NULL, repository TEXT NOT NULL,"
    " PRIMARY KEY(digest, repository)) WITHOUT ROWID;"
    "PRAGMA user_version=1;";

constexpr const char* kImageColumns =
    "digest, size, created, architecture, origin, inode, modified, changed";

Result<std::vector<std::string>>
texts(const Database& database, std::string_view sql, std::string_view value) {
    CYBELE_TRY(Statement statement, database.prepare(sql));
    statement.bind(value);
    std::vector<std::string> found;
    for (;;) {
        CYBELE_TRY(const bool has_row, statement.step());
        if (!has_row) {
            return found;
        }
        found.push_back(statement.text(0));
    }
}

Result<IndexRow> read_row(const Database& database, const Statement& statement) {
    IndexRow row;
    int column = 0;
    row.record.digest = statement.text(column++);
    row.record.size = static_cast<std::uint64_t>(statement.number(column++));
    row.record.created = statement.number(column++);
    row.record.architecture = statement.text(column++);
    row.record.origin = statement.text(column++);
    row.state.size = row.record.size;
    row.state.inode = statement.number(column++);
    row.state.modified = statement.number(column++);
    row.state.changed = statement.number(column);
    CYBELE_TRY(
        row.record.names,
        texts(database, "SELECT name FROM ref WHERE digest = ? ORDER BY name", row.record.digest));
    CYBELE_TRY(row.record.repositories,
               texts(database,
                     "SELECT repository FROM place WHERE digest = ? ORDER BY repository",
                     row.record.digest));
    return row;
}

/// All that the sidecars say. The blobs' states stay unknown, so that each is hashed again before
/// it is used: nobody watched it meanwhile.
Result<void> fill(const Index& index, const Place& place) {
    for (const std::string& digest : blobs_on_disk(place)) {
        IndexRow row;
        if (auto record = read_sidecar(place, digest)) {
            row.record = *std::move(record);
        } else {
            CYBELE_TRY(const BlobState state, blob_state(place.blob(digest)));
            row.record.digest = digest;
            row.record.size = state.size;
        }
        CYBELE_CHECK(index.put(row));
    }
    return {};
}

Result<void> judge_version(const Database& database, const fs::path& path) {
    CYBELE_TRY(const std::int64_t version, database.version());
    if (version > kVersion) {
        return fail(ErrorCode::kInput,
                    problem("store-index-version",
                            "the store's index " + printable(path.native()) + " is of version " +
                                std::to_string(version)),
                    "this program knows version 1: a later one wrote it",
                    "use the later cybelectl, or name another store: CYBELE_STORE=FOLDER");
    }
    return {};
}

/// A file with the mode that all who share the store need, whatever the umask is.
Result<void> make_file(const fs::path& path, unsigned mode) {
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (fd.valid() && ::fchmod(fd.get(), mode) == 0) {
        return {};
    }
    if (errno == EEXIST) {
        return {};
    }
    return fail(system_error("cannot make the store's index " + printable(path.native()), errno));
}

bool is_usable(const Result<Database>& database) {
    return database && database->is_sound();
}

} // namespace

Result<Index> Index::open(const Place& place) {
    const fs::path path = place.index_file();
    CYBELE_CHECK(make_file(path, place.file_mode()));
    auto opened = Database::open(path, Database::Mode::kWrite, kUse);
    if (!is_usable(opened)) {
        // Another process may be at the same: who comes second finds a sound one.
        CYBELE_TRY(const UniqueFd lock,
                   lock_file(place.lock_file(), LockKind::kExclusive, place.file_mode()));
        opened = Database::open(path, Database::Mode::kWrite, kUse);
        if (!is_usable(opened)) {
            std::error_code ignored;
            fs::rename(path, path.native() + ".damaged", ignored);
            fs::remove(path.native() + "-journal", ignored);
            CYBELE_CHECK(make_file(path, place.file_mode()));
            opened = Database::open(path, Database::Mode::kWrite, kUse);
        }
    }
    CYBELE_TRY(Database database, std::move(opened));
    CYBELE_CHECK(judge_version(database, path));
    CYBELE_TRY(const std::int64_t version, database.version());
    Index index(std::move(database));
    if (version == 0) {
        CYBELE_TRY(Transaction transaction, Transaction::begin(index.database_));
        CYBELE_TRY(const std::int64_t version_now, index.database_.version());
        if (version_now == 0) {
            CYBELE_CHECK(index.database_.run(kSchema));
            CYBELE_CHECK(fill(index, place));
        }
        CYBELE_CHECK(transaction.commit());
    }
    return index;
}

Result<Index> Index::open_for_reading(const Place& place) {
    const fs::path path = place.index_file();
    for (const auto mode : {Database::Mode::kChange, Database::Mode::kRead}) {
        auto database = Database::open(path, mode, kUse);
        if (!is_usable(database)) {
            continue;
        }
        CYBELE_CHECK(judge_version(*database, path));
        if (const auto version = database->version(); version && *version == kVersion) {
            return Index(*std::move(database));
        }
    }
    CYBELE_TRY(Database database, Database::open(path, Database::Mode::kMemory, kUse));
    Index index(std::move(database));
    CYBELE_CHECK(index.database_.run(kSchema));
    CYBELE_CHECK(fill(index, place));
    return index;
}

Result<std::vector<IndexRow>> Index::all() const {
    CYBELE_TRY(
        Statement statement,
        database_.prepare(std::string("SELECT ") + kImageColumns + " FROM image ORDER BY digest"));
    std::vector<IndexRow> rows;
    for (;;) {
        CYBELE_TRY(const bool has_row, statement.step());
        if (!has_row) {
            return rows;
        }
        CYBELE_TRY(IndexRow row, read_row(database_, statement));
        rows.push_back(std::move(row));
    }
}

Result<std::optional<IndexRow>> Index::find(std::string_view digest) const {
    CYBELE_TRY(
        Statement statement,
        database_.prepare(std::string("SELECT ") + kImageColumns + " FROM image WHERE digest = ?"));
    statement.bind(digest);
    CYBELE_TRY(const bool has_row, statement.step());
    if (!has_row) {
        return std::nullopt;
    }
    CYBELE_TRY(IndexRow row, read_row(database_, statement));
    return row;
}

Result<std::optional<std::string>> Index::resolve(std::string_view name) const {
    CYBELE_TRY(const auto found, texts(database_, "SELECT digest FROM ref WHERE name = ?", name));
    return found.empty() ? std::nullopt : std::optional(found.front());
}

Result<std::vector<std::string>> Index::matching(std::string_view prefix) const {
    return texts(database_,
                 "SELECT digest FROM image WHERE digest GLOB ? ORDER BY digest",
                 std::string(prefix) + "*");
}

Result<std::vector<std::string>> Index::names() const {
    return texts(database_, "SELECT name FROM ref WHERE name <> ? ORDER BY name", "");
}

Result<void> Index::put(const IndexRow& row) const {
    const Record& record = row.record;
    CYBELE_CHECK(erase(record.digest));
    CYBELE_TRY(Statement image,
               database_.prepare("INSERT INTO image VALUES(?, ?, ?, ?, ?, ?, ?, ?)"));
    image.bind(record.digest)
        .bind(static_cast<std::int64_t>(record.size))
        .bind(record.created)
        .bind(record.architecture)
        .bind(record.origin)
        .bind(row.state.inode)
        .bind(row.state.modified)
        .bind(row.state.changed);
    CYBELE_CHECK(image.run());
    for (const std::string& name : record.names) {
        CYBELE_TRY(Statement ref, database_.prepare("INSERT OR REPLACE INTO ref VALUES(?, ?)"));
        CYBELE_CHECK(ref.bind(name).bind(record.digest).run());
    }
    for (const std::string& repository : record.repositories) {
        CYBELE_TRY(Statement seen, database_.prepare("INSERT OR REPLACE INTO place VALUES(?, ?)"));
        CYBELE_CHECK(seen.bind(record.digest).bind(repository).run());
    }
    return {};
}

Result<void> Index::erase(std::string_view digest) const {
    for (const char* const sql : {"DELETE FROM image WHERE digest = ?",
                                  "DELETE FROM ref WHERE digest = ?",
                                  "DELETE FROM place WHERE digest = ?"}) {
        CYBELE_TRY(Statement statement, database_.prepare(sql));
        CYBELE_CHECK(statement.bind(digest).run());
    }
    return {};
}

} // namespace cybele::registry
