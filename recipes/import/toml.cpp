// SPDX-License-Identifier: Apache-2.0
#include "recipes/import/toml.hpp"

#include "support/document.hpp"

#include <optional>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = Node::Kind;

/// Bounds the recursion of the reader; real files nest a few levels.
constexpr int kDeepestValue = 50;

class TomlReader {
public:
    TomlReader(const yaml::Source& source, std::size_t file)
        : source_(source), text_(source.text()), file_(file) {}

    Result<Node> run() {
        Node root = node(Kind::kMapping);
        Node* table = &root;
        while (skip_lines() && is_good_) {
            if (peek() == '[') {
                table = header(root);
            } else {
                pair(*table);
            }
            line_end();
            if (table == nullptr) {
                break;
            }
        }
        if (!is_good_) {
            return fail(
                Error(document::fault_at(source_,
                                         fault_,
                                         problem("toml-invalid", "this is not TOML: " + why_),
                                         "the file follows the form of TOML 1.0",
                                         "create the file again with the tool that wrote "
                                         "it")));
        }
        return root;
    }

private:
    [[nodiscard]] char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }
    [[nodiscard]] yaml::Mark mark() const {
        return {line_, at_ - line_begin_ + 1, file_};
    }
    [[nodiscard]] Node node(Kind kind) const {
        Node own;
        own.kind = kind;
        own.mark = mark();
        return own;
    }
    void wrong(std::string why) {
        if (is_good_) {
            is_good_ = false;
            why_ = std::move(why);
            fault_ = mark();
        }
    }
    void next() {
        if (peek() == '\n') {
            ++line_;
            line_begin_ = at_ + 1;
        }
        ++at_;
    }
    void blanks() {
        while (peek() == ' ' || peek() == '\t') {
            ++at_;
        }
    }
    void comment() {
        while (at_ < text_.size() && peek() != '\n') {
            ++at_;
        }
    }
    /// Blanks, comments and ends of lines; whether anything follows.
    bool skip_lines() {
        while (at_ < text_.size()) {
            const char c = peek();
            if (c == '#') {
                comment();
            } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
                next();
            } else {
                return true;
            }
        }
        return false;
    }
    void line_end() {
        blanks();
        if (peek() == '#') {
            comment();
        }
        if (peek() == '\r') {
            ++at_;
        }
        if (at_ < text_.size() && peek() != '\n') {
            wrong("more follows on this line");
        }
    }

    Node key_part() {
        blanks();
        if (peek() == '"' || peek() == '\'') {
            return string();
        }
        Node own = node(Kind::kScalar);
        while ((peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z') ||
               (peek() >= '0' && peek() <= '9') || peek() == '-' || peek() == '_') {
            own.scalar += peek();
            ++at_;
        }
        if (own.scalar.empty()) {
            wrong("a key is missing");
        }
        return own;
    }
    std::vector<Node> key() {
        std::vector<Node> parts;
        do {
            parts.push_back(key_part());
            blanks();
        } while (is_good_ && peek() == '.' && ++at_ > 0);
        return parts;
    }

    static Node* found(Node& map, const std::string& name) {
        for (auto& entry : map.entries) {
            if (entry.first.scalar == name) {
                return &entry.second;
            }
        }
        return nullptr;
    }
    /// The map below `key`; of a list, its last one. nullptr: something else has that name.
    Node* below(Node& map, const Node& key) {
        Node* own = found(map, key.scalar);
        if (own == nullptr) {
            Node fresh = node(Kind::kMapping);
            fresh.mark = key.mark;
            map.entries.push_back({key, std::move(fresh)});
            own = &map.entries.back().second;
        }
        if (own->kind == Kind::kSequence && !own->items.empty()) {
            own = &own->items.back();
        }
        if (own->kind != Kind::kMapping) {
            wrong("'" + key.scalar + "' is set already");
            return nullptr;
        }
        return own;
    }
    Node* header(Node& root) {
        const bool is_list = peek(1) == '[';
        const yaml::Mark begin = mark();
        at_ += is_list ? 2 : 1;
        const std::vector<Node> parts = key();
        for (int i = 0; i < (is_list ? 2 : 1); ++i) {
            if (peek() != ']') {
                wrong("a `]` is missing");
            }
            ++at_;
        }
        Node* table = &root;
        for (std::size_t i = 0; is_good_ && table != nullptr && i + 1 < parts.size(); ++i) {
            table = below(*table, parts[i]);
        }
        if (!is_good_ || table == nullptr) {
            return nullptr;
        }
        if (!is_list) {
            return below(*table, parts.back());
        }
        Node* list = found(*table, parts.back().scalar);
        if (list == nullptr) {
            Node fresh = node(Kind::kSequence);
            fresh.mark = begin;
            table->entries.push_back({parts.back(), std::move(fresh)});
            list = &table->entries.back().second;
        }
        if (list->kind != Kind::kSequence) {
            wrong("'" + parts.back().scalar + "' is not a list");
            return nullptr;
        }
        list->items.push_back(node(Kind::kMapping));
        list->items.back().mark = begin;
        return &list->items.back();
    }

    void pair(Node& table, int depth = 0) {
        const std::vector<Node> parts = key();
        if (peek() != '=') {
            wrong("a `=` is missing");
            return;
        }
        ++at_;
        Node* map = &table;
        for (std::size_t i = 0; map != nullptr && i + 1 < parts.size(); ++i) {
            map = below(*map, parts[i]);
        }
        Node own = value(depth);
        if (map == nullptr || !is_good_) {
            return;
        }
        if (found(*map, parts.back().scalar) != nullptr) {
            wrong("'" + parts.back().scalar + "' is set already");
            return;
        }
        map->entries.push_back({parts.back(), std::move(own)});
    }

    Node value(int depth) {
        blanks();
        const char c = peek();
        if (depth > kDeepestValue) {
            wrong("it is nested too deeply");
            return {};
        }
        if (c == '"' || c == '\'') {
            return string();
        }
        return c == '[' ? list(depth) : c == '{' ? inline_table(depth) : word();
    }
    Node word() {
        Node own = node(Kind::kScalar);
        while (at_ < text_.size() &&
               std::string_view(",]}#\r\n").find(peek()) == std::string_view::npos) {
            own.scalar += peek();
            ++at_;
        }
        while (own.scalar.ends_with(' ') || own.scalar.ends_with('\t')) {
            own.scalar.pop_back();
        }
        if (own.scalar.empty()) {
            wrong("a value is missing");
        }
        return own;
    }
    Node list(int depth) {
        Node own = node(Kind::kSequence);
        ++at_;
        while (is_good_) {
            if (!skip_lines()) {
                wrong("a `]` is missing");
                break;
            }
            if (peek() == ']') {
                ++at_;
                break;
            }
            own.items.push_back(value(depth + 1));
            skip_lines();
            if (peek() == ',') {
                ++at_;
            } else if (peek() != ']') {
                wrong("a `,` or `]` is missing");
            }
        }
        return own;
    }
    Node inline_table(int depth) {
        Node own = node(Kind::kMapping);
        ++at_;
        while (is_good_) {
            if (!skip_lines()) {
                wrong("a `}` is missing");
                break;
            }
            if (peek() == '}') {
                ++at_;
                break;
            }
            pair(own, depth + 1);
            skip_lines();
            if (peek() == ',') {
                ++at_;
            } else if (peek() != '}') {
                wrong("a `,` or `}` is missing");
            }
        }
        return own;
    }
    Node string() {
        Node own = node(Kind::kScalar);
        own.is_plain = false;
        const char quote = peek();
        const bool is_long = peek(1) == quote && peek(2) == quote;
        at_ += is_long ? 3 : 1;
        while (at_ < text_.size()) {
            if (peek() == quote && (!is_long || (peek(1) == quote && peek(2) == quote))) {
                at_ += is_long ? 3 : 1;
                return own;
            }
            if (peek() == '\n' && !is_long) {
                break;
            }
            if (peek() == '\\' && quote == '"') {
                ++at_;
                const char c = peek();
                own.scalar += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
            } else {
                own.scalar += peek();
            }
            next();
        }
        wrong("a quote is not closed");
        return own;
    }

    const yaml::Source& source_;
    std::string_view text_;
    std::size_t file_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t line_begin_ = 0;
    bool is_good_ = true;
    std::string why_;
    yaml::Mark fault_;
};

} // namespace

Result<Node> parse_toml(const yaml::Source& source, std::size_t file) {
    return TomlReader(source, file).run();
}

} // namespace cybele::recipes
