// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "submission/journal/entry.hpp"
#include "support/database.hpp"
#include "support/error.hpp"

#include <string>
#include <vector>

namespace cybele::submission {

/// Entries as rows of the table `jobs`; a column is a row of a table in rows.cpp.
class Rows {
public:
    explicit Rows(const Database& database) : database_(database) {}

    /// The statement that makes the table.
    [[nodiscard]] static std::string table();
    /// Adds the columns that a journal of an earlier version lacks.
    [[nodiscard]] Result<void> add_columns() const;
    [[nodiscard]] Result<void> put(const std::vector<const Entry*>& entries) const;
    /// `condition` comes behind `SELECT … FROM jobs`; its ?1, ?2 … are `values`.
    [[nodiscard]] Result<std::vector<Entry>> select(const std::string& condition,
                                                    const std::vector<std::string>& values) const;

private:
    [[nodiscard]] Result<std::vector<std::string>> missing_columns() const;
    const Database& database_;
};

} // namespace cybele::submission
