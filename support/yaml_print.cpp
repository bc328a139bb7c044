// SPDX-License-Identifier: Apache-2.0
#include "support/yaml_print.hpp"

#include "support/characters.hpp"
#include "support/find.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace cybele::yaml {
namespace {

/// Whether yaml takes the text as the same text without quotes, and no reader as something else.
bool is_plain(std::string_view text) {
    constexpr std::string_view kSafe =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+@=:~^-";
    if (text.empty() || text.find_first_not_of(kSafe) != std::string_view::npos) {
        return false;
    }
    constexpr std::string_view kFirst = "-=:~@^";
    constexpr std::array<std::string_view, 4> kOthers{"null", "Null", "NULL", "---"};
    return kFirst.find(text.front()) == std::string_view::npos && text.back() != ':' &&
           !contains(kOthers, text);
}

/// The same of a text of several words, as `make -C /src`: a value, not a key.
bool is_plain_phrase(std::string_view text) {
    const auto is_safe = [](char c) { return c >= ' ' && c <= '~'; };
    constexpr std::string_view kFirst = "./_$(";
    if (text.find(' ') == std::string_view::npos || text.back() == ' ' || text.back() == ':' ||
        !(is_letter(text.front()) || kFirst.find(text.front()) != std::string_view::npos)) {
        return false;
    }
    return std::ranges::all_of(text, is_safe) && std::ranges::any_of(text, is_letter) &&
           text.find(": ") == std::string_view::npos && text.find(" #") == std::string_view::npos;
}

/// Whether a literal block holds the text byte for byte.
bool is_block(std::string_view text) {
    return text.find('\n') != std::string_view::npos &&
           text.find_first_not_of(" \n\t") != std::string_view::npos &&
           std::ranges::all_of(text, [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return c == '\n' || c == '\t' || (byte >= 0x20 && byte != 0x7f);
           });
}

/// `|` for a text that ends with one newline; yaml does not find out the indentation of one that
/// begins with a blank or an empty line.
std::string block_header(std::string_view text, std::size_t step) {
    const bool is_indented = text.front() == ' ' || text.front() == '\n' || text.front() == '\t';
    return std::string("|") + (is_indented ? std::to_string(step) : "") +
           (text.back() != '\n'      ? "-\n"
            : text.ends_with("\n\n") ? "+\n"
                                     : "\n");
}

std::string scalar(const Node& node, const std::string& indent, std::size_t step) {
    const std::string& text = node.scalar;
    if (is_plain(text) || is_plain_phrase(text)) {
        return text;
    }
    if (!is_block(text)) {
        return double_quoted(text);
    }
    std::string block = block_header(text, step);
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto end = std::min(rest.find('\n'), rest.size());
        if (end > 0) {
            block += indent;
            block += rest.substr(0, end);
        }
        block += '\n';
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    block.pop_back();
    return block;
}

/// Code points that yaml folds, strips or forbids, and so are written as escapes.
struct Escaped {
    std::string_view bytes;
    std::string_view written;
};
constexpr std::array<Escaped, 5> kEscaped{{{"\xe2\x80\xa8", "\\u2028"},
                                           {"\xe2\x80\xa9", "\\u2029"},
                                           {"\xef\xbb\xbf", "\\uFEFF"},
                                           {"\xef\xbf\xbe", "\\uFFFE"},
                                           {"\xef\xbf\xbf", "\\uFFFF"}}};

/// The escape for what begins at the text's start, and how many bytes it stands for.
std::pair<std::string, std::size_t> escaped(std::string_view text) {
    const auto byte = static_cast<unsigned char>(text.front());
    switch (text.front()) {
    case '"':
        return {"\\\"", 1};
    case '\\':
        return {"\\\\", 1};
    case '\n':
        return {"\\n", 1};
    case '\t':
        return {"\\t", 1};
    default:
        break;
    }
    if (byte < 0x20 || byte == 0x7f) {
        return {fmt::format("\\u{:04x}", byte), 1};
    }
    if (byte == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xa0) {
        return {fmt::format("\\u{:04x}", static_cast<unsigned char>(text[1])), 2};
    }
    for (const auto& [bytes, written] : kEscaped) {
        if (text.starts_with(bytes)) {
            return {std::string(written), bytes.size()};
        }
    }
    return {std::string(1, text.front()), 1};
}

/// Appends nodes to a text.
class Printer {
public:
    explicit Printer(std::size_t step) : step_(step) {}

    void print(const Node& node, const std::string& indent) {
        for (const auto& item : node.items) {
            text += indent + "-";
            if (item.kind == Node::Kind::kMapping && !item.entries.empty()) {
                const std::size_t begin = text.size();
                print(item, indent + "  ");
                text.replace(begin, indent.size() + 2, " "); // its first entry on this line
                continue;
            }
            print_value(item, indent, 2);
        }
        for (const auto& [key, value] : node.entries) {
            text += indent + (is_plain(key.scalar) ? key.scalar : double_quoted(key.scalar)) + ":";
            print_value(value, indent, step_);
        }
    }

    std::string text;

private:
    /// A value behind `key:` or `-`, with its line's end.
    void print_value(const Node& node, const std::string& above, std::size_t step) {
        const std::string indent = above + std::string(step, ' ');
        switch (node.kind) {
        case Node::Kind::kNull:
            text += "\n";
            return;
        case Node::Kind::kScalar:
            text += " " + scalar(node, indent, step) + "\n";
            return;
        case Node::Kind::kSequence:
            text += node.items.empty() ? " []\n" : "\n";
            break;
        case Node::Kind::kMapping:
            text += node.entries.empty() ? " {}\n" : "\n";
            break;
        }
        print(node, indent);
    }

    std::size_t step_;
};

} // namespace

std::string double_quoted(std::string_view text) {
    std::string quoted = "\"";
    while (!text.empty()) {
        const auto [written, bytes] = escaped(text);
        quoted += written;
        text.remove_prefix(bytes);
    }
    return quoted + "\"";
}

std::string to_text(const Node& node, std::size_t step) {
    Printer printer(step);
    printer.print(node, {});
    return std::move(printer.text);
}

} // namespace cybele::yaml
