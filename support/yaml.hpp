// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cybele::yaml {

/// Line and column, both from 1.
struct Mark {
    std::size_t line = 0;
    std::size_t column = 0;
    std::size_t file = 0; ///< of a Source with several files; 0 is the first
};

struct Entry;

/// One value of a document. Scalars keep their text: the field decides the type, not yaml's guess.
struct Node {
    enum class Kind { kNull, kScalar, kSequence, kMapping };

    Kind kind = Kind::kNull;
    std::string scalar;         ///< of a scalar
    bool is_plain = true;       ///< scalar without quotes and no block: `true`, `4`, `debian:12`
    std::vector<Node> items;    ///< of a sequence
    std::vector<Entry> entries; ///< of a mapping, in the file's order; keys are scalars
    Mark mark;

    [[nodiscard]] const Node* find(std::string_view key) const;
};

/// A key, always a scalar, and its value.
struct Entry {
    Node first;
    Node second;
};

/// A file's text, for positions in messages.
class Source {
public:
    Source(std::string file, std::string text);
    [[nodiscard]] const std::string& file() const {
        return *file_;
    }
    [[nodiscard]] const std::string& text() const {
        return *text_;
    }
    /// The position with the line's text, for a caret.
    [[nodiscard]] Place place(Mark mark) const;
    /// Takes another file in (a document may be put together from several); gives its Mark::file.
    std::size_t add(const Source& other);

private:
    std::shared_ptr<const std::string> file_;
    std::shared_ptr<const std::string> text_;
    std::vector<Source> more_;
};

struct Document {
    Source source;
    Node root;
};

/// Reads one document with positions. Refused (kInput): what is no yaml, a second document,
/// anchors, aliases, merge keys, tags, duplicate keys, keys that are no scalars, bytes that are not
/// UTF-8, nesting deeper than 64.
[[nodiscard]] Result<Document> parse(std::string text, std::string file);

} // namespace cybele::yaml
