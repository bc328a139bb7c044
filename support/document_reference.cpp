// SPDX-License-Identifier: Apache-2.0
#include "support/document.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
        return (shape.scalar != nullptr ? type_of(*shape.scalar) + " or " : "") + "list of " +
               type_of(*shape.item);
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
        if (contains(found, shape.table)) {
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

/// The table of a map, also of the maps in a list; nullptr: the shape has no fields.
const Table* table_of(const Shape& shape) {
    const Shape* inner = &shape;
    while (inner->type == Type::kList && inner->item != nullptr) {
        inner = inner->item;
    }
    return inner->table;
}

tl::unexpected<Error>
unknown_field(std::string_view path, std::string_view segment, const Table* table) {
    std::vector<std::string_view> names;
    for (const Field* field : table == nullptr ? std::vector<const Field*>{} : table->all()) {
        names.push_back(field->name);
    }
    const std::string meant = nearest(segment, names);
    return fail(ErrorCode::kUsage,
                problem("topic-unknown", fmt::format("'{}' has no field '{}'", path, segment)),
                names.empty() ? "it has no fields"
                              : fmt::format("its fields are {}", fmt::join(names, ", ")),
                meant.empty() ? fmt::format("`cybelectl explain {}` shows what it is", path)
                              : "did you mean '" + meant + "'?");
}

/// One line: the name in a column, type, default and meaning.
std::string field_line(const Field& field, std::size_t width) {
    return fmt::format("  {:<{}}  {}{}: {}\n",
                       field.name,
                       width,
                       type_of(*field.shape),
                       field.is_required ? ", required" : "",
                       field.description);
}

std::string fields_below(const Table& table) {
    std::size_t width = 0;
    for (const Field* field : table.all()) {
        width = std::max(width, field->name.size());
    }
    std::string text = table.all().empty() ? "" : "fields:\n";
    for (const Field* field : table.all()) {
        text += field_line(*field, width);
    }
    return text;
}

} // namespace

Result<std::string> explain_field(const Kind& kind, std::string_view path) {
    std::string seen = text::lowered(kind.name);
    const Table* table = kind.table;
    const Shape* shape = nullptr;
    const Field* field = nullptr;
    for (const std::string_view segment : text::split(path, '.')) {
        field = table == nullptr ? nullptr : table->find(segment);
        if (field == nullptr && (table == nullptr || table->rest == nullptr || segment.empty())) {
            return unknown_field(seen, segment, table);
        }
        shape = field != nullptr ? field->shape : table->rest;
        table = table_of(*shape);
        seen += fmt::format(".{}", segment);
    }
    std::string text = fmt::format("{}: {}\n", seen, type_of(*shape));
    if (field != nullptr) {
        text += fmt::format("meaning: {}\n", field->description);
        text += field->is_required          ? "required\n"
                : field->by_default.empty() ? ""
                                            : fmt::format("default: {}\n", field->by_default);
    }
    return text + (table == nullptr ? "" : fields_below(*table)) +
           fmt::format("more: cybelectl explain {}\n", text::lowered(kind.name));
}

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
