// SPDX-License-Identifier: Apache-2.0
#include "support/document.hpp"

#include <set>

#include <nlohmann/json.hpp>

namespace cybele::document {
namespace {

using Json = nlohmann::ordered_json;

/// A type that many fields share, written once below `$defs`.
struct Shared {
    Type type;
    std::string_view name;
    std::string_view description;
    std::string_view pattern;
};

constexpr Shared kShared[] = {
    {Type::kText, "text", "one line, not empty", ""},
    {Type::kValue, "value", "one line, may be empty", ""},
    {Type::kName, "name", "a name", "^[a-z]([a-z0-9-]{0,48}[a-z0-9])?$"},
    {Type::kDuration,
     "duration",
     "90 s, 30 min, 1h30m, 2 d, 01:30:00, 1-12:00:00",
     "^(([0-9]{1,9} *d)?( *[0-9]{1,9} *h)?( *[0-9]{1,9} *m(in)?)?( *[0-9]{1,9} *s)?|([0-9]{1,9}-)?"
     "[0-9]{1,9}:[0-5][0-9]:[0-5][0-9])$"},
    {Type::kSize, "size", "512 MiB, 4GiB, 4G (= GiB)", "^[0-9]+ *[KMGTP](iB)?$"},
    {Type::kPath, "path", "a/b, /a, ~/a", "^([^~]|~/)"},
    {Type::kImage,
     "image",
     "path, store:NAME[:TAG], oras://, docker://, library://; @sha256:… may follow",
     ""},
    {Type::kScript, "script", "lines for a POSIX shell under set -eu", ""},
};

const Shared* shared_of(const Shape& shape) {
    for (const auto& entry : kShared) {
        if (entry.type == shape.type) {
            return &entry;
        }
    }
    return nullptr;
}

Json json_words(std::span<const std::string_view> words) {
    Json list = Json::array();
    for (const auto word : words) {
        list.push_back(std::string(word));
    }
    return list;
}

Json unquoted_text() {
    return Json::array({"string", "number", "boolean"});
}

class Writer {
public:
    Json map(const Table& table, const Kind* kind) {
        Json schema;
        schema["type"] = "object";
        Json properties = Json::object();
        Json required = Json::array();
        if (kind != nullptr) {
            properties["kind"] = {{"const", std::string(kind->name)}};
            properties["format"] = {{"const", 1}};
            required.push_back("kind");
        }
        for (const Field* field : table.all()) {
            properties[std::string(field->name)] = of_field(*field);
            if (field->is_required) {
                required.push_back(std::string(field->name));
            }
        }
        schema["properties"] = std::move(properties);
        if (!required.empty()) {
            schema["required"] = std::move(required);
        }
        if (table.rest != nullptr) {
            schema["additionalProperties"] = of_shape(*table.rest);
            if (table.rest_key != nullptr) {
                schema["propertyNames"] = {{"pattern", std::string(table.rest_key->pattern)}};
            }
        } else {
            schema["additionalProperties"] = false;
        }
        add_groups(table, schema);
        return schema;
    }

    [[nodiscard]] Json definitions() const {
        Json list = Json::object();
        for (const auto& entry : kShared) {
            if (!used_.contains(entry.type)) {
                continue;
            }
            Json definition;
            const bool is_text = entry.type == Type::kText || entry.type == Type::kValue;
            definition["description"] = std::string(entry.description);
            definition["type"] = is_text ? unquoted_text() : Json("string");
            if (entry.type != Type::kValue) {
                definition["minLength"] = 1;
            }
            if (!entry.pattern.empty()) {
                definition["pattern"] = std::string(entry.pattern);
            }
            list[std::string(entry.name)] = std::move(definition);
        }
        return list;
    }

private:
    static void add_groups(const Table& table, Json& schema) {
        Json all = Json::array();
        for (const Table* part = &table; part != nullptr; part = part->more) {
            for (const auto& group : part->groups) {
                Json one = Json::array();
                for (const auto field : group.fields) {
                    one.push_back({{"required", Json::array({std::string(field)})}});
                }
                if (!group.is_required) {
                    Json none = Json::object();
                    none["not"] = {{"anyOf", one}};
                    one.push_back(std::move(none));
                }
                all.push_back({{"oneOf", std::move(one)}});
            }
        }
        if (!all.empty()) {
            schema["allOf"] = std::move(all);
        }
    }

    Json of_field(const Field& field) {
        Json schema = of_shape(*field.shape);
        schema["description"] = std::string(field.description);
        if (!field.by_default.empty()) {
            schema["default"] = default_of(*field.shape, std::string(field.by_default));
        }
        return schema;
    }

    static Json default_of(const Shape& shape, const std::string& text) {
        switch (shape.type) {
        case Type::kFlag:
            return text == "true";
        case Type::kCount:
            return text.find_first_not_of("0123456789") == std::string::npos
                       ? Json(std::stoul(text))
                       : Json(text);
        case Type::kMap:
            return shape.table->has_short_form
                       ? default_of(*shape.table->fields.front().shape, text)
                       : Json(text);
        case Type::kList: {
            Json list = Json::array();
            std::string rest = text.substr(1, text.size() - 2);
            while (!rest.empty()) {
                const auto comma = rest.find(", ");
                list.push_back(rest.substr(0, comma));
                rest = comma == std::string::npos ? std::string{} : rest.substr(comma + 2);
            }
            return list;
        }
        default:
            return text;
        }
    }

    Json of_shape(const Shape& shape) {
        Json schema = of_type(shape);
        if (shape.rule != nullptr && !shape.rule->pattern.empty()) {
            schema["pattern"] = std::string(shape.rule->pattern);
        }
        return schema;
    }

    Json of_type(const Shape& shape) {
        if (const Shared* shared = shared_of(shape)) {
            used_.insert(shape.type);
            return {{"$ref", "#/$defs/" + std::string(shared->name)}};
        }
        switch (shape.type) {
        case Type::kCount: {
            Json number = {{"type", "integer"}, {"minimum", 0}, {"maximum", 999999999}};
            if (shape.words.empty()) {
                return number;
            }
            return {{"anyOf", Json::array({number, {{"enum", json_words(shape.words)}}})}};
        }
        case Type::kFlag:
            return {{"type", "boolean"}};
        case Type::kWord:
            return {{"enum", json_words(shape.words)}};
        case Type::kList:
            if (shape.scalar != nullptr) {
                return either(*shape.scalar, *shape.item);
            }
            return {{"type", "array"}, {"items", of_shape(*shape.item)}};
        case Type::kMap:
            return of_map(shape);
        case Type::kArgvOrScript:
            return either({.type = Type::kScript}, {.type = Type::kValue});
        default:
            return either({.type = Type::kText}, {.type = Type::kText});
        }
    }

    Json either(const Shape& scalar, const Shape& item) {
        Json list = {{"type", "array"}, {"items", of_shape(item)}};
        return {{"anyOf", Json::array({of_shape(scalar), std::move(list)})}};
    }

    Json of_map(const Shape& shape) {
        const Shape* scalar =
            shape.table->has_short_form ? shape.table->fields.front().shape : shape.scalar;
        if (scalar == nullptr || scalar->type == Type::kList) {
            return map(*shape.table, nullptr);
        }
        Json text = of_shape(*scalar);
        return {{"anyOf", Json::array({std::move(text), map(*shape.table, nullptr)})}};
    }

    std::set<Type> used_;
};

} // namespace

std::string json_schema(const Kind& kind) {
    Writer writer;
    Json fields = writer.map(*kind.table, &kind);
    Json schema;
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    schema["title"] = std::string(kind.name);
    schema["description"] = std::string(kind.description);
    schema.update(fields);
    schema["$defs"] = writer.definitions();
    return schema.dump(2) + "\n";
}

} // namespace cybele::document
