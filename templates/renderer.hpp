// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/embedded.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cybele::templates {

/// What each template must say in its first line: `{{! cybelectl template set 1 }}`.
inline constexpr std::string_view kSchema = "1";

class Value;
using Values = std::map<std::string, Value>;

/// What a name of a template stands for: a text, a flag (for sections), or a list of maps.
class Value {
public:
    /// A text that was rendered before: `{{{name}}}` puts it in unchecked, newlines and all.
    struct Verbatim {
        std::string text;
    };

    Value() : held_(false) {}
    Value(std::string text) : held_(std::move(text)) {}
    Value(std::string_view text) : held_(std::string(text)) {}
    Value(const char* text) : held_(std::string(text)) {}
    Value(bool flag) : held_(flag) {}
    Value(std::uint32_t number) : held_(std::to_string(number)) {}
    Value(std::uint64_t number) : held_(std::to_string(number)) {}
    Value(std::vector<Values> list) : held_(std::move(list)) {}
    Value(Verbatim text) : held_(std::move(text)) {}

    using Held = std::variant<bool, std::string, Verbatim, std::vector<Values>>;
    [[nodiscard]] const Held& held() const {
        return held_;
    }

private:
    Held held_;
};

/// Items under the name `item`, for `{{#list}}{{item}}{{/list}}`.
[[nodiscard]] Value list_of(std::span<const std::string> items);

/// Templates by name: the embedded ones, of which single ones may be replaced. A name is a path
/// without `.mustache`: `script/body`.
class TemplateSet {
public:
    /// The templates of this room: script/.
    TemplateSet();
    void add(std::span<const EmbeddedFile> files);
    /// `digest` is that of `text`, where it is known (EmbeddedFile).
    void put(std::string name, std::string_view text, std::string_view digest = {}) {
        texts_[std::move(name)] = {std::string(text), std::string(digest), {}};
    }
    /// A text of `file` in place of the embedded one. False: this set has no such name, and the
    /// text would never be used.
    [[nodiscard]] bool replace(const std::string& name, std::string text, std::string file);

    [[nodiscard]] const std::string* find(const std::string& name) const;
    /// The file that faults of the template name: where it was replaced, that of the new text.
    [[nodiscard]] std::string file_of(const std::string& name) const;
    /// `1-` and 12 hexadecimal digits of the SHA-256 of all names and the digests of their texts:
    /// changes exactly when the bytes change.
    [[nodiscard]] std::string version() const;

private:
    struct Text {
        std::string bytes;
        std::string digest; ///< of embedded texts: made when the program was compiled
        std::string file;   ///< of replaced ones
    };
    std::map<std::string, Text> texts_;
};

struct Rendered {
    std::string text;
    std::set<std::string> used; ///< names that were looked up
};

/// Renders a template strictly: a name without value, a flag where text belongs, an unknown partial
/// and any mistake of syntax are kInput with the template's name and line. A line that holds
/// nothing but sections leaves no line, whether they are true or false. `{{name}}` writes one shell
/// word, `{{{name}}}` a text as it is, and is refused when it holds a newline, NUL or another
/// control character, since directives and comments have no quoting for them.
[[nodiscard]] Result<Rendered>
render(const TemplateSet& set, const std::string& name, const Values& values);

/// Whether it holds a byte below 0x20 or 0x7f.
[[nodiscard]] bool has_control_characters(std::string_view text);

} // namespace cybele::templates
