// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/tree.hpp"

#include <algorithm>

namespace cybele::recipes {
namespace {

using document::Field;
using document::Shape;
using document::Table;
using document::Type;
using yaml::Node;
using Kind = yaml::Node::Kind;

yaml::Entry* find_entry(Node& map, std::string_view key) {
    for (auto& entry : map.entries) {
        if (entry.first.scalar == key) {
            return &entry;
        }
    }
    return nullptr;
}

const Shape* shape_of(const Table& table, std::string_view key) {
    const Field* field = table.find(key);
    return field != nullptr ? field->shape : table.rest;
}

/// `openmpi` as `{family: openmpi}`, so that it can be merged with `{version: …}`.
void write_out(const Shape& shape, Node& value) {
    if (shape.type != Type::kMap || value.kind != Kind::kScalar || !shape.table->has_short_form) {
        return;
    }
    Node key;
    key.kind = Kind::kScalar;
    key.scalar = shape.table->fields.front().name;
    key.mark = value.mark;
    Node map;
    map.kind = Kind::kMapping;
    map.mark = value.mark;
    map.entries.push_back({std::move(key), std::move(value)});
    value = std::move(map);
}

void merge_value(const Shape& shape, Node& into, Node from) {
    write_out(shape, into);
    write_out(shape, from);
    if (shape.type == Type::kMap && into.kind == Kind::kMapping && from.kind == Kind::kMapping) {
        merge(*shape.table, into, std::move(from));
    } else if (shape.type == Type::kList && into.kind == Kind::kSequence &&
               from.kind == Kind::kSequence) {
        std::move(from.items.begin(), from.items.end(), std::back_inserter(into.items));
    } else if (shape.type != Type::kList || into.kind == Kind::kSequence) {
        into = std::move(from);
    }
}

void drop_excluded(const Table& table, Node& into, const Node& from) {
    for (const Table* part = &table; part != nullptr; part = part->more) {
        for (const auto& group : part->groups) {
            const bool is_chosen = std::ranges::any_of(
                group.fields, [&](auto name) { return from.find(name) != nullptr; });
            for (const auto name : group.fields) {
                if (is_chosen && from.find(name) == nullptr) {
                    remove_key(into, name);
                }
            }
        }
    }
}

void append_quoted(std::string& text, const std::string& scalar) {
    text += '"';
    for (const char c : scalar) {
        if (c == '"' || c == '\\') {
            text += '\\';
        }
        text += c;
    }
    text += '"';
}

} // namespace

bool remove_key(Node& map, std::string_view key) {
    const auto end = std::remove_if(map.entries.begin(), map.entries.end(), [&](const auto& entry) {
        return entry.first.scalar == key;
    });
    const bool is_found = end != map.entries.end();
    map.entries.erase(end, map.entries.end());
    return is_found;
}

void merge(const Table& table, Node& into, Node from) {
    drop_excluded(table, into, from);
    for (auto& entry : from.entries) {
        yaml::Entry* own = find_entry(into, entry.first.scalar);
        const Shape* shape = shape_of(table, entry.first.scalar);
        if (own == nullptr) {
            into.entries.push_back(std::move(entry));
        } else if (shape == nullptr) {
            own->second = std::move(entry.second);
        } else {
            merge_value(*shape, own->second, std::move(entry.second));
        }
    }
}

void set_file(Node& node, std::size_t file) {
    node.mark.file = file;
    for (auto& item : node.items) {
        set_file(item, file);
    }
    for (auto& entry : node.entries) {
        set_file(entry.first, file);
        set_file(entry.second, file);
    }
}

std::string normalised(const Node& node) {
    std::string text;
    switch (node.kind) {
    case Kind::kNull:
        return "null";
    case Kind::kScalar:
        append_quoted(text, node.scalar);
        return text;
    case Kind::kSequence:
        for (const auto& item : node.items) {
            text += (text.empty() ? "" : ",") + normalised(item);
        }
        return "[" + text + "]";
    case Kind::kMapping:
        break;
    }
    std::vector<const yaml::Entry*> sorted;
    sorted.reserve(node.entries.size());
    for (const auto& entry : node.entries) {
        sorted.push_back(&entry);
    }
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
        return a->first.scalar < b->first.scalar;
    });
    for (const auto* entry : sorted) {
        text += text.empty() ? "" : ",";
        append_quoted(text, entry->first.scalar);
        text += ":" + normalised(entry->second);
    }
    return "{" + text + "}";
}

} // namespace cybele::recipes
