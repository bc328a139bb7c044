// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/document.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::document {

/// Typed reading of one map of a walked document. A field that is not written (or is at fault)
/// gives its table's default, else the type's empty value; the walk has told the fault already.
class View {
public:
    View(const yaml::Node* node, const Table* table, std::string path)
        : node_(node), table_(table), path_(std::move(path)) {}

    [[nodiscard]] bool has(std::string_view field) const {
        return find(field) != nullptr;
    }
    /// The value's node, or nullptr. A scalar that stands for the first field is found as it.
    [[nodiscard]] const yaml::Node* find(std::string_view field) const;
    /// Dotted path of a field, as in Reading::marks().
    [[nodiscard]] std::string path(std::string_view field) const;
    [[nodiscard]] const std::string& path() const {
        return path_;
    }
    [[nodiscard]] yaml::Mark mark(std::string_view field) const;
    [[nodiscard]] yaml::Mark mark() const {
        return node_ != nullptr ? node_->mark : yaml::Mark{};
    }
    /// Whether the map is written as one scalar; scalar() is it.
    [[nodiscard]] bool is_scalar() const;
    [[nodiscard]] std::string scalar() const;

    [[nodiscard]] std::string text(std::string_view field) const;
    [[nodiscard]] bool flag(std::string_view field) const;
    [[nodiscard]] std::uint32_t count(std::string_view field) const;
    [[nodiscard]] std::optional<std::uint32_t> maybe_count(std::string_view field) const;
    [[nodiscard]] std::chrono::seconds duration(std::string_view field) const;
    [[nodiscard]] std::optional<std::chrono::seconds> maybe_duration(std::string_view field) const;
    [[nodiscard]] std::optional<std::uint64_t> maybe_size(std::string_view field) const;
    /// Of a list of scalars, or one scalar; a default of the form `[a, b]` counts.
    [[nodiscard]] std::vector<std::string> list(std::string_view field) const;
    /// Of a map of scalars.
    [[nodiscard]] std::map<std::string, std::string> map(std::string_view field) const;
    /// Of a map; an absent one is a View without fields.
    [[nodiscard]] View table(std::string_view field) const;
    /// Of a list of maps.
    [[nodiscard]] std::vector<View> tables(std::string_view field) const;
    /// Keys with their values as maps, of a map with free keys; sorted.
    [[nodiscard]] std::vector<std::pair<std::string, View>> entries(std::string_view field) const;

private:
    [[nodiscard]] std::string scalar_of(std::string_view field) const;
    const yaml::Node* node_;
    const Table* table_;
    std::string path_;
};

} // namespace cybele::document
