// SPDX-License-Identifier: Apache-2.0
#include "templates/renderer.hpp"

#include "support/quote.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>

#include <kainjow/mustache.hpp>

namespace cybele::templates {
namespace {

using Data = kainjow::mustache::data;

/// A section that is always true. The library leaves an empty line where a false section stood; a
/// line with a true section and nothing else it leaves out.
constexpr std::string_view kAlways = "cybelectl-always";

/// Whether a line is nothing but the end of a section.
bool is_section_end(std::string_view line) {
    return line.starts_with("{{/") && line.ends_with("}}") && line.find("}}") == line.size() - 2;
}

/// A template without its first line, which names the set, and without its last newline: the line
/// that includes it has one.
std::string body_of(std::string_view text) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    std::string body;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        body += line;
        if (is_section_end(line)) {
            body.append("{{#").append(kAlways).append("}}{{/").append(kAlways).append("}}");
        }
        body += '\n';
    }
    if (body.ends_with('\n')) {
        body.pop_back();
    }
    return body;
}

/// Partials of partials end somewhere: a template that includes itself is told, not followed.
constexpr std::size_t kMostPartials = 200;

/// A tag of a template: `{{#name}}` has the sigil '#', `{{{name}}}` and `{{&name}}` have '&',
/// `{{name}}` has ' '.
struct Tag {
    char sigil = ' ';
    std::string_view name;
    std::size_t line = 0;
};

std::vector<Tag> tags_of(std::string_view text) {
    std::vector<Tag> tags;
    std::size_t line = 1;
    std::size_t counted = 0;
    for (auto at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at)) {
        line +=
            static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                                text.begin() + static_cast<std::ptrdiff_t>(at),
                                                '\n'));
        counted = at;
        const bool is_raw = text.substr(at + 2).starts_with('{');
        const auto start = at + (is_raw ? 3 : 2);
        const auto end = text.find("}}", start);
        if (end == std::string_view::npos) {
            return tags;
        }
        auto name = text::trimmed(text.substr(start, end - start), " \t\n");
        char sigil = is_raw ? '&' : ' ';
        if (!is_raw && !name.empty() &&
            std::string_view("#^/!>=&").find(name.front()) != std::string_view::npos) {
            sigil = name.front();
            name = text::trimmed(name.substr(1), " \t\n");
        }
        tags.push_back({sigil, name, line});
        at = end + 2;
    }
    return tags;
}

/// The fault of a template, with the line when it is known.
Fault template_fault(const std::string& name, std::size_t line, Problem problem) {
    Fault fault;
    fault.code = ErrorCode::kInput;
    fault.set(std::move(problem));
    fault.where = Place{name + ".mustache", line, line == 0 ? 0U : 1U, {}};
    fault.help = "mend the template, or take the embedded one";
    return fault;
}

/// Looks names up and remembers what is wrong: the library itself writes nothing for a missing one.
class StrictContext final : public kainjow::mustache::context<std::string> {
public:
    StrictContext(const Data& root, const TemplateSet& set, const std::string& name)
        : context(&root), set_(set) {
        enter(name);
    }

    void enter(const std::string& name) {
        if (const auto* text = set_.find(name); text != nullptr) {
            for (const Tag& tag : tags_of(*text)) {
                if (tag.sigil != '!' && tag.sigil != '/') {
                    places_.try_emplace(std::string(tag.name), name, tag.line);
                }
                if (tag.sigil == ' ' || tag.sigil == '&') {
                    written_.insert(std::string(tag.name));
                }
            }
        }
    }

    const Data* get(const std::string& name) const override {
        used_.insert(name);
        const auto* found = context::get(name);
        if (found == nullptr) {
            complain(name,
                     problem("template-variable-unknown",
                             "the template uses '" + name + "', which has no value"));
        } else if (found->is_true() && written_.contains(name)) {
            complain(name,
                     problem("template-flag-as-text",
                             "the template writes '" + name + "', which is a flag and no text"));
        }
        return found;
    }

    const Data* get_partial(const std::string& name) const override {
        const auto* text = set_.find(name);
        if (text == nullptr) {
            complain(name,
                     problem("template-include-missing",
                             "the template includes '" + name + "', which does not exist"));
            return nullptr;
        }
        if (++partials_ > kMostPartials) {
            complain(name,
                     problem("template-include-cycle",
                             "the template includes '" + name + "' without end"));
            return nullptr;
        }
        const_cast<StrictContext*>(this)->enter(name);
        return &(partial_texts_[name] = Data(body_of(*text)));
    }

    [[nodiscard]] const std::vector<Fault>& faults() const {
        return faults_;
    }
    [[nodiscard]] std::set<std::string> take_used() {
        return std::move(used_);
    }

private:
    void complain(const std::string& name, Problem problem) const {
        const auto place = places_.find(name);
        Fault fault =
            place == places_.end()
                ? template_fault("template", 0, std::move(problem))
                : template_fault(place->second.first, place->second.second, std::move(problem));
        const auto same = [&](const Fault& known) { return known.message == fault.message; };
        if (std::none_of(faults_.begin(), faults_.end(), same)) {
            faults_.push_back(std::move(fault));
        }
    }

    const TemplateSet& set_;
    std::map<std::string, std::pair<std::string, std::size_t>> places_;
    std::set<std::string> written_;
    mutable std::set<std::string> used_;
    mutable std::map<std::string, Data> partial_texts_;
    mutable std::vector<Fault> faults_;
    mutable std::size_t partials_ = 0;
};

Data data_of(const Values& values);

struct ToData {
    Data operator()(bool flag) const {
        return Data(flag ? Data::type::bool_true : Data::type::bool_false);
    }
    Data operator()(const std::string& text) const {
        return Data(text);
    }
    Data operator()(const Value::Verbatim& text) const {
        return Data(text.text);
    }
    Data operator()(const std::vector<Values>& list) const {
        Data data(Data::type::list);
        for (const Values& item : list) {
            data.push_back(data_of(item));
        }
        return data;
    }
};

Data data_of(const Values& values) {
    Data data(Data::type::object);
    for (const auto& [name, value] : values) {
        data.set(name, std::visit(ToData{}, value.held()));
    }
    return data;
}

/// Texts with control characters whose names some template writes raw.
void check_raw(const Values& values, const std::set<std::string>& raw, Faults& faults) {
    for (const auto& [name, value] : values) {
        if (const auto* list = std::get_if<std::vector<Values>>(&value.held())) {
            for (const Values& item : *list) {
                check_raw(item, raw, faults);
            }
        }
        const auto* text = std::get_if<std::string>(&value.held());
        if (text != nullptr && raw.contains(name) && has_control_characters(*text)) {
            Fault fault;
            fault.code = ErrorCode::kInput;
            fault.set(problem("template-value-type",
                              "'" + printable(*text) + "' cannot be written as '" + name + "'"));
            fault.because = "a line of the script cannot carry control characters";
            fault.help = "write it in one line of plain text";
            faults.add(std::move(fault));
        }
    }
}

/// The names that are written raw by a template or by those that it includes.
void collect_raw(const TemplateSet& set,
                 const std::string& name,
                 std::set<std::string>& seen,
                 std::set<std::string>& raw) {
    const auto* text = set.find(name);
    if (text == nullptr || !seen.insert(name).second) {
        return;
    }
    for (const Tag& tag : tags_of(*text)) {
        if (tag.sigil == '&') {
            raw.insert(std::string(tag.name));
        } else if (tag.sigil == '>') {
            collect_raw(set, std::string(tag.name), seen, raw);
        }
    }
}

/// The library tells syntax errors as `… at OFFSET`.
Fault syntax_fault(const std::string& name, const std::string& text, const std::string& message) {
    std::size_t line = 0;
    std::string what = message;
    if (const auto at = message.rfind(" at "); at != std::string::npos) {
        std::size_t offset = 0;
        const char* end = message.data() + message.size();
        if (std::from_chars(message.data() + at + 4, end, offset).ec == std::errc{}) {
            const auto stop = static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
            line =
                1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + stop, '\n'));
            what = message.substr(0, at);
        }
    }
    return template_fault(name, line, problem("template-syntax", std::move(what)));
}

Result<void> check_schema(const TemplateSet& set, const std::set<std::string>& names) {
    const std::string first = "{{! cybelectl template set " + std::string(kSchema) + " }}\n";
    Faults faults;
    for (const auto& name : names) {
        if (!set.find(name)->starts_with(first)) {
            Fault fault =
                template_fault(name,
                               1,
                               problem("template-set-version",
                                       "the template is not of set " + std::string(kSchema)));
            fault.because = "its first line must be '" + first.substr(0, first.size() - 1) + "'";
            faults.add(std::move(fault));
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    return {};
}

} // namespace

Value list_of(std::span<const std::string> items) {
    std::vector<Values> list;
    for (const auto& item : items) {
        list.push_back({{"item", Value(item)}});
    }
    return {std::move(list)};
}

bool has_control_characters(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char character) {
        const auto byte = static_cast<unsigned char>(character);
        return byte < 0x20 || byte == 0x7f;
    });
}

std::string yaml_quote(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string quoted = "\"";
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\') {
            quoted += '\\';
            quoted += character;
        } else if (byte < 0x20 || byte == 0x7f) {
            quoted += "\\x";
            quoted += kDigits[byte >> 4U];
            quoted += kDigits[byte & 15U];
        } else {
            quoted += character;
        }
    }
    return quoted + "\"";
}

Result<Rendered>
render(const TemplateSet& set, const std::string& name, const Values& values, Escape escape) {
    const auto* text = set.find(name);
    if (text == nullptr) {
        return fail(ErrorCode::kInternal,
                    problem("template-missing", "there is no template '" + name + "'"));
    }
    std::set<std::string> names;
    std::set<std::string> raw;
    collect_raw(set, name, names, raw);
    CYBELE_CHECK(check_schema(set, names));
    Faults faults;
    check_raw(values, raw, faults);
    for (const auto& part : names) {
        const std::string& part_text = *set.find(part);
        if (!set.is_given(part)) {
            continue; // reading all of them takes longer than rendering
        }
        if (const kainjow::mustache::mustache parsed(part_text); !parsed.is_valid()) {
            faults.add(syntax_fault(part, part_text, parsed.error_message()));
        }
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    kainjow::mustache::mustache engine(body_of(*text));
    engine.set_custom_escape([escape](const std::string& word) {
        return escape == Escape::kShell ? shell_quote(word) : yaml_quote(word);
    });
    Data root = data_of(values);
    root.set(std::string(kAlways), Data(Data::type::bool_true));
    StrictContext context(root, set, name);
    Rendered rendered;
    rendered.text = engine.render(context) + "\n";
    for (const auto& fault : context.faults()) {
        faults.add(fault);
    }
    if (faults.has_errors()) {
        return fail(faults.take());
    }
    rendered.used = context.take_used();
    return rendered;
}

} // namespace cybele::templates
