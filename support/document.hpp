// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"
#include "support/yaml.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Documents that users write, described by tables: one table a kind of document, from which come
/// the reader's checks, the JSON schema and the table of the reference page.
namespace cybele::document {

struct Table;

/// The types of docs/reference/documents.md, section "Types".
enum class Type {
    kText,     ///< one line, not empty
    kValue,    ///< one line, may be empty
    kName,     ///< see is_name()
    kCount,    ///< decimal integer, or one of `words`
    kFlag,     ///< true, false
    kDuration, ///< see parse_duration()
    kSize,     ///< see parse_size()
    kPath,     ///< relative, absolute or `~/`
    kImage,    ///< see image_reference_fault()
    kScript,   ///< several lines
    kWord,     ///< one of `words`
    kList,     ///< of `item`
    kMap,      ///< `table`; a scalar where it has a short form or `scalar` says so
    kArgvOrScript,
    kTextOrList,
};

/// What is wrong with a value; an empty `because` means that nothing is.
struct ValueFault {
    std::string because;
    std::string help;
};

/// A form that a text must have.
struct Rule {
    std::string_view name;    ///< "a network as 10.0.0.0/24", for messages
    std::string_view pattern; ///< ECMA 262, for the schema
    ValueFault (*check)(std::string_view text) = nullptr;
};

struct Shape {
    Type type = Type::kText;
    std::span<const std::string_view> words{};
    const Shape* item = nullptr;
    const Table* table = nullptr;
    const Shape* scalar = nullptr; ///< of a map or list: a scalar may stand in its place
    const Rule* rule = nullptr;
};

struct Field {
    std::string_view name;
    const Shape* shape = nullptr;
    std::string_view description; ///< one line
    bool is_required = false;
    std::string_view by_default{}; ///< as written in yaml; empty: unset
    std::string_view not_yet{};    ///< what this version cannot do with it, for "not yet: …"
};

/// Fields that exclude one another.
struct Group {
    std::span<const std::string_view> fields;
    bool is_required = false; ///< exactly one of them, else at most one
};

/// The fields of a map. A map with free keys has `rest`.
struct Table {
    std::string_view title; ///< "resources", for messages and headings
    std::span<const Field> fields{};
    const Table* more = nullptr; ///< further fields, shared with another table
    std::span<const Group> groups{};
    const Shape* rest = nullptr;    ///< of values under keys that are no field
    const Rule* rest_key = nullptr; ///< form of such keys
    /// "text | map": a scalar in the map's place is its first field.
    bool has_short_form = false;

    [[nodiscard]] const Field* find(std::string_view name) const;
    /// Those of `more` come last.
    [[nodiscard]] std::vector<const Field*> all() const;
};

/// One kind of document.
struct Kind {
    std::string_view name;        ///< "Job"
    std::string_view description; ///< one line
    const Table* table = nullptr;
};

/// All kinds, for messages about a wrong one.
inline constexpr std::string_view kKindNames[] = {
    "Bridge", "Job", "Lock", "Policy", "Project", "Recipe", "Site"};

class View;

/// A document that has been walked: its tree, the places of its fields, its faults so far.
class Reading {
public:
    /// Parses and checks everything. Fails (kInput) where nothing can be read at all: no yaml, no
    /// map, another kind. Other faults are collected in faults().
    [[nodiscard]] static Result<Reading>
    open(const Kind& kind, std::string text, const std::string& file);
    /// The same for a tree that was parsed and changed already.
    [[nodiscard]] static Result<Reading> open(const Kind& kind, yaml::Document document);

    [[nodiscard]] View root() const;
    [[nodiscard]] const yaml::Source& source() const {
        return document_.source;
    }
    [[nodiscard]] const yaml::Node& tree() const {
        return document_.root;
    }
    /// Dotted path ("resources.time", "queues[0].name") → where the value stands.
    [[nodiscard]] const std::map<std::string, yaml::Mark>& marks() const {
        return marks_;
    }
    [[nodiscard]] Faults& faults() {
        return faults_;
    }
    /// No fault at that field nor below it; so a check across fields may look at it.
    [[nodiscard]] bool is_good(std::string_view path) const;
    /// Adds a fault at a field, or at the document's start where it is not written.
    void complain(std::string_view path,
                  Problem problem,
                  std::string because = {},
                  std::string help = {});
    /// "not yet: …" for each field that is written and has such a text in its table, in the file's
    /// order.
    [[nodiscard]] const std::vector<Fault>& not_yet() const {
        return not_yet_;
    }

private:
    friend class Walk;
    explicit Reading(const Kind& kind, yaml::Document document, std::string during)
        : kind_(&kind), document_(std::move(document)), faults_(std::move(during)) {}
    const Kind* kind_;
    yaml::Document document_;
    std::map<std::string, yaml::Mark> marks_;
    std::set<std::string> bad_;
    Faults faults_;
    std::vector<Fault> not_yet_;
};

/// A fault of a document's reader (kInput) at a mark; line 0 means without a place in the file.
[[nodiscard]] Fault fault_at(const yaml::Source& source,
                             yaml::Mark mark,
                             Problem problem,
                             std::string because = {},
                             std::string help = {});

/// The marks' entry for a field, or for the nearest field around it, or {1, 1}.
[[nodiscard]] yaml::Mark mark_of(const std::map<std::string, yaml::Mark>& marks,
                                 std::string_view path);

/// Checks `text` as a scalar of that shape; nothing wrong: an empty `because`. Pure.
[[nodiscard]] ValueFault check_scalar(const Shape& shape, std::string_view text, bool is_plain);

/// "a duration", "one of cuda, rocm, oneapi": what a shape wants, for messages and pages.
[[nodiscard]] std::string describe(const Shape& shape);

/// The kind's JSON schema (draft 2020-12), the same bytes for the same table, with a final newline.
[[nodiscard]] std::string json_schema(const Kind& kind);

/// The tables of fields of the kind's reference page, as Markdown.
[[nodiscard]] std::string reference_tables(const Kind& kind);

/// What the tables say of one field: its type, default and meaning, and the fields of its map.
/// `path` is dotted, below the kind ("resources.time"); items of a list have no segment. kUsage: a
/// field of that name is not there.
[[nodiscard]] Result<std::string> explain_field(const Kind& kind, std::string_view path);

} // namespace cybele::document
