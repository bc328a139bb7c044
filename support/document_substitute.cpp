// SPDX-License-Identifier: Apache-2.0
#include "support/document_substitute.hpp"

#include "support/quote.hpp"

#include <functional>
#include <utility>

namespace cybele::document {
namespace {

/// Calls a function for each text of a document in which `@{…}` counts; scripts are left alone.
class OpenTexts {
public:
    using Change = std::function<std::string(const std::string& text, yaml::Mark mark)>;
    explicit OpenTexts(Change change) : change_(std::move(change)) {}

    void map(const Table& table, yaml::Node& node) const {
        for (auto& [key, value] : node.entries) {
            if (const Field* field = table.find(key.scalar)) {
                any(*field->shape, value);
            } else if (table.rest != nullptr) {
                any(*table.rest, value);
            }
        }
    }

private:
    static bool is_open(Type type) {
        return type == Type::kText || type == Type::kValue || type == Type::kPath ||
               type == Type::kImage || type == Type::kTextOrList || type == Type::kWord;
    }

    void any(const Shape& shape, yaml::Node& value) const {
        switch (value.kind) {
        case yaml::Node::Kind::kScalar:
            scalar(shape, value);
            break;
        case yaml::Node::Kind::kSequence:
            for (auto& item : value.items) {
                static constexpr Shape kWord{.type = Type::kValue};
                any(shape.type == Type::kList && shape.item != nullptr ? *shape.item : kWord, item);
            }
            break;
        case yaml::Node::Kind::kMapping:
            if (shape.type == Type::kMap) {
                map(*shape.table, value);
            }
            break;
        case yaml::Node::Kind::kNull:
            break;
        }
    }

    void scalar(const Shape& shape, yaml::Node& value) const {
        const Shape* wanted = &shape;
        if (shape.type == Type::kMap) {
            wanted = shape.table->has_short_form ? shape.table->fields.front().shape : shape.scalar;
        }
        if (wanted != nullptr && is_open(wanted->type)) {
            value.scalar = change_(value.scalar, value.mark);
        }
    }

    Change change_;
};

class Substitution {
public:
    Substitution(const yaml::Source& source,
                 const std::map<std::string, std::string>& values,
                 Faults& faults)
        : source_(source), values_(values), faults_(faults) {}

    std::string replaced(const std::string& text, yaml::Mark mark) {
        std::string result;
        std::size_t at = 0;
        while (at < text.size()) {
            const std::size_t next = text.find("@{", at);
            if (next == std::string::npos) {
                break;
            }
            result += text.substr(at, next - at);
            const std::size_t end = text.find('}', next);
            if (!result.empty() && next > at && text[next - 1] == '@') {
                result += "{";
                at = next + 2;
                continue;
            }
            if (end == std::string::npos) {
                tell(mark,
                     problem("argument-not-closed", "'@{' is not closed"),
                     "a name and `}` follow it",
                     "write `@@{` for the "
                     "characters");
                return text;
            }
            result += value_of(text.substr(next + 2, end - next - 2), mark);
            at = end + 1;
        }
        return result + (at < text.size() ? text.substr(at) : std::string{});
    }

private:
    std::string value_of(const std::string& name, yaml::Mark mark) {
        if (const auto found = values_.find(name); found != values_.end()) {
            return found->second;
        }
        std::vector<std::string_view> known;
        known.reserve(values_.size());
        for (const auto& [key, value] : values_) {
            known.push_back(key);
        }
        const std::string near = nearest(name, known);
        tell(mark,
             problem("argument-without-value", "'" + printable(name) + "' has no value"),
             "`@{…}` names an argument of `args` or a key of `matrix`",
             near.empty() ? "add `" + printable(name) + "` to `args`"
                          : "write `@{" + near + "}` in place of `@{" + printable(name) + "}`");
        return {};
    }

    void tell(yaml::Mark mark, Problem problem, std::string because, std::string help) {
        faults_.add(
            fault_at(source_, mark, std::move(problem), std::move(because), std::move(help)));
    }

    const yaml::Source& source_;
    const std::map<std::string, std::string>& values_;
    Faults& faults_;
};

} // namespace

void substitute(const Kind& kind,
                yaml::Document& document,
                const std::map<std::string, std::string>& values,
                Faults& faults) {
    Substitution substitution(document.source, values, faults);
    OpenTexts([&](const std::string& text, yaml::Mark mark) {
        return substitution.replaced(text, mark);
    }).map(*kind.table, document.root);
}

std::string escaped(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool is_opening = text.substr(at).starts_with("@{");
        result += is_opening ? "@@" : std::string(1, text[at]);
    }
    return result;
}

std::string unescaped(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool is_escape = text.substr(at).starts_with("@@{");
        at += is_escape ? 1 : 0;
        result += text[at];
    }
    return result;
}

void escape(const Kind& kind, yaml::Node& root) {
    OpenTexts([](const std::string& text, yaml::Mark) {
        return escaped(text);
    }).map(*kind.table, root);
}

} // namespace cybele::document
