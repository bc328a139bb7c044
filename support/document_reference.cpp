// SPDX-License-Identifier: Apache-2.0
#include "support/document.hpp"

#include <algorithm>

namespace cybele::document {
namespace {

/// What a cell of a Markdown table may hold.
std::string cell(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        escaped += c == '|' ? "\\|" : std::string(1, c);
    }
    return escaped;
}

std::string quoted_words(std::span<const std::string_view> words) {
    std::string text;
    for (const auto word : words) {
        text += (text.empty() ? "`" : ", `") + std::string(word) + "`";
    }
    return text;
}

const Shape* scalar_of(const Shape& shape) {
    return shape.table->has_short_form ? shape.table->fields.front().shape : shape.scalar;
}

std::string type_of(const Shape& shape) {
    switch (shape.type) {
    case Type::kWord:
        return quoted_words(shape.words);
    case Type::kCount:
        return shape.words.empty() ? "count" : "count, " + quoted_words(shape.words);
    case Type::kList:
        return "list of " + type_of(*shape.item);
    case Type::kMap: {
        const Shape* scalar = scalar_of(shape);
        const bool is_free = shape.table->fields.empty() && shape.table->rest != nullptr;
        const std::string map = is_free ? "map of " + type_of(*shape.table->rest)
                                        : "map " + std::string(shape.table->title);
        return scalar != nullptr ? type_of(*scalar) + " or " + map : map;
    }
    case Type::kArgvOrScript:
        return "list of text, or script";
    case Type::kTextOrList:
        return "text or list of text";
    default:
        break;
    }
    std::string text = describe(Shape{.type = shape.type});
    return text.substr(text.find(' ') + 1);
}

/// Tables with fields of their own below a shape, in the order in which they are met.
void collect(const Table& table, std::vector<const Table*>& found);

void collect_shape(const Shape& shape, std::vector<const Table*>& found) {
    if (shape.item != nullptr) {
        collect_shape(*shape.item, found);
    }
    if (shape.table == nullptr) {
        return;
    }
    if (!shape.table->all().empty()) {
        if (std::find(found.begin(), found.end(), shape.table) != found.end()) {
            return;
        }
        found.push_back(shape.table);
    }
    collect(*shape.table, found);
}

void collect(const Table& table, std::vector<const Table*>& found) {
    for (const Field* field : table.all()) {
        collect_shape(*field->shape, found);
    }
    if (table.rest != nullptr) {
        collect_shape(*table.rest, found);
    }
}

std::string rows(const Table& table) {
    std::string text = "| field | type | default | meaning |\n|---|---|---|---|\n";
    for (const Field* field : table.all()) {
        const std::string fallback =
            field->is_required
                ? "required"
                : (field->by_default.empty() ? "" : "`" + std::string(field->by_default) + "`");
        text += "| `" + std::string(field->name) + "` | " + cell(type_of(*field->shape)) + " | " +
                cell(fallback) + " | " + cell(field->description) +
                (field->not_yet.empty() ? "" : " (*read and checked; not acted on yet*)") + " |\n";
    }
    for (const Table* part = &table; part != nullptr; part = part->more) {
        for (const auto& group : part->groups) {
            text += "\n" + std::string(group.is_required ? "Exactly one of " : "At most one of ") +
                    quoted_words(group.fields) + ".\n";
        }
    }
    return text;
}

} // namespace

std::string reference_tables(const Kind& kind) {
    std::vector<const Table*> found;
    collect(*kind.table, found);
    std::string text = rows(*kind.table);
    for (const Table* table : found) {
        text += "\n### Map " + std::string(table->title) + "\n\n" + rows(*table);
    }
    return text;
}

} // namespace cybele::document
