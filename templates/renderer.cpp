// SPDX-License-Identifier: Apache-2.0
#include "templates/renderer.hpp"

#include "support/quote.hpp"
#include "templates/syntax.hpp"

#include <algorithm>
#include <utility>

namespace cybele::templates {
namespace {

/// Templates that include one another end somewhere.
constexpr std::size_t kDeepestInclude = 50;

/// A template that another one includes ends without its last newline: the line that includes it
/// has one.
std::string_view without_last_newline(std::string_view text) {
    return text.substr(0, text.size() - (text.ends_with('\n') ? 1 : 0));
}

class Renderer {
public:
    explicit Renderer(const TemplateSet& set) : set_(set) {}

    /// The template and all that it includes, parsed.
    void load(const std::string& name) {
        const std::string* const text = set_.find(name);
        if (text == nullptr || parsed_.contains(name)) {
            return;
        }
        auto& nodes = parsed_[name];
        if (!text->starts_with(first_line_)) {
            Fault fault =
                template_fault(set_.file_of(name),
                               1,
                               problem("template-set-version",
                                       "the template is not of set " + std::string(kSchema)));
            fault.because =
                "its first line must be '" + std::string(without_last_newline(first_line_)) + "'";
            faults_.add(std::move(fault));
            return;
        }
        auto read = parse(set_.file_of(name), without_last_newline(*text));
        if (!read) {
            faults_.add(read.error());
            return;
        }
        nodes = std::move(*read);
        load_parts(nodes);
    }

    void render(const std::string& name, const Values& values) {
        scopes_.push_back(&values);
        include(name);
        end_line();
    }

    [[nodiscard]] Faults& faults() {
        return faults_;
    }
    [[nodiscard]] Rendered take() {
        return {std::move(text_), std::move(used_)};
    }

private:
    void load_parts(const std::vector<Node>& nodes) {
        for (const Node& node : nodes) {
            if (node.kind == Node::Kind::kPartial) {
                load(std::string(node.text));
            }
            load_parts(node.inside);
        }
    }

    void include(const std::string& name) {
        names_.push_back(name);
        write(parsed_[name]);
        names_.pop_back();
    }

    void write(const std::vector<Node>& nodes) {
        for (const Node& node : nodes) {
            write(node);
        }
    }

    void write(const Node& node) {
        switch (node.kind) {
        case Node::Kind::kText:
            write_text(node.text);
            break;
        case Node::Kind::kWord:
        case Node::Kind::kRaw:
            write_value(node);
            break;
        case Node::Kind::kSection:
        case Node::Kind::kInverted:
            write_section(node);
            break;
        case Node::Kind::kPartial:
            write_partial(node);
            break;
        case Node::Kind::kComment:
            has_tag_ = true;
            break;
        }
    }

    void write_text(std::string_view text) {
        for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
            line_ += text.substr(0, end);
            end_line();
            text.remove_prefix(end + 1);
        }
        line_ += text;
    }

    /// A line with nothing but sections or comments, true or false, leaves none.
    void end_line() {
        if (!has_tag_ || line_.find_first_not_of(" \t\r\n") != std::string::npos) {
            text_ += line_;
            text_ += '\n';
        }
        line_.clear();
        has_tag_ = false;
    }

    void write_value(const Node& node) {
        const Value* const value = find(node);
        if (value == nullptr) {
            return;
        }
        if (const auto* text = std::get_if<Value::Verbatim>(&value->held())) {
            line_ += node.kind == Node::Kind::kRaw ? text->text : shell_quote(text->text);
        } else if (const auto* words = std::get_if<std::string>(&value->held())) {
            if (node.kind == Node::Kind::kRaw && has_control_characters(*words)) {
                complain_of_value(node, *words);
            }
            line_ += node.kind == Node::Kind::kRaw ? *words : shell_quote(*words);
        } else if (const bool* flag = std::get_if<bool>(&value->held()); !flag || *flag) {
            complain(node,
                     problem("template-flag-as-text",
                             "the template writes '" + std::string(node.text) +
                                 "', which is a flag and no text"));
        }
    }

    void write_section(const Node& node) {
        has_tag_ = true;
        const Value* const value = find(node);
        const bool* const flag = value == nullptr ? nullptr : std::get_if<bool>(&value->held());
        const auto* const list =
            value == nullptr ? nullptr : std::get_if<std::vector<Values>>(&value->held());
        const bool is_true =
            value != nullptr && (flag == nullptr || *flag) && (list == nullptr || !list->empty());
        if (node.kind == Node::Kind::kInverted || list == nullptr) {
            if (is_true == (node.kind == Node::Kind::kSection)) {
                write_inside(node);
            }
            return;
        }
        for (const Values& item : *list) {
            scopes_.push_back(&item);
            write_inside(node);
            scopes_.pop_back();
        }
    }

    void write_inside(const Node& node) {
        has_tag_ = true;
        write(node.inside);
        has_tag_ = true;
    }

    void write_partial(const Node& node) {
        const std::string name(node.text);
        if (set_.find(name) == nullptr) {
            complain(node,
                     problem("template-include-missing",
                             "the template includes '" + name + "', which does not exist"));
        } else if (names_.size() > kDeepestInclude) {
            complain(node,
                     problem("template-include-cycle",
                             "the template includes '" + name + "' without end"));
        } else {
            include(name);
        }
    }

    [[nodiscard]] const Value* find(const Node& node) {
        const std::string name(node.text);
        used_.insert(name);
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
            if (const auto found = (*scope)->find(name); found != (*scope)->end()) {
                return &found->second;
            }
        }
        complain(node,
                 problem("template-variable-unknown",
                         "the template uses '" + name + "', which has no value"));
        return nullptr;
    }

    void complain(const Node& node, Problem problem) {
        add(template_fault(set_.file_of(names_.back()), node.line, std::move(problem)));
    }

    void complain_of_value(const Node& node, const std::string& text) {
        add(Fault(ErrorCode::kInput,
                  problem("template-value-type",
                          "'" + printable(text) + "' cannot be written as '" +
                              std::string(node.text) + "'"),
                  "a line of the script cannot carry control characters",
                  "write it in one line of plain text"));
    }

    /// Each once, however often a list repeats it.
    void add(Fault fault) {
        if (said_.insert(fault.message).second) {
            faults_.add(std::move(fault));
        }
    }

    const TemplateSet& set_;
    std::string first_line_ = "{{! cybelectl template set " + std::string(kSchema) + " }}\n";
    std::map<std::string, std::vector<Node>> parsed_;
    std::vector<const Values*> scopes_; ///< the innermost last
    std::vector<std::string> names_;    ///< of the template that is written, behind those around it
    std::string text_;
    std::string line_;     ///< the one that is being written
    bool has_tag_ = false; ///< a section or a comment stands in it
    std::set<std::string> used_;
    std::set<std::string> said_;
    Faults faults_;
};

} // namespace

Value list_of(std::span<const std::string> items) {
    std::vector<Values> list;
    for (const auto& item : items) {
        list.push_back({{"item", Value(item)}});
    }
    return {std::move(list)};
}

bool has_control_characters(std::string_view text) {
    return std::ranges::any_of(text, [](char character) {
        const auto byte = static_cast<unsigned char>(character);
        return byte < 0x20 || byte == 0x7f;
    });
}

Result<Rendered> render(const TemplateSet& set, const std::string& name, const Values& values) {
    if (set.find(name) == nullptr) {
        return fail(ErrorCode::kInternal,
                    problem("template-missing", "there is no template '" + name + "'"));
    }
    Renderer renderer(set);
    renderer.load(name);
    if (!renderer.faults().has_errors()) {
        renderer.render(name, values);
    }
    if (renderer.faults().has_errors()) {
        return fail(renderer.faults().take());
    }
    return renderer.take();
}

} // namespace cybele::templates
