// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

/// SQLite as the store's index and the journal of jobs use it. Homes lie on network file systems,
/// where its write-ahead log is forbidden: its journal is a file, which is deleted or overwritten.
namespace cybele {

/// What a database is to its user, and what to do when it cannot be used.
struct DatabaseUse {
    std::string_view name;      ///< `the store's index`, for "cannot use NAME PATH"
    std::string_view when_full; ///< remedies, imperative
    std::string_view when_denied;
    std::string_view otherwise; ///< no database, damaged
    int patience = 60'000;      ///< milliseconds that others may hold it
    /// A handle is used by one thread at a time, so that SQLite need not lock each call.
    bool is_of_one_thread = false;
};

class Statement {
public:
    Statement& bind(std::string_view text);
    Statement& bind(std::int64_t number);
    /// True: there is a row; its columns count from 0.
    [[nodiscard]] Result<bool> step();
    /// step() to the end, whatever rows there are.
    [[nodiscard]] Result<void> run();
    /// Of the row until the next step(); empty for NULL, too.
    [[nodiscard]] std::string_view view(int column) const;
    [[nodiscard]] std::string text(int column) const;
    [[nodiscard]] std::int64_t number(int column) const;

private:
    friend class Database;
    const DatabaseUse* use_ = nullptr;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    std::filesystem::path path_;
    int bound_ = 0;
};

class Database {
public:
    enum class Mode {
        kWrite,  ///< made where it is missing
        kChange, ///< must be there
        kRead,   ///< on a read-only file system
        kMemory, ///< no file at all; `path` is for messages
    };
    /// `use` lives as long as the database. kEnvironment, also later.
    [[nodiscard]] static Result<Database>
    open(const std::filesystem::path& path, Mode mode, const DatabaseUse& use);

    [[nodiscard]] Result<Statement> prepare(std::string_view sql) const;
    /// Statements without parameters.
    [[nodiscard]] Result<void> run(const char* sql) const;
    /// Each transaction is on the disk when it is committed, and SQLite's journal stays: to write
    /// its blocks again costs a tenth of making a file and deleting it.
    [[nodiscard]] Result<void> commit_in_place() const;
    /// Whether the file is a database that can be read through and through.
    [[nodiscard]] bool is_sound() const;
    /// The first value of the first row; 0 where there is none.
    [[nodiscard]] Result<std::int64_t> number(std::string_view sql) const;
    /// 0 in a new file.
    [[nodiscard]] Result<std::int64_t> version() const {
        return number("PRAGMA user_version");
    }

private:
    struct Close {
        void operator()(sqlite3* database) const;
    };
    struct Wait {
        std::chrono::milliseconds patience;
        std::chrono::steady_clock::time_point since;
    };
    static int wait_for_others(void* wait, int calls);

    std::unique_ptr<Wait> wait_; ///< where SQLite finds it while the handle lives
    std::unique_ptr<sqlite3, Close> handle_;
    std::filesystem::path path_;
    const DatabaseUse* use_ = nullptr;
};

/// BEGIN IMMEDIATE, so that nobody else writes, to COMMIT; rolled back when it goes without it.
class Transaction {
public:
    [[nodiscard]] static Result<Transaction> begin(const Database& database);
    Transaction(Transaction&& other) noexcept;
    Transaction& operator=(Transaction&&) = delete;
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction();
    [[nodiscard]] Result<void> commit();

private:
    explicit Transaction(const Database* database) : database_(database) {}
    const Database* database_;
};

} // namespace cybele
