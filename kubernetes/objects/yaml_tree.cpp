// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/yaml_tree.hpp"

#include "kubernetes/objects/literal_block.hpp"
#include "support/characters.hpp"
#include "support/find.hpp"
#include "support/quote.hpp"
#include "support/text.hpp"
#include "support/yaml_print.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

/// What yaml 1.1 reads as a flag, as nothing or as no number, in any case of letters.
constexpr std::array<std::string_view, 11> kMeaningful{
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"};

bool is_inner(char character) {
    return is_letter(character) || is_digit(character) ||
           std::string_view("-_./").find(character) != std::string_view::npos;
}

class Writer {
public:
    [[nodiscard]] Result<void> put(const Tree& tree, std::size_t indentation);
    std::string text;

private:
    [[nodiscard]] Result<void> put_list(const Tree::List& list, std::size_t indentation);
    [[nodiscard]] Result<void> put_map(const Tree::Map& map, std::size_t indentation);
    /// A value behind `key:` or `-`.
    [[nodiscard]] Result<void> put_value(const Tree& tree, std::size_t indentation);
};

bool is_scalar(const Tree& tree) {
    return !std::holds_alternative<Tree::List>(tree.held()) &&
           !std::holds_alternative<Tree::Map>(tree.held());
}

bool is_empty(const Tree& tree) {
    if (const auto* list = std::get_if<Tree::List>(&tree.held())) {
        return list->empty();
    }
    const auto* map = std::get_if<Tree::Map>(&tree.held());
    return map != nullptr && map->empty();
}

Result<void> Writer::put_value(const Tree& tree, std::size_t indentation) {
    const auto& held = tree.held();
    if (const auto* flag = std::get_if<bool>(&held)) {
        text += *flag ? "true\n" : "false\n";
        return {};
    }
    if (const auto* number = std::get_if<std::int64_t>(&held)) {
        text += std::to_string(*number) + "\n";
        return {};
    }
    if (const auto* block = std::get_if<Tree::Block>(&held)) {
        CYBELE_TRY(const std::string written, literal_block(block->text, indentation));
        text += written;
        return {};
    }
    if (const auto* scalar = std::get_if<std::string>(&held)) {
        CYBELE_TRY(const std::string written, yaml_scalar(*scalar));
        text += written + "\n";
        return {};
    }
    text += std::holds_alternative<Tree::List>(held) ? "[]\n" : "{}\n"; // only empty ones come here
    return {};
}

Result<void> Writer::put_list(const Tree::List& list, std::size_t indentation) {
    for (const Tree& item : list) {
        text.append(indentation, ' ');
        text += "- ";
        if (is_scalar(item) || is_empty(item)) {
            CYBELE_CHECK(put_value(item, indentation + 2));
            continue;
        }
        // The first entry stands behind the dash: its indentation is written already.
        const std::size_t begin = text.size();
        CYBELE_CHECK(put(item, indentation + 2));
        text.erase(begin, indentation + 2);
    }
    return {};
}

Result<void> Writer::put_map(const Tree::Map& map, std::size_t indentation) {
    for (const auto& [key, value] : map) {
        CYBELE_TRY(const std::string name, yaml_scalar(key));
        text.append(indentation, ' ');
        text += name + ":";
        if (is_scalar(value) || is_empty(value)) {
            text += ' ';
            CYBELE_CHECK(put_value(value, indentation + 2));
            continue;
        }
        text += '\n';
        CYBELE_CHECK(put(value, indentation + 2));
    }
    return {};
}

Result<void> Writer::put(const Tree& tree, std::size_t indentation) {
    if (const auto* list = std::get_if<Tree::List>(&tree.held());
        list != nullptr && !list->empty()) {
        return put_list(*list, indentation);
    }
    if (const auto* map = std::get_if<Tree::Map>(&tree.held()); map != nullptr && !map->empty()) {
        return put_map(*map, indentation);
    }
    return put_value(tree, indentation);
}

} // namespace

bool is_plain_word(std::string_view text) {
    if (text.empty() || !is_letter(text.front()) || !std::ranges::all_of(text, is_inner)) {
        return false;
    }
    return !contains(kMeaningful, text::lowered(text));
}

Result<std::string> yaml_scalar(std::string_view text) {
    if (!is_utf8(text) || text.find('\0') != std::string_view::npos) {
        return fail(ErrorCode::kInput,
                    problem("object-text-not-utf8",
                            fmt::format("'{}' cannot stand in an object", printable(text))),
                    "Kubernetes accepts UTF-8 without NUL",
                    "write it in UTF-8, without NUL");
    }
    if (is_plain_word(text)) {
        return std::string(text);
    }
    return yaml::double_quoted(text);
}

Result<std::string> write_yaml(const Tree& root) {
    Writer writer;
    CYBELE_CHECK(writer.put(root, 0));
    return std::move(writer.text);
}

} // namespace cybele::kubernetes
