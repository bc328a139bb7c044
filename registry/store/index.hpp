// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registry/store/place.hpp"
#include "registry/store/record.hpp"
#include "support/database.hpp"
#include "support/error.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cybele::registry {

/// What the index knows: the record, and the blob's state when its digest was last checked.
struct IndexRow {
    Record record;
    BlobState state;
};

/// The SQLite file that is looked up instead of every sidecar. It can be lost: it is made again
/// from the sidecars, also where it is damaged.
class Index {
public:
    /// For changes. kInput: of a later version of this program.
    [[nodiscard]] static Result<Index> open(const Place& place);
    /// For looking only; where the file cannot be used (read-only, locked for good), the sidecars
    /// are read into memory.
    [[nodiscard]] static Result<Index> open_for_reading(const Place& place);

    [[nodiscard]] const Database& database() const {
        return database_;
    }
    [[nodiscard]] Result<std::vector<IndexRow>> all() const;
    [[nodiscard]] Result<std::optional<IndexRow>> find(std::string_view digest) const;
    /// The digest that `NAME:TAG` stands for.
    [[nodiscard]] Result<std::optional<std::string>> resolve(std::string_view name) const;
    /// All digests that begin so.
    [[nodiscard]] Result<std::vector<std::string>> matching(std::string_view prefix) const;
    [[nodiscard]] Result<std::vector<std::string>> names() const;

    /// Puts a row in the place of what was known of its digest, names included. Inside a
    /// Transaction.
    [[nodiscard]] Result<void> put(const IndexRow& row) const;
    [[nodiscard]] Result<void> erase(std::string_view digest) const;

private:
    explicit Index(Database database) : database_(std::move(database)) {}
    Database database_;
};

} // namespace cybele::registry
