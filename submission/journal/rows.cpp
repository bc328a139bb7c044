// SPDX-License-Identifier: Apache-2.0
#include "submission/journal/rows.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace cybele::submission {
namespace {

struct TextColumn {
    const char* name;
    std::string Entry::*member;
};
constexpr TextColumn kTexts[] = {
    {"uuid", &Entry::uuid},
    {"scheduler", &Entry::scheduler},
    {"login", &Entry::login},
    {"id", &Entry::id},
    {"name", &Entry::name},
    {"native", &Entry::native},
    {"reason", &Entry::reason},
    {"folder", &Entry::folder},
    {"workdir", &Entry::workdir},
    {"record", &Entry::record},
    {"stdout", &Entry::standard_output},
    {"stderr", &Entry::standard_error},
    {"script", &Entry::script},
    {"job", &Entry::job},
    {"array", &Entry::array},
    {"client", &Entry::client},
    {"results", &Entry::results},
    {"results_to", &Entry::results_to},
    {"image_digest", &Entry::image_digest},
    {"node", &Entry::node},
    {"elements", &Entry::elements},
    {"request", &Entry::request},
};
constexpr const char* kTextColumn = " TEXT NOT NULL DEFAULT ''";
constexpr const char* kNumberColumn = " INTEGER NOT NULL DEFAULT 0";
/// Columns that journals of earlier versions lack; those versions leave them at their defaults.
constexpr struct {
    const char* name;
    const char* type;
} kAddedColumns[] = {{"results", kTextColumn},
                     {"results_to", kTextColumn},
                     {"image_digest", kTextColumn},
                     {"node", kTextColumn},
                     {"elements", kTextColumn},
                     {"request", kTextColumn},
                     {"patience", kNumberColumn},
                     {"follows", kNumberColumn}};

struct NumberColumn {
    const char* name;
    std::int64_t Entry::*member;
};
constexpr NumberColumn kNumbers[] = {
    {"code", &Entry::code},
    {"signal", &Entry::signal},
    {"asked", &Entry::asked},
    {"submitted", &Entry::submitted},
    {"started", &Entry::started},
    {"ended", &Entry::ended},
    {"missing_since", &Entry::missing_since},
    {"cancel_asked", &Entry::cancel_asked},
    {"nodes", &Entry::nodes},
    {"tasks", &Entry::tasks},
    {"cpus", &Entry::cpus},
    {"time_limit", &Entry::time_limit},
    {"patience", &Entry::patience},
    {"follows", &Entry::follows},
};
constexpr const char* kState = "state"; ///< the last column

std::string column_names() {
    std::string names;
    for (const TextColumn& column : kTexts) {
        names += std::string(column.name) + ", ";
    }
    for (const NumberColumn& column : kNumbers) {
        names += std::string(column.name) + ", ";
    }
    return names + kState;
}

std::string updates() {
    std::string text;
    const auto add = [&text](const std::string& name) {
        text += (text.empty() ? "" : ", ") + name + "=excluded." + name;
    };
    for (const TextColumn& column : kTexts) {
        add(column.name);
    }
    for (const NumberColumn& column : kNumbers) {
        if (column.member == &Entry::cancel_asked) { // a client that has not seen it keeps it
            text += ", cancel_asked=max(cancel_asked, excluded.cancel_asked)";
        } else {
            add(column.name);
        }
    }
    add(kState);
    return text;
}

void read_row(const Statement& statement, Entry& entry) {
    int at = 0;
    for (const TextColumn& column : kTexts) {
        entry.*column.member = statement.view(at++);
    }
    for (const NumberColumn& column : kNumbers) {
        entry.*column.member = statement.number(at++);
    }
    entry.state = state_of_text(statement.view(at)).value_or(State::kLost);
}

} // namespace

std::string Rows::table() {
    std::string columns;
    for (const TextColumn& column : kTexts) {
        columns += std::string(column.name) + kTextColumn +
                   (column.member == &Entry::uuid ? " UNIQUE, " : ", ");
    }
    for (const NumberColumn& column : kNumbers) {
        columns += std::string(column.name) + kNumberColumn + ", ";
    }
    return "CREATE TABLE IF NOT EXISTS jobs(" + columns + kState + " TEXT NOT NULL)";
}

Result<std::vector<std::string>> Rows::missing_columns() const {
    CYBELE_TRY(Statement statement,
               database_.prepare("SELECT name FROM pragma_table_info('jobs')"));
    std::set<std::string, std::less<>> known;
    for (;;) {
        CYBELE_TRY(const bool has_row, statement.step());
        if (!has_row) {
            break;
        }
        known.emplace(statement.view(0));
    }
    std::vector<std::string> missing;
    for (const auto& column : kAddedColumns) {
        if (!known.contains(column.name)) {
            missing.push_back(std::string(column.name) + column.type);
        }
    }
    return missing;
}

Result<void> Rows::add_columns() const {
    CYBELE_TRY(std::vector<std::string> missing, missing_columns());
    if (missing.empty()) {
        return {};
    }
    CYBELE_TRY(Transaction transaction, Transaction::begin(database_));
    CYBELE_TRY(missing, missing_columns()); // another client may have added them meanwhile
    for (const std::string& column : missing) {
        CYBELE_CHECK(database_.run(("ALTER TABLE jobs ADD COLUMN " + column).c_str()));
    }
    return transaction.commit();
}

Result<void> Rows::put(const std::vector<const Entry*>& entries) const {
    std::string places;
    for (std::size_t at = 0; at < std::size(kTexts) + std::size(kNumbers); ++at) {
        places += "?, ";
    }
    CYBELE_TRY(Statement statement,
               database_.prepare("INSERT INTO jobs(" + column_names() + ") VALUES(" + places +
                                 "?) ON CONFLICT(uuid) DO UPDATE SET " + updates()));
    for (const Entry* const entry : entries) {
        for (const TextColumn& column : kTexts) {
            statement.bind(entry->*column.member);
        }
        for (const NumberColumn& column : kNumbers) {
            statement.bind(entry->*column.member);
        }
        statement.bind(state_text(entry->state));
        CYBELE_CHECK(statement.run());
    }
    return {};
}

Result<std::vector<Entry>> Rows::select(const std::string& condition,
                                        const std::vector<std::string>& values) const {
    CYBELE_TRY(Statement statement,
               database_.prepare("SELECT " + column_names() + " FROM jobs " + condition));
    for (const std::string& value : values) {
        statement.bind(value);
    }
    std::vector<Entry> found;
    if (values.empty()) { // a list, of which thousands of rows would be moved as it grows
        CYBELE_TRY(const std::int64_t count,
                   database_.number("SELECT count(*) FROM jobs " + condition));
        found.reserve(static_cast<std::size_t>(count));
    }
    for (;;) {
        CYBELE_TRY(const bool has_row, statement.step());
        if (!has_row) {
            return found;
        }
        read_row(statement, found.emplace_back());
    }
}

} // namespace cybele::submission
