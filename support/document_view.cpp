// SPDX-License-Identifier: Apache-2.0
#include "support/document_view.hpp"

#include "support/duration.hpp"
#include "support/size.hpp"

#include <algorithm>
#include <charconv>

namespace cybele::document {
namespace {

std::optional<std::uint32_t> parse_count(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

/// `[a, b]` of a table's default.
std::vector<std::string> split_default(std::string_view text) {
    std::vector<std::string> words;
    if (text.size() < 2 || text.front() != '[') {
        return words;
    }
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
        const auto comma = text.find(", ");
        words.emplace_back(text.substr(0, comma));
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 2);
    }
    return words;
}

} // namespace

const yaml::Node* View::find(std::string_view field) const {
    if (node_ == nullptr || table_ == nullptr) {
        return nullptr;
    }
    if (node_->kind == yaml::Node::Kind::kScalar) {
        const bool is_first = table_->has_short_form && table_->fields.front().name == field;
        return is_first ? node_ : nullptr;
    }
    return node_->find(field);
}

std::string View::path(std::string_view field) const {
    return path_.empty() ? std::string(field) : path_ + "." + std::string(field);
}

yaml::Mark View::mark(std::string_view field) const {
    const yaml::Node* node = find(field);
    return node != nullptr ? node->mark : mark();
}

bool View::is_scalar() const {
    return node_ != nullptr && node_->kind == yaml::Node::Kind::kScalar;
}

std::string View::scalar() const {
    return is_scalar() ? node_->scalar : std::string{};
}

std::string View::scalar_of(std::string_view field) const {
    const yaml::Node* node = find(field);
    if (node != nullptr && node->kind == yaml::Node::Kind::kScalar) {
        return node->scalar;
    }
    const Field* described = table_ != nullptr ? table_->find(field) : nullptr;
    return node == nullptr && described != nullptr ? std::string(described->by_default)
                                                   : std::string{};
}

std::string View::text(std::string_view field) const {
    return scalar_of(field);
}

bool View::flag(std::string_view field) const {
    return scalar_of(field) == "true";
}

std::optional<std::uint32_t> View::maybe_count(std::string_view field) const {
    return parse_count(scalar_of(field));
}

std::uint32_t View::count(std::string_view field) const {
    return maybe_count(field).value_or(0);
}

std::optional<std::chrono::seconds> View::maybe_duration(std::string_view field) const {
    return parse_duration(scalar_of(field));
}

std::chrono::seconds View::duration(std::string_view field) const {
    return maybe_duration(field).value_or(std::chrono::seconds{0});
}

std::optional<std::uint64_t> View::maybe_size(std::string_view field) const {
    return parse_size(scalar_of(field));
}

std::vector<std::string> View::list(std::string_view field) const {
    const yaml::Node* node = find(field);
    if (node == nullptr) {
        const Field* described = table_ != nullptr ? table_->find(field) : nullptr;
        return described != nullptr ? split_default(described->by_default)
                                    : std::vector<std::string>{};
    }
    if (node->kind == yaml::Node::Kind::kScalar) {
        return {node->scalar};
    }
    std::vector<std::string> words;
    words.reserve(node->items.size());
    for (const auto& item : node->items) {
        words.push_back(item.scalar);
    }
    return words;
}

std::map<std::string, std::string> View::map(std::string_view field) const {
    std::map<std::string, std::string> values;
    if (const yaml::Node* node = find(field)) {
        for (const auto& [key, value] : node->entries) {
            values[key.scalar] = value.scalar;
        }
    }
    return values;
}

View View::table(std::string_view field) const {
    const Field* described = table_ != nullptr ? table_->find(field) : nullptr;
    const Table* inner = described != nullptr ? described->shape->table : nullptr;
    return {find(field), inner, path(field)};
}

std::vector<View> View::tables(std::string_view field) const {
    std::vector<View> views;
    const yaml::Node* node = find(field);
    const Field* described = table_ != nullptr ? table_->find(field) : nullptr;
    if (node == nullptr || described == nullptr || described->shape->item == nullptr) {
        return views;
    }
    for (std::size_t i = 0; i < node->items.size(); ++i) {
        views.emplace_back(&node->items[i],
                           described->shape->item->table,
                           path(field) + "[" + std::to_string(i) + "]");
    }
    return views;
}

std::vector<std::pair<std::string, View>> View::entries(std::string_view field) const {
    std::vector<std::pair<std::string, View>> views;
    const yaml::Node* node = find(field);
    const Field* described = table_ != nullptr ? table_->find(field) : nullptr;
    if (node == nullptr || described == nullptr || described->shape->table == nullptr ||
        described->shape->table->rest == nullptr) {
        return views;
    }
    const Table* inner = described->shape->table->rest->table;
    for (const auto& [key, value] : node->entries) {
        views.emplace_back(key.scalar, View(&value, inner, path(field) + "." + key.scalar));
    }
    std::sort(views.begin(), views.end(), [](const auto& one, const auto& other) {
        return one.first < other.first;
    });
    return views;
}

} // namespace cybele::document
