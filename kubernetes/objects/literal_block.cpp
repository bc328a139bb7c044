// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/objects/literal_block.hpp"

#include "support/quote.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cybele::kubernetes {
namespace {

struct Forbidden {
    std::string_view bytes;
    std::string_view name;
};
// yaml 1.1 takes the first three for line breaks; the others are not printable.
constexpr std::array<Forbidden, 6> kForbidden{{{"\xc2\x85", "NEXT LINE (U+0085)"},
                                               {"\xe2\x80\xa8", "LINE SEPARATOR (U+2028)"},
                                               {"\xe2\x80\xa9", "PARAGRAPH SEPARATOR (U+2029)"},
                                               {"\xef\xbb\xbf", "a byte order mark (U+FEFF)"},
                                               {"\xef\xbf\xbe", "U+FFFE"},
                                               {"\xef\xbf\xbf", "U+FFFF"}}};

/// The header counts from the parent's indentation on.
constexpr std::size_t kDeeper = 2;

/// What the text holds that no literal block can carry, or "".
std::string forbidden_in(std::string_view text) {
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '\r') {
            return "a carriage return";
        }
        if ((byte < 0x20 && character != '\n' && character != '\t') || byte == 0x7f) {
            return fmt::format("the control character 0x{:02x}", byte);
        }
    }
    for (const auto& [bytes, name] : kForbidden) {
        if (text.find(bytes) != std::string_view::npos) {
            return std::string(name);
        }
    }
    // U+0080 to U+009F, but for U+0085.
    for (std::size_t at = text.find('\xc2'); at != std::string_view::npos && at + 1 < text.size();
         at = text.find('\xc2', at + 1)) {
        if (static_cast<unsigned char>(text[at + 1]) < 0xa0) {
            return "a control character of Latin-1";
        }
    }
    return is_utf8(text) ? "" : "bytes that are not UTF-8";
}

} // namespace

Result<std::string> literal_block(std::string_view text, std::size_t indentation) {
    if (const std::string what = forbidden_in(text); !what.empty()) {
        return fail(ErrorCode::kInput,
                    problem("script-not-yaml", "the script cannot stand in yaml"),
                    "it holds " + what,
                    "write it without");
    }
    if (text.find_first_not_of(" \t\n") == std::string_view::npos) {
        return fail(ErrorCode::kInput,
                    problem("script-empty", "the script cannot stand in yaml"),
                    "it has no line with text",
                    "write a script");
    }
    const std::size_t ends = text.size() - text.find_last_not_of('\n') - 1;
    // A block that begins with blanks or an empty line would be taken for deeper indented.
    const bool is_ambiguous = text.front() == ' ' || text.front() == '\n' || text.front() == '\t';
    std::string block = "|";
    if (is_ambiguous) {
        block += std::to_string(kDeeper);
    }
    block += ends == 0 ? "-" : ends == 1 ? "" : "+";
    block += '\n';
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.empty()) {
            block.append(indentation, ' ');
        }
        block += line;
        block += '\n';
    }
    return block;
}

} // namespace cybele::kubernetes
