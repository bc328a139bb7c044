// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/toml.hpp"

#include "support/document.hpp"
#include "support/quote.hpp"

#include <algorithm>
#include <sstream>

// Headers alone: Debian has no archive for the static program.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// Bounds the recursion of the reader; real files nest a few levels.
#define TOML_MAX_NESTED_VALUES 50
#include <toml++/toml.h>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

/// Parts of a dotted key: each is a table in a table, of which toml++ 3.3 has no bound of its own.
constexpr std::size_t kLongestKey = 128;

Error toml_fault(const yaml::Source& source, yaml::Mark mark, std::string_view why) {
    return Error(document::fault_at(source,
                                    mark,
                                    problem("toml-invalid", "this is not TOML: " + printable(why)),
                                    "the file follows the form of TOML 1.0",
                                    "create the file again with the tool that wrote it"));
}

/// Where a line has more dots than a key may have, without what ends a key.
std::optional<yaml::Mark> longest_key(std::string_view text, std::size_t file) {
    yaml::Mark mark{1, 0, file};
    std::size_t dots = 0;
    for (const char c : text) {
        ++mark.column;
        dots = c == '=' || c == ',' || c == '\n' ? 0 : dots + (c == '.' ? 1U : 0U);
        if (dots > kLongestKey) {
            return mark;
        }
        if (c == '\n') {
            ++mark.line;
            mark.column = 0;
        }
    }
    return std::nullopt;
}

class TomlTree {
public:
    explicit TomlTree(std::size_t file) : file_(file) {}

    [[nodiscard]] Node node_of(const toml::node& value) const {
        Node own;
        own.mark = mark(value.source().begin);
        if (const auto* table = value.as_table()) {
            own.kind = Kind::kMapping;
            entries(*table, own);
        } else if (const auto* list = value.as_array()) {
            own.kind = Kind::kSequence;
            for (const auto& item : *list) {
                own.items.push_back(node_of(item));
            }
        } else {
            own.kind = Kind::kScalar;
            scalar(value, own);
        }
        return own;
    }

private:
    [[nodiscard]] yaml::Mark mark(const toml::source_position& at) const {
        return {std::max<std::size_t>(at.line, 1), std::max<std::size_t>(at.column, 1), file_};
    }

    /// toml++ orders tables by their keys; a Recipe follows the file.
    void entries(const toml::table& table, Node& own) const {
        for (const auto& [name, value] : table) {
            Node key;
            key.kind = Kind::kScalar;
            key.scalar = std::string(name.str());
            key.mark = mark(name.source().begin);
            own.entries.push_back({std::move(key), node_of(value)});
        }
        std::stable_sort(own.entries.begin(), own.entries.end(), [](const auto& a, const auto& b) {
            return std::pair(a.first.mark.line, a.first.mark.column) <
                   std::pair(b.first.mark.line, b.first.mark.column);
        });
    }

    static void scalar(const toml::node& value, Node& own) {
        if (const auto* text = value.as_string()) {
            own.scalar = text->get();
            own.is_plain = false;
            return;
        }
        std::ostringstream words;
        value.visit([&](const auto& exact) {
            if constexpr (toml::is_boolean<decltype(exact)>) {
                words << (exact.get() ? "true" : "false");
            } else if constexpr (toml::is_value<decltype(exact)>) {
                words << exact.get();
            }
        });
        own.scalar = words.str();
    }

    std::size_t file_;
};

} // namespace

Result<Node> parse_toml(const yaml::Source& source, std::size_t file) {
    if (const auto mark = longest_key(source.text(), file)) {
        return fail(toml_fault(source, *mark, "a key has too many parts"));
    }
    const toml::parse_result parsed = toml::parse(std::string_view(source.text()));
    if (!parsed) {
        const auto& at = parsed.error().source().begin;
        return fail(toml_fault(source, {at.line, at.column, file}, parsed.error().description()));
    }
    return TomlTree(file).node_of(parsed.table());
}

} // namespace cybele::recipes
