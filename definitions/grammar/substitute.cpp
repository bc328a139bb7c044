// SPDX-License-Identifier: Apache-2.0
#include "definitions/grammar/substitute.hpp"

#include "support/characters.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace cybele::definitions {
namespace {

bool is_template_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/// The template whose braces stand at `at`, if it is one.
std::optional<TemplateUse> template_at(std::string_view text, std::size_t at) {
    std::size_t i = at + 2;
    while (i < text.size() && is_template_blank(text[i])) {
        ++i;
    }
    const std::size_t name = i;
    while (i < text.size() && is_word_character(text[i])) {
        ++i;
    }
    const std::size_t name_end = i;
    while (i < text.size() && is_template_blank(text[i])) {
        ++i;
    }
    if (name == name_end || text.substr(i, 2) != "}}") {
        return std::nullopt;
    }
    return TemplateUse{at, i + 2, std::string(text.substr(name, name_end - name)), false};
}

std::optional<TemplateUse> next_template(std::string_view text, std::size_t from) {
    for (std::size_t at = text.find("{{", from); at != std::string_view::npos;
         at = text.find("{{", at + 1)) {
        if (auto found = template_at(text, at)) {
            return found;
        }
    }
    return std::nullopt;
}

/// Whether what stands before a template on its line makes it a comment to Apptainer.
bool is_commented(std::string_view before) {
    for (std::size_t hash = before.find('#'); hash != std::string_view::npos;
         hash = before.find('#', hash + 1)) {
        if (hash + 1 < before.size() && before[hash + 1] != '!') {
            return true;
        }
    }
    return false;
}

const std::string* find_value(const std::string& name, const TemplateValues& values) {
    for (const BuildArguments* known : {&values.given, &values.defaults}) {
        if (const auto found = known->find(name); found != known->end()) {
            return &found->second;
        }
    }
    return nullptr;
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
}

/// A value with the templates in it replaced, where they are defined: one name after the other, so
/// that what an earlier one brought in may be replaced by a later one.
std::string expand_value(const std::string& value, const TemplateValues& values) {
    std::string result = value;
    if (!has(values.dialect, Feature::kNestedArguments)) {
        return result;
    }
    for (const TemplateUse& use : template_uses(value)) {
        if (const std::string* inner = find_value(use.name, values)) {
            replace_all(
                result, std::string_view(value).substr(use.begin, use.end - use.begin), *inner);
        }
    }
    return result;
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

std::size_t line_begin(std::string_view text, std::size_t at) {
    const std::size_t newline = text.substr(0, at).rfind('\n');
    return newline == std::string_view::npos ? 0 : newline + 1;
}

void undefined(const StageText& stage,
               std::string_view file,
               const TemplateUse& use,
               Findings& findings) {
    const std::string_view text = stage.text;
    const auto index =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(use.begin), '\n');
    Fault place =
        fault_at(file, stage.line(static_cast<std::size_t>(index)), line_around(text, use.begin));
    if (place.where) {
        place.where->column = use.begin - line_begin(text, use.begin) + 1;
    }
    place.subject = use.name;
    findings.add(
        "CD021",
        std::move(place),
        fmt::format("the build argument '{}' has no value", use.name),
        "neither --build-arg nor the %arguments section of this stage gives it",
        fmt::format("add --build-arg {0}=VALUE, or a line '{0}=VALUE' to %arguments", use.name));
}

} // namespace

std::vector<TemplateUse> template_uses(std::string_view text) {
    std::vector<TemplateUse> uses;
    std::size_t done = 0;
    for (auto found = next_template(text, 0); found; found = next_template(text, found->end)) {
        const std::size_t begin = std::max(line_begin(text, found->begin), done);
        found->is_commented = is_commented(text.substr(begin, found->begin - begin));
        done = found->is_commented ? done : found->end;
        uses.push_back(*found);
    }
    return uses;
}

StageText substitute(const StageText& stage,
                     std::string_view file,
                     const TemplateValues& values,
                     std::set<std::string>& used,
                     Findings& findings) {
    const std::string_view text = stage.text;
    const bool keeps_comments = has(values.dialect, Feature::kCommentsKeepTemplate);
    Output output(stage);
    std::set<std::string> missing;
    std::size_t done = 0;
    for (const TemplateUse& use : template_uses(text)) {
        if (use.is_commented && keeps_comments) {
            continue;
        }
        const std::string* value = find_value(use.name, values);
        if (value == nullptr) {
            if (missing.insert(use.name).second) { // each once
                undefined(stage, file, use, findings);
            }
            continue;
        }
        used.insert(use.name);
        output.copy(text.substr(done, use.begin - done));
        output.replace(text.substr(use.begin, use.end - use.begin), expand_value(*value, values));
        done = use.end;
    }
    output.copy(text.substr(done));
    return output.take();
}

} // namespace cybele::definitions
