// SPDX-License-Identifier: Apache-2.0
#include "support/document_help.hpp"
#include "support/quote.hpp"
#include "support/yaml_syntax.hpp"

#include <algorithm>

namespace cybele::document {
namespace {

using Kinds = yaml::Node::Kind;

/// The words of a command as a shell would split them, or `sh -c TEXT` where a shell would do more.
std::string command_line(std::string_view text) {
    if (text.find_first_of("$|&;<>*?`\\~(){}#") != std::string_view::npos) {
        return "[sh, -c, " + yaml::flow_value(text) + "]";
    }
    std::string list;
    std::string word;
    bool is_word = false;
    char quote = '\0';
    const auto end_word = [&] {
        list += is_word ? (list.empty() ? "" : ", ") + yaml::flow_value(word) : "";
        word.clear();
        is_word = false;
    };
    for (const char c : text) {
        if (quote == '\0' ? c == '\'' || c == '"' : c == quote) {
            quote = quote == '\0' ? c : '\0';
            is_word = true;
        } else if (quote == '\0' && (c == ' ' || c == '\t')) {
            end_word();
        } else {
            word += c;
            is_word = true;
        }
    }
    end_word();
    return "[" + list + "]";
}

bool is_argv(const Shape& shape) {
    return shape.type == Type::kArgvOrScript ||
           (shape.type == Type::kList && shape.item != nullptr && shape.item->type == Type::kValue);
}

/// `{from: path, to: path}`: the fields that a map needs. `first` is the first one's value.
std::string example_map(const Table& table, std::string_view first) {
    std::string text;
    for (const Field* field : table.all()) {
        if (!field->is_required && !(text.empty() && !first.empty() && field == &table.fields[0])) {
            continue;
        }
        const bool is_given = !first.empty() && text.empty();
        text += (text.empty() ? "" : ", ") + std::string(field->name) + ": " +
                (is_given ? std::string(first) : example_of(*field));
    }
    if (text.empty() && table.rest != nullptr) {
        return "{name: " + example_of(*table.rest) + "}";
    }
    if (text.empty() && !table.fields.empty()) {
        text = std::string(table.fields[0].name) + ": " + example_of(table.fields[0]);
    }
    return "{" + text + "}";
}

/// The value's own text, where it is a list or map in brackets on one line; else "".
std::string_view flow_text(std::string_view line, const yaml::Node& value) {
    if (value.mark.column == 0 || value.mark.column > line.size()) {
        return {};
    }
    const std::string_view rest = line.substr(value.mark.column - 1);
    int depth = 0;
    for (std::size_t at = 0; at < rest.size(); ++at) {
        depth += rest[at] == '[' || rest[at] == '{' ? 1 : 0;
        depth -= rest[at] == ']' || rest[at] == '}' ? 1 : 0;
        if (depth == 0) {
            return at == 0 ? std::string_view() : rest.substr(0, at + 1);
        }
    }
    return {};
}

/// `A=b`, or as a shell has it `export A=b`, as a field.
std::string field_of(std::string_view text) {
    constexpr std::string_view kExport = "export ";
    text.remove_prefix(text.starts_with(kExport) ? kExport.size() : 0);
    const std::size_t equals = text.find('=');
    return equals == std::string_view::npos || equals == 0 ||
                   text.substr(0, equals).find(' ') != std::string_view::npos
               ? std::string()
               : std::string(text.substr(0, equals)) + ": " +
                     yaml::flow_value(text.substr(equals + 1));
}

/// `gcc/12 openmpi/4.1`, or with commas, as items; options may have a value after a blank.
std::string items_of(std::string_view text) {
    constexpr std::string_view kBetween = " ,";
    if (text.starts_with('-')) {
        return yaml::flow_value(text);
    }
    std::string items;
    while (!text.empty()) {
        const std::size_t begin = std::min(text.find_first_not_of(kBetween), text.size());
        const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        items += word.empty() ? "" : (items.empty() ? "" : ", ") + yaml::flow_value(word);
        text.remove_prefix(end);
    }
    return items;
}

std::string write(std::string_view text) {
    return "write `" + printable(text) + "`";
}

/// `{job.yaml: /opt/job.yaml}` as an item of a list of maps with two fields, which a map of names
/// to values abbreviates in other programs.
std::string help_for_short_item(const Shape& item, const yaml::Node& value, std::string_view flow) {
    const auto& [name, told] = value.entries.front();
    const auto fields = item.table->all();
    if (fields.size() < 2 || told.kind != Kinds::kScalar) {
        return {};
    }
    const std::string map = "{" + std::string(fields[0]->name) + ": " +
                            yaml::flow_value(name.scalar) + ", " + std::string(fields[1]->name) +
                            ": " + yaml::flow_value(told.scalar) + "}";
    return flow.empty() ? write("- " + map) + " in place of `" + printable(name.scalar) + ": " +
                              printable(told.scalar) + "`"
                        : write("[" + map + "]");
}

/// Whether a map has one of the fields.
bool has_fields_of(const Table& table, const yaml::Node& value) {
    const auto fields = table.all();
    return std::ranges::any_of(value.entries, [&](const auto& entry) {
        return std::ranges::any_of(
            fields, [&](const Field* field) { return field->name == entry.first.scalar; });
    });
}

std::string help_for_list(const Shape& shape, const yaml::Node& value, std::string_view flow) {
    if (value.kind == Kinds::kMapping && is_argv(shape)) {
        return "write for example `" + example_of(shape) + "`";
    }
    if (value.kind == Kinds::kMapping && shape.item != nullptr && shape.item->type != Type::kMap) {
        return "write for example `" + example_of(shape) + "`";
    }
    const bool is_of_words =
        shape.item != nullptr && shape.item->scalar != nullptr && shape.item->table != nullptr;
    if (value.kind == Kinds::kMapping && is_of_words && !has_fields_of(*shape.item->table, value)) {
        return "write for example `[" + example_of(*shape.item->scalar) + "]`";
    }
    if (value.kind == Kinds::kMapping && value.entries.size() == 1 && shape.item != nullptr &&
        shape.item->table != nullptr && !has_fields_of(*shape.item->table, value)) {
        if (std::string help = help_for_short_item(*shape.item, value, flow); !help.empty()) {
            return help;
        }
    }
    if (value.kind == Kinds::kMapping) {
        return flow.empty() ? write("- ") + " before each map, and indent its other fields"
                            : write("[" + std::string(flow) + "]");
    }
    if (is_argv(shape)) {
        return write(command_line(value.scalar));
    }
    const std::string item = yaml::flow_value(value.scalar);
    const bool is_map = shape.item != nullptr && shape.item->type == Type::kMap &&
                        shape.item->table != nullptr && !shape.item->table->has_short_form &&
                        shape.item->scalar == nullptr;
    const bool is_of_names = shape.item != nullptr && shape.item->type == Type::kText;
    return write("[" +
                 (is_map        ? example_map(*shape.item->table, item)
                  : is_of_names ? items_of(value.scalar)
                                : item) +
                 "]");
}

/// `[A=b, C=d]` for a map: each as a field.
std::string fields_of_items(const yaml::Node& value) {
    std::string text;
    for (const yaml::Node& item : value.items) {
        const std::string field = field_of(item.scalar);
        if (item.kind != Kinds::kScalar || field.empty()) {
            return {};
        }
        text += (text.empty() ? "" : ", ") + field;
    }
    return text;
}

/// The items of a list, as far as they are no lists or maps, are what this shape of a list has.
bool holds(const Shape& shape, const yaml::Node& value) {
    return std::ranges::all_of(value.items, [&](const yaml::Node& item) {
        if (item.kind != Kinds::kScalar || shape.item == nullptr) {
            return true;
        }
        const bool is_list = shape.item->type == Type::kList || shape.item->type == Type::kMap;
        return !is_list && check_scalar(*shape.item, item.scalar, item.is_plain).because.empty();
    });
}

/// What may stand in place of a map.
const Shape* shape_alone(const Shape& shape) {
    if (shape.scalar != nullptr) {
        return shape.scalar;
    }
    return shape.table->has_short_form ? shape.table->fields.front().shape : nullptr;
}

std::string help_for_map(const Shape& shape, const yaml::Node& value, std::string_view flow) {
    const Table& table = *shape.table;
    if (value.kind == Kinds::kScalar) {
        const bool is_for_script = table.rest == nullptr && !table.fields.empty() &&
                                   table.fields.front().shape->type == Type::kScript;
        if (is_for_script) {
            return write(example_map(table, yaml::flow_value(value.scalar)));
        }
        const std::string field = field_of(value.scalar);
        return field.empty() ? "write for example `" + example_of(shape) + "`"
                             : write("{" + field + "}");
    }
    if (const std::string fields = fields_of_items(value); !fields.empty()) {
        return flow.empty() ? "write each item as a field: `" + fields.substr(0, fields.find(',')) +
                                  "` in place of `- " + printable(value.items.front().scalar) + "`"
                            : write("{" + fields + "}");
    }
    const Shape* const alone = shape_alone(shape);
    const bool is_one_word = alone != nullptr && !flow.empty() && value.items.size() == 1 &&
                             value.items.front().kind == Kinds::kScalar &&
                             check_scalar(*alone, value.items.front().scalar, true).because.empty();
    if (is_one_word && !alone->words.empty()) {
        return write(yaml::flow_value(value.items.front().scalar));
    }
    for (const Field* field : table.all()) {
        if (field->shape->type == Type::kList && !flow.empty() && holds(*field->shape, value)) {
            return write("{" + std::string(field->name) + ": " + std::string(flow) + "}");
        }
    }
    return is_one_word ? write(yaml::flow_value(value.items.front().scalar))
                       : "write for example `" + example_of(shape) + "`";
}

/// `print("a: b` of the map that yaml reads there, as the line has it: `print("a: b, c")`.
std::string with_rest(const std::string& text, std::string_view line, const yaml::Mark& mark) {
    if (mark.column == 0 || mark.column > line.size()) {
        return text;
    }
    const std::string_view own = yaml::value_in_flow(line.substr(mark.column - 1));
    const bool is_cut = text.find_first_of("([{'\"") != std::string::npos;
    return is_cut && own.starts_with(text) ? std::string(own) : text;
}

} // namespace

std::string example_of(const Shape& shape) {
    constexpr std::string_view kAs = " as ";
    if (shape.rule != nullptr && shape.rule->name.find(kAs) != std::string_view::npos) {
        return std::string(shape.rule->name.substr(shape.rule->name.find(kAs) + kAs.size()));
    }
    if (shape.scalar != nullptr && (shape.type == Type::kList || shape.type == Type::kMap)) {
        return example_of(*shape.scalar);
    }
    switch (shape.type) {
    case Type::kText:
    case Type::kValue:
    case Type::kName:
    case Type::kTextOrList:
        return "example";
    case Type::kCount:
        return shape.words.empty() ? "1" : std::string(shape.words[0]);
    case Type::kFlag:
        return "true";
    case Type::kDuration:
        return "30 min";
    case Type::kSize:
        return "4 GiB";
    case Type::kPath:
        return "path/to/file";
    case Type::kImage:
        return "app.sif";
    case Type::kScript:
        return "echo hello";
    case Type::kWord:
        return std::string(shape.words[0]);
    case Type::kList:
        return is_argv(shape) ? "[echo, hello]" : "[" + example_of(*shape.item) + "]";
    case Type::kMap:
        return shape.table->has_short_form ? example_of(*shape.table->fields.front().shape)
                                           : example_map(*shape.table, {});
    case Type::kArgvOrScript:
        return "[echo, hello]";
    }
    return {};
}

std::string example_of(const Field& field) {
    const bool is_folder = field.shape->type == Type::kPath && field.name.ends_with("dir");
    return is_folder ? "path/to/folder" : example_of(*field.shape);
}

std::string
help_for_scalar(const Shape& shape, const yaml::Node& value, const std::string& otherwise) {
    const bool has_type = shape.type == Type::kMap && shape.table->find("type") != nullptr &&
                          shape.table->fields.front().shape->type == Type::kCount;
    const std::size_t colon = value.scalar.find(':');
    if (!has_type || colon == std::string::npos || colon == 0 || colon + 1 == value.scalar.size() ||
        value.scalar.find_first_not_of("0123456789", colon + 1) != std::string::npos) {
        return otherwise;
    }
    return write("{count: " + value.scalar.substr(colon + 1) +
                 ", type: " + yaml::flow_value(value.scalar.substr(0, colon)) + "}");
}

std::string
help_for_value(const Shape& shape, const yaml::Node& value, const yaml::Source& source) {
    const std::string line = source.place(value.mark).text;
    const std::string_view flow = flow_text(line, value);
    switch (shape.type) {
    case Type::kList:
        return help_for_list(shape, value, flow);
    case Type::kArgvOrScript:
        return "write for example `" + example_of(shape) + "`";
    case Type::kMap:
        return help_for_map(shape, value, flow);
    default:
        break;
    }
    const bool is_pair = value.kind == Kinds::kMapping && value.entries.size() == 1 &&
                         value.entries.front().first.kind == Kinds::kScalar &&
                         value.entries.front().second.kind == Kinds::kScalar;
    if ((shape.type == Type::kText || shape.type == Type::kValue) &&
        is_pair) { // `a: b`, which yaml reads as a map
        const std::string text =
            value.entries.front().first.scalar + ": " + value.entries.front().second.scalar;
        return write(yaml::flow_value(with_rest(text, line, value.mark)));
    }
    if (value.kind == Kinds::kSequence && value.items.size() == 1 &&
        value.items.front().kind == Kinds::kScalar && !flow.empty()) {
        return write(value.items.front().scalar);
    }
    return "write for example `" + example_of(shape) + "`";
}

} // namespace cybele::document
