// SPDX-License-Identifier: Apache-2.0
#include "definitions/substitute.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

/// One `{{ name }}` in a text.
struct Template {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string name;
};

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_template_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/// The template whose braces stand at `at`, if it is one.
std::optional<Template> template_at(std::string_view text, std::size_t at) {
    std::size_t i = at + 2;
    while (i < text.size() && is_template_blank(text[i])) {
        ++i;
    }
    const std::size_t name = i;
    while (i < text.size() && is_word(text[i])) {
        ++i;
    }
    const std::size_t name_end = i;
    while (i < text.size() && is_template_blank(text[i])) {
        ++i;
    }
    if (name == name_end || text.substr(i, 2) != "}}") {
        return std::nullopt;
    }
    return Template{at, i + 2, std::string(text.substr(name, name_end - name))};
}

std::optional<Template> next_template(std::string_view text, std::size_t from) {
    for (std::size_t at = text.find("{{", from); at != std::string_view::npos;
         at = text.find("{{", at + 1)) {
        if (auto found = template_at(text, at)) {
            return found;
        }
    }
    return std::nullopt;
}

/// Whether what stands before a template on its line makes it a comment to the reference.
bool is_commented(std::string_view before) {
    for (std::size_t hash = before.find('#'); hash != std::string_view::npos;
         hash = before.find('#', hash + 1)) {
        if (hash + 1 < before.size() && before[hash + 1] != '!') {
            return true;
        }
    }
    return false;
}

const std::string*
find_value(const std::string& name, const BuildArguments& given, const BuildArguments& defaults) {
    for (const BuildArguments* values : {&given, &defaults}) {
        if (const auto found = values->find(name); found != values->end()) {
            return &found->second;
        }
    }
    return nullptr;
}

/// A value with the templates in it replaced, where they are defined.
std::string expand_value(const std::string& value,
                         const BuildArguments& given,
                         const BuildArguments& defaults) {
    std::string result;
    std::size_t done = 0;
    for (auto found = next_template(value, 0); found; found = next_template(value, found->end)) {
        result.append(value, done, found->begin - done);
        const std::string* inner = find_value(found->name, given, defaults);
        result += inner != nullptr ? *inner : value.substr(found->begin, found->end - found->begin);
        done = found->end;
    }
    return result.append(value, done);
}

/// Puts text behind a stage's text and remembers which line of the file each new line comes from.
class Output {
public:
    explicit Output(const StageText& from) : from_(from) {}

    /// A piece of the source itself.
    void copy(std::string_view piece) {
        for (const char c : piece) {
            put(c);
            index_ += c == '\n' ? 1U : 0U;
        }
    }
    /// What stands in place of `source`.
    void replace(std::string_view source, std::string_view value) {
        for (const char c : value) {
            put(c);
        }
        index_ += static_cast<std::size_t>(std::count(source.begin(), source.end(), '\n'));
    }
    StageText take() {
        return std::move(to_);
    }

private:
    void put(char c) {
        if (to_.text.empty() || to_.text.back() == '\n') {
            to_.lines.push_back(from_.line(index_));
        }
        to_.text += c;
    }

    const StageText& from_;
    StageText to_;
    std::size_t index_ = 0;
};

std::string_view line_around(std::string_view text, std::size_t at) {
    const std::size_t before = text.rfind('\n', at);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return text.substr(begin, text.find('\n', at) - begin);
}

} // namespace

StageText substitute(const StageText& stage,
                     std::string_view file,
                     const BuildArguments& given,
                     const BuildArguments& defaults,
                     Faults& faults) {
    const std::string_view text = stage.text;
    Output output(stage);
    std::size_t done = 0;
    for (auto found = next_template(text, 0); found; found = next_template(text, found->end)) {
        const std::size_t newline = text.substr(0, found->begin).rfind('\n');
        const std::size_t line = newline == std::string_view::npos ? 0 : newline;
        const std::size_t begin = std::max(line, done);
        if (is_commented(text.substr(begin, found->begin - begin))) {
            continue;
        }
        const std::string* value = find_value(found->name, given, defaults);
        if (value == nullptr) {
            const auto index = std::count(
                text.begin(), text.begin() + static_cast<std::ptrdiff_t>(found->begin), '\n');
            Fault fault = fault_at(
                file, stage.line(static_cast<std::size_t>(index)), line_around(text, found->begin));
            fault.where->column =
                found->begin - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
            fault.message = fmt::format("the build argument '{}' has no value", found->name);
            fault.because = "neither --build-arg nor the %arguments section of this stage gives it";
            fault.help = fmt::format(
                "add --build-arg {0}=VALUE, or a line '{0}=VALUE' to %arguments", found->name);
            faults.add(std::move(fault));
            continue;
        }
        output.copy(text.substr(done, found->begin - done));
        output.replace(text.substr(found->begin, found->end - found->begin),
                       expand_value(*value, given, defaults));
        done = found->end;
    }
    output.copy(text.substr(done));
    return output.take();
}

} // namespace cybele::definitions
