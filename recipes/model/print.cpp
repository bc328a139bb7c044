// SPDX-License-Identifier: Apache-2.0
#include "recipes/model/tree.hpp"

#include <algorithm>
#include <array>

namespace cybele::recipes {
namespace {

using yaml::Node;
using Kind = yaml::Node::Kind;

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
           std::find(kOthers.begin(), kOthers.end(), text) == kOthers.end();
}

/// Whether a literal block holds the text byte for byte.
bool is_block(std::string_view text) {
    return text.find('\n') != std::string_view::npos && text.back() == '\n' &&
           text.front() != ' ' && text.front() != '\n' && !text.ends_with("\n\n") &&
           std::all_of(text.begin(), text.end(), [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return c == '\n' || c == '\t' || (byte >= 0x20 && byte != 0x7f);
           });
}

std::string quoted_scalar(std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string result = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (c == '\n') {
            result += "\\n";
        } else if (c == '\t') {
            result += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            result += "\\x";
            result += kHex[byte >> 4U];
            result += kHex[byte & 0xfU];
        } else {
            result += c;
        }
    }
    return result + "\"";
}

std::string scalar(const Node& node, const std::string& indent) {
    const std::string& text = node.scalar;
    if (is_plain(text)) {
        return text;
    }
    if (!is_block(text)) {
        return quoted_scalar(text);
    }
    std::string block = "|\n";
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        if (end > 0) {
            block += indent;
            block += rest.substr(0, end);
        }
        block += '\n';
        rest.remove_prefix(end + 1);
    }
    block.pop_back();
    return block;
}

void print(const Node& node, const std::string& indent, std::string& text);

/// A value behind `key:` or `-`, with its line's end.
void print_value(const Node& node, const std::string& indent, std::string& text) {
    switch (node.kind) {
    case Kind::kNull:
        text += "\n";
        return;
    case Kind::kScalar:
        text += " " + scalar(node, indent) + "\n";
        return;
    case Kind::kSequence:
        text += node.items.empty() ? " []\n" : "\n";
        break;
    case Kind::kMapping:
        text += node.entries.empty() ? " {}\n" : "\n";
        break;
    }
    print(node, indent, text);
}

void print(const Node& node, const std::string& indent, std::string& text) {
    for (const auto& item : node.items) {
        text += indent + "-";
        print_value(item, indent + "  ", text);
    }
    for (const auto& [key, value] : node.entries) {
        text += indent + (is_plain(key.scalar) ? key.scalar : quoted_scalar(key.scalar)) + ":";
        print_value(value, indent + "  ", text);
    }
}

} // namespace

std::string to_yaml(const Node& node) {
    std::string text;
    print(node, {}, text);
    return text;
}

} // namespace cybele::recipes
