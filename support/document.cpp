// SPDX-License-Identifier: Apache-2.0
#include "support/document.hpp"

#include "support/document_help.hpp"
#include "support/document_view.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"

#include <algorithm>

namespace cybele::document {

const Field* Table::find(std::string_view name) const {
    for (const auto& field : fields) {
        if (field.name == name) {
            return &field;
        }
    }
    return more != nullptr ? more->find(name) : nullptr;
}

std::vector<const Field*> Table::all() const {
    std::vector<const Field*> list;
    for (const Table* table = this; table != nullptr; table = table->more) {
        for (const auto& field : table->fields) {
            list.push_back(&field);
        }
    }
    return list;
}

Fault fault_at(const yaml::Source& source,
               yaml::Mark mark,
               Problem problem,
               std::string because,
               std::string help) {
    return Fault(ErrorCode::kInput,
                 std::move(problem),
                 std::move(because),
                 std::move(help),
                 mark.line == 0 ? Place{source.file(), 0, 0, {}} : source.place(mark));
}

yaml::Mark mark_of(const std::map<std::string, yaml::Mark>& marks, std::string_view path) {
    std::string name(path);
    while (!name.empty()) {
        if (const auto found = marks.find(name); found != marks.end()) {
            return found->second;
        }
        const auto cut = name.find_last_of(".[");
        name.resize(cut == std::string::npos ? 0 : cut);
    }
    return {1, 1};
}

View Reading::root() const {
    return {&document_.root, kind_->table, {}};
}

bool Reading::is_good(std::string_view path) const {
    return std::ranges::none_of(bad_, [&](const std::string& bad) {
        return bad.starts_with(path) &&
               (bad.size() == path.size() || bad[path.size()] == '.' || bad[path.size()] == '[');
    });
}

void Reading::complain(std::string_view path,
                       Problem problem,
                       std::string because,
                       std::string help) {
    bad_.insert(std::string(path));
    faults_.add(fault_at(document_.source,
                         mark_of(marks_, path),
                         std::move(problem),
                         std::move(because),
                         std::move(help)));
}

namespace {

/// The path of a field below another.
std::string dotted(const std::string& path, const std::string& name) {
    std::string whole = path;
    whole += path.empty() ? "" : ".";
    whole += name;
    return whole;
}

using Kinds = yaml::Node::Kind;

Fault object_of_kubernetes(const yaml::Source& source, yaml::Mark mark) {
    return fault_at(
        source,
        mark,
        problem("kubernetes-object", "this is a Kubernetes object, not one of our documents"),
        "it has an `apiVersion`",
        "turn it into a Job: `cybelectl job convert " + source.file() + "`");
}

/// Faults that say that this is no document of the kind at all.
std::optional<Fault> fault_of_head(const Kind& kind, const yaml::Document& document) {
    const yaml::Node& root = document.root;
    const std::string line = "`kind: " + std::string(kind.name) + "`";
    if (root.kind != Kinds::kMapping || root.entries.empty()) {
        return fault_at(
            document.source,
            root.mark,
            problem("document-not-a-map", "a " + std::string(kind.name) + " is a map of fields"),
            "every document is one",
            "add " + line + " as the first line");
    }
    for (const auto& [key, value] : root.entries) {
        if (key.scalar == "apiVersion") {
            return object_of_kubernetes(document.source, key.mark);
        }
    }
    const yaml::Node* name = root.find("kind");
    if (name == nullptr) {
        return fault_at(document.source,
                        root.entries.front().first.mark,
                        problem("kind-missing", "'kind' is missing"),
                        "the kind says what the fields mean",
                        "add " + line + " as the first line");
    }
    if (name->kind != Kinds::kScalar || name->scalar != kind.name) {
        const bool is_known = contains(kKindNames, std::string_view(name->scalar));
        const std::string near = nearest(name->scalar, kKindNames);
        const std::string help = near == kind.name ? "did you mean " + line + "?"
                                 : is_known ? help_for_document(kind, name->scalar, document.source)
                                            : "write " + line;
        return fault_at(document.source,
                        name->mark,
                        problem("kind-differs",
                                "a " + std::string(kind.name) + " is expected here, not kind '" +
                                    printable(name->scalar) + "'"),
                        is_known ? "the file is a document of another kind" : "no such kind exists",
                        help);
    }
    return std::nullopt;
}

std::string kind_of_node(const yaml::Node& node) {
    switch (node.kind) {
    case Kinds::kNull:
        return "nothing";
    case Kinds::kScalar:
        return "'" + printable(node.scalar.substr(0, 60)) + "'";
    case Kinds::kSequence:
        return "a list";
    case Kinds::kMapping:
        return "a map";
    }
    return {};
}

} // namespace

/// One pass over a tree with its table.
class Walk {
public:
    explicit Walk(Reading& reading) : reading_(reading) {}

    void head() {
        const auto& entries = reading_.document_.root.entries;
        if (entries.front().first.scalar != "kind") {
            tell("kind",
                 reading_.document_.root.find("kind")->mark,
                 problem("kind-not-first", "'kind' does not come first"),
                 "a reader must know what the fields mean before it meets them",
                 "move `kind: " + std::string(reading_.kind_->name) + "` to the first line");
        }
        const yaml::Node* format = reading_.document_.root.find("format");
        if (format == nullptr) {
            return;
        }
        if (format->kind != Kinds::kScalar || format->scalar != "1") {
            tell("format",
                 format->mark,
                 problem("format-unknown", "format " + kind_of_node(*format) + " is not known"),
                 "this version reads format 1",
                 "write `format: 1`, or use a newer cybelectl");
        } else if (entries.size() < 2 || entries[1].first.scalar != "format") {
            tell("format",
                 format->mark,
                 problem("format-not-second", "'format' does not follow 'kind'"),
                 "a reader must know the form before it meets the fields",
                 "move `format: 1` to the second line");
        }
    }

    void map(const Table& table, const yaml::Node& node, const std::string& path, bool is_root) {
        for (const auto& [key, value] : node.entries) {
            if (is_root && (key.scalar == "kind" || key.scalar == "format")) {
                continue;
            }
            const std::string inner = path.empty() ? key.scalar : path + "." + key.scalar;
            if (value.kind == Kinds::kNull) {
                // a value that is not there has no place of its own
                yaml::Node absent;
                absent.mark = key.mark;
                entry(table, key, absent, inner);
                continue;
            }
            entry(table, key, value, inner);
        }
        missing(table, node, path);
        groups(table, node, path);
    }

private:
    void entry(const Table& table,
               const yaml::Node& key,
               const yaml::Node& value,
               const std::string& inner) {
        if (const Field* field = table.find(key.scalar)) {
            described(*field, key, value, inner);
        } else if (table.rest != nullptr) {
            free_key(table, key, inner);
            any(*table.rest, value, inner);
        } else {
            unknown(table, key, inner);
        }
    }

    void described(const Field& field,
                   const yaml::Node& key,
                   const yaml::Node& value,
                   const std::string& path) {
        if (!field.not_yet.empty()) {
            Fault fault =
                fault_at(reading_.document_.source,
                         key.mark,
                         problem("field-not-supported-yet",
                                 "not supported yet: " + std::string(field.not_yet)),
                         "this version reads and checks '" + path + "', but cannot act on it",
                         "leave '" + path + "' out");
            reading_.not_yet_.push_back(std::move(fault));
        }
        const bool is_empty = value.kind == Kinds::kScalar && value.scalar.empty();
        if (value.kind == Kinds::kNull ||
            (is_empty && !check_scalar(*field.shape, "", false).because.empty())) {
            reading_.marks_[path] = value.mark;
            tell(path,
                 value.mark,
                 problem("field-without-value", "'" + path + "' has no value"),
                 "it requires " + describe(*field.shape),
                 help_without_value(field, value, reading_.document_.source));
            return;
        }
        any(*field.shape, value, path);
    }

    void free_key(const Table& table, const yaml::Node& key, const std::string& path) {
        const Rule* rule = table.rest_key;
        ValueFault complaint = rule != nullptr ? rule->check(key.scalar)
                                               : check_scalar(Shape{}, key.scalar, key.is_plain);
        if (!complaint.because.empty()) {
            tell(path,
                 key.mark,
                 problem("field-key-malformed",
                         "the key '" + printable(key.scalar) + "' is not " +
                             (rule != nullptr ? std::string(rule->name) : "a text")),
                 complaint.because,
                 complaint.help);
        }
    }

    /// Reports a field of `where`, or a word of the field `where`, that earlier versions accepted.
    bool is_removed(std::string_view where, const yaml::Node& word, const std::string& path) {
        const Removed* removed = find_removed(where, word.scalar);
        if (removed != nullptr) {
            tell(path,
                 word.mark,
                 problem("field-removed", "'" + word.scalar + "' is not supported any more"),
                 std::string(removed->because),
                 std::string(removed->help));
        }
        return removed != nullptr;
    }

    void unknown(const Table& table, const yaml::Node& key, const std::string& path) {
        if (is_removed(table.title, key, path)) {
            return;
        }
        std::string list;
        for (const Field* field : table.all()) {
            list += (list.empty() ? "" : ", ") + std::string(field->name);
        }
        tell(path,
             key.mark,
             problem("field-unknown", "unknown field '" + printable(key.scalar) + "'"),
             "'" + std::string(table.title) + "' has these: " + list,
             help_for_unknown(table, key, reading_.document_.source));
    }

    void missing(const Table& table, const yaml::Node& node, const std::string& path) {
        for (const Field* field : table.all()) {
            if (!field->is_required || node.find(field->name) != nullptr) {
                continue;
            }
            const std::string name(field->name);
            if (is_meant(table, node, name)) {
                continue; // told at the field that is written
            }
            tell(dotted(path, name),
                 node.mark,
                 problem("field-missing", "'" + name + "' is missing"),
                 "'" + std::string(table.title) + "' needs it: " + std::string(field->description),
                 "add `" + name + ": " + example_of(*field) + "`");
        }
    }

    /// Whether a field that the table does not have is a field of that name, mistyped.
    static bool is_meant(const Table& table, const yaml::Node& node, const std::string& name) {
        return table.rest == nullptr &&
               std::ranges::any_of(node.entries, [&](const yaml::Entry& entry) {
                   return table.find(entry.first.scalar) == nullptr &&
                          help_for_field(table, entry.first.scalar) ==
                              "did you mean `" + name + "`?";
               });
    }

    void groups(const Table& table, const yaml::Node& node, const std::string& path) {
        for (const Table* part = &table; part != nullptr; part = part->more) {
            for (const auto& group : part->groups) {
                one_group(table, group, node, path);
            }
        }
    }

    void one_group(const Table& table,
                   const Group& group,
                   const yaml::Node& node,
                   const std::string& path) {
        std::string names;
        std::vector<const yaml::Node*> written;
        for (const auto field : group.fields) {
            names += (names.empty() ? "'" : ", '") + std::string(field) + "'";
            for (const auto& entry : node.entries) {
                if (entry.first.scalar == field) {
                    written.push_back(&entry.first);
                }
            }
        }
        if (written.size() > 1) {
            tell(path + "." + written[1]->scalar,
                 written[1]->mark,
                 problem("fields-exclude-each-other",
                         "'" + written[1]->scalar + "' and '" + written[0]->scalar +
                             "' exclude each other"),
                 "'" + std::string(table.title) + "' accepts only one of " + names,
                 "remove `" + written[1]->scalar + "`, or remove `" + written[0]->scalar + "`");
        } else if (written.empty() && group.is_required) {
            tell(path,
                 node.mark,
                 problem("one-field-missing", "one of " + names + " is missing"),
                 "'" + std::string(table.title) + "' needs exactly one of them",
                 "add `" + std::string(group.fields[0]) + ": " +
                     example_of(*table.find(group.fields[0])->shape) + "`");
        }
    }

    void any(const Shape& shape, const yaml::Node& value, const std::string& path) {
        reading_.marks_[path] = value.mark;
        switch (value.kind) {
        case Kinds::kNull:
            tell(path,
                 value.mark,
                 problem("item-without-value", "'" + path + "' has no value"),
                 "it requires " + describe(shape),
                 "remove the item");
            return;
        case Kinds::kScalar:
            scalar(shape, value, path);
            return;
        case Kinds::kSequence:
            sequence(shape, value, path);
            return;
        case Kinds::kMapping:
            if (shape.type == Type::kMap) {
                map(*shape.table, value, path, false);
            } else {
                wrong(shape, value, path);
            }
            return;
        }
    }

    void scalar(const Shape& shape, const yaml::Node& value, const std::string& path) {
        const Shape* wanted = &shape;
        if (shape.type == Type::kMap) {
            wanted = shape.scalar;
            if (shape.table->has_short_form) {
                wanted = shape.table->fields.front().shape;
                reading_.marks_[path + "." + std::string(shape.table->fields.front().name)] =
                    value.mark;
            }
        } else if (shape.type == Type::kList) {
            wanted = shape.scalar;
        }
        if (wanted == nullptr || wanted->type == Type::kList) {
            wrong(shape, value, path);
            return;
        }
        if (is_removed(path, value, path)) {
            return;
        }
        const ValueFault complaint = check_scalar(*wanted, value.scalar, value.is_plain);
        if (!complaint.because.empty()) {
            tell(path,
                 value.mark,
                 problem("field-value",
                         "'" + path + "' requires " + describe(*wanted) + ", not " +
                             kind_of_node(value)),
                 complaint.because,
                 help_for_scalar(shape, value, complaint.help));
        }
    }

    void sequence(const Shape& shape, const yaml::Node& value, const std::string& path) {
        static constexpr Shape kWordOfArgv{.type = Type::kValue};
        static constexpr Shape kAlternative{.type = Type::kText};
        const Shape* item = shape.type == Type::kList           ? shape.item
                            : shape.type == Type::kArgvOrScript ? &kWordOfArgv
                            : shape.type == Type::kTextOrList   ? &kAlternative
                                                                : nullptr;
        if (item == nullptr) {
            wrong(shape, value, path);
            return;
        }
        for (std::size_t i = 0; i < value.items.size(); ++i) {
            any(*item, value.items[i], path + "[" + std::to_string(i) + "]");
        }
    }

    void wrong(const Shape& shape, const yaml::Node& value, const std::string& path) {
        tell(path,
             value.mark,
             problem("field-type",
                     "'" + path + "' requires " + describe(shape) + ", not " + kind_of_node(value)),
             "the field decides the type",
             help_for_value(shape, value, reading_.document_.source));
    }

    void tell(const std::string& path,
              yaml::Mark mark,
              Problem problem,
              std::string because,
              std::string help) {
        reading_.bad_.insert(path);
        reading_.faults_.add(fault_at(reading_.document_.source,
                                      mark,
                                      std::move(problem),
                                      std::move(because),
                                      std::move(help)));
    }

    Reading& reading_;
};

namespace {

std::string reading_of(const Kind& kind, const std::string& file) {
    return "reading the " + std::string(kind.name) + " '" + printable(file) + "'";
}

} // namespace

Result<Reading> Reading::open(const Kind& kind, yaml::Document document) {
    std::string what = reading_of(kind, document.source.file());
    if (auto fault = fault_of_head(kind, document)) {
        return fail(Error(std::move(*fault)).with_context(what));
    }
    Reading reading(kind, std::move(document), std::move(what));
    Walk walk(reading);
    walk.head();
    walk.map(*kind.table, reading.document_.root, {}, true);
    return reading;
}

Result<Reading> Reading::open(const Kind& kind, std::string text, const std::string& file) {
    const std::string what = reading_of(kind, file);
    if (auto fault = fault_of_file(kind, text, file)) {
        return fail(Error(std::move(*fault)).with_context(what));
    }
    CYBELE_TRY(yaml::Document document, yaml::parse(std::move(text), file).map_error(during(what)));
    return open(kind, std::move(document));
}

} // namespace cybele::document
